// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Frames: struct rt_sigframe of the kernel's arch/arm64/kernel/signal.c (a siginfo_t, then what the
 * C library calls ucontext_t), with one record of vector registers (asm/sigcontext.h). The vDSO has
 * the instructions that take a frame off.
 */
#if defined(__aarch64__)
#include "user/freeze/calls.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/uio.h>

#define STACK_MODE_INVALID   4 /* makes rt_sigreturn leave the alternate signal stack alone */
#define FPSIMD_MAGIC_	     0x46508001u
#define LR		     30
#define NUMBER		     8 /* the register of the system call's number */
#define SVC		     0xd4000001u
#define SYS_ppoll_	     73
#define SYS_futex_	     98
#define SYS_nanosleep_	     101
#define SYS_clock_nanosleep_ 115
#define SYS_restart_syscall_ 128

struct call_frame {
	siginfo_t info;
	ucontext_t context;
};

struct fpsimd_record {
	uint32_t magic, size, fpsr, fpcr;
	__uint128_t registers[32];
};

static const uint32_t call_words[] = {SVC, 0xd65f03c0};	  /* svc #0; ret */
static const uint32_t resume_words[] = {0xd2801168, SVC}; /* mov x8, #139; svc #0 */

static void call_find(uint64_t *where, const uint32_t pattern[2], const unsigned char *bytes,
		      size_t size, uint64_t address)
{
	for (size_t at = 0; !*where && at + 8 <= size; at += 4) {
		if (!memcmp(bytes + at, pattern, 8))
			*where = address + at;
	}
}

bool call_code_find(struct call_code *code, const unsigned char *bytes, size_t size,
		    uint64_t address)
{
	call_find(&code->call, call_words, bytes, size, address);
	call_find(&code->resume, resume_words, bytes, size, address);
	return code->call && code->resume;
}

static bool call_stands(pid_t pid, uint64_t address, const uint32_t words[2])
{
	uint32_t now[2];
	struct iovec to = {now, sizeof(now)}, from = {(void *)(uintptr_t)address, sizeof(now)};

	return process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)sizeof(now) &&
	       !memcmp(now, words, sizeof(now));
}

bool call_code_stands(const struct call_code *code, pid_t pid)
{
	return call_stands(pid, code->call, call_words) &&
	       call_stands(pid, code->resume, resume_words);
}

void call_registers(struct user_regs_struct *regs, const struct call_code *code, long number,
		    const uint64_t arguments[CALL_ARGUMENTS], uint64_t frame)
{
	for (int i = 0; i < CALL_ARGUMENTS; i++)
		regs->regs[i] = arguments[i];
	regs->regs[NUMBER] = (unsigned long long)number;
	regs->regs[LR] = code->resume;
	regs->sp = frame;
	regs->pc = code->call;
}

void call_registers_back(struct user_regs_struct *regs, const struct call_code *code,
			 uint64_t frame)
{
	regs->sp = frame;
	regs->pc = code->resume;
}

/*
 * Exchanges the number last, as it is no register by then. In between it is rt_sigreturn's, which
 * looks at the stack pointer alone: that is the same for all.
 */
int call_exchange(pid_t tid, struct user_regs_struct *regs, const struct call_code *code,
		  long number, const uint64_t arguments[CALL_ARGUMENTS], uint64_t frame)
{
	int back = SYS_rt_sigreturn, call = (int)number;
	struct iovec from = {regs, sizeof(*regs)}, none = {&back, sizeof(back)},
		     to = {&call, sizeof(call)};

	call_registers(regs, code, number, arguments, frame);
	regs->pc = code->call + 4; /* behind the instruction */
	if (ptrace(PTRACE_SETREGSET, tid, NT_ARM_SYSTEM_CALL, &none) ||
	    ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &from) ||
	    ptrace(PTRACE_SETREGSET, tid, NT_ARM_SYSTEM_CALL, &to))
		return -errno;
	return 0;
}

long call_result(const struct user_regs_struct *regs)
{
	return (long)regs->regs[0];
}

/*
 * Such a thread looks like one about to make a call: the kernel has set the registers back already.
 */
bool call_is_in_kernel(const struct user_regs_struct *regs)
{
	(void)regs;
	return false;
}

/*
 * The registers do not tell whether it has slept: any call that could be such a sleep counts as
 * one.
 */
bool call_is_remembered(const struct user_regs_struct *regs)
{
	switch (regs->regs[NUMBER]) {
	case SYS_ppoll_:
	case SYS_futex_:
	case SYS_nanosleep_:
	case SYS_clock_nanosleep_:
	case SYS_restart_syscall_:
		return true;
	default:
		return false;
	}
}

bool call_is_possible(const struct user_regs_struct *regs)
{
	return !(regs->pstate & 0x10) && !call_is_remembered(regs);
}

/*
 * The kernel sets them back before it stops a thread (do_signal() in arch/arm64/kernel/signal.c).
 */
bool call_registers_resumed(struct user_regs_struct *regs, pid_t pid)
{
	(void)regs;
	(void)pid;
	return true;
}

int call_vector_read(pid_t tid, struct call_vector *out)
{
	struct user_fpsimd_struct state;
	struct iovec to = {&state, sizeof(state)};
	struct fpsimd_record record = {.magic = FPSIMD_MAGIC_, .size = sizeof(record)};

	if (ptrace(PTRACE_GETREGSET, tid, NT_PRFPREG, &to))
		return -errno;
	record.fpsr = state.fpsr;
	record.fpcr = state.fpcr;
	memcpy(record.registers, state.vregs, sizeof(record.registers));
	memset(out->data, 0, sizeof(out->data));
	memcpy(out->data, &record, sizeof(record));
	out->size = sizeof(record);
	return 0;
}

/* Every frame must have the record of vector registers. */
size_t call_frame_size(const struct call_vector *vector)
{
	(void)vector;
	return (sizeof(struct call_frame) + 63) & ~(size_t)63;
}

size_t call_frame_argument(void)
{
	return offsetof(struct call_frame, context) + offsetof(ucontext_t, uc_mcontext.regs[0]);
}

uint64_t call_frame_put(unsigned char *to, uint64_t address, const struct call_code *code,
			const struct user_regs_struct *regs, uint64_t mask,
			const struct call_vector *vector)
{
	const struct fpsimd_record none = {.magic = FPSIMD_MAGIC_, .size = sizeof(none)};
	struct call_frame frame = {.context.uc_stack = {.ss_flags = STACK_MODE_INVALID}};
	mcontext_t *m = &frame.context.uc_mcontext;

	(void)code;
	memcpy(m->regs, regs->regs, sizeof(m->regs));
	m->sp = regs->sp;
	m->pc = regs->pc;
	m->pstate = regs->pstate;
	memcpy(&frame.context.uc_sigmask, &mask, sizeof(mask));
	memcpy(m->__reserved, vector ? vector->data : (const unsigned char *)&none, sizeof(none));
	memcpy(to, &frame, sizeof(frame));
	return address;
}
#endif
