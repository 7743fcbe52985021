// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Frames: struct rt_sigframe of the kernel's arch/x86/include/asm/sigframe.h, whose beginning is
 * the C library's ucontext_t. The vector registers behind it: asm/sigcontext.h (struct
 * _fpx_sw_bytes) and Intel's manual, volume 1, 13.4.
 */
#if defined(__x86_64__)
#include "user/freeze/calls.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/uio.h>

#define CODE_SEGMENT 0x33 /* of 64-bit programs */

/* include/linux/errno.h of the kernel */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

/* asm/ucontext.h */
#define UC_FP_XSTATE	     1
#define UC_SIGCONTEXT_SS     2
#define UC_STRICT_RESTORE_SS 4
#define STACK_MODE_INVALID   4 /* makes rt_sigreturn leave the alternate signal stack alone */

#define LEGACY_SIZE   512 /* FXSAVE's area, the header behind it */
#define HEADER_SIZE   64
#define SW_BYTES      464 /* where struct _fpx_sw_bytes lies */
#define SW_MAGIC      0x46505853
#define SW_MAGIC_END  0x46505845
#define FEATURE_FIRST 2 /* x87 and SSE are in the legacy area */
#define FEATURE_LAST  62

/* pop, number, call: what lies before the kernel's part of a frame. */
#define WORDS_BEFORE 3

/* As the kernel reads it: its mask of signals has 8 bytes. */
#define CONTEXT_SIZE (offsetof(ucontext_t, uc_sigmask) + 8)
#define ROOM	     (((WORDS_BEFORE * 8 + CONTEXT_SIZE) + 63) & ~(size_t)63)

static const unsigned char call_bytes[] = {0x0f, 0x05, 0xc3}; /* syscall; ret */
static const unsigned char pop_bytes[] = {0x58, 0xc3};	      /* pop %rax; ret */

static void call_find(uint64_t *where, const unsigned char *pattern, size_t pattern_size,
		      const unsigned char *bytes, size_t size, uint64_t address)
{
	const unsigned char *at = *where ? NULL : memmem(bytes, size, pattern, pattern_size);

	if (at)
		*where = address + (uint64_t)(at - bytes);
}

bool call_code_find(struct call_code *code, const unsigned char *bytes, size_t size,
		    uint64_t address)
{
	call_find(&code->call, call_bytes, sizeof(call_bytes), bytes, size, address);
	call_find(&code->resume, pop_bytes, sizeof(pop_bytes), bytes, size, address);
	return code->call && code->resume;
}

static bool call_stands(pid_t pid, uint64_t address, const unsigned char *bytes, size_t size)
{
	unsigned char now[8];
	struct iovec to = {now, size}, from = {(void *)(uintptr_t)address, size};

	return process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)size &&
	       !memcmp(now, bytes, size);
}

bool call_code_stands(const struct call_code *code, pid_t pid)
{
	return call_stands(pid, code->call, call_bytes, sizeof(call_bytes)) &&
	       call_stands(pid, code->resume, pop_bytes, sizeof(pop_bytes));
}

void call_registers(struct user_regs_struct *regs, const struct call_code *code, long number,
		    const uint64_t arguments[CALL_ARGUMENTS], uint64_t frame)
{
	regs->rip = code->call;
	regs->rsp = frame;
	regs->rax = (unsigned long long)number;
	regs->orig_rax = (unsigned long long)-1; /* nothing to restart */
	regs->rdi = arguments[0];
	regs->rsi = arguments[1];
	regs->rdx = arguments[2];
	regs->r10 = arguments[3];
	regs->r8 = arguments[4];
	regs->r9 = arguments[5];
}

/* Sets what the frame's first words would set. */
void call_registers_back(struct user_regs_struct *regs, const struct call_code *code,
			 uint64_t frame)
{
	const uint64_t nothing[CALL_ARGUMENTS] = {0};

	call_registers(regs, code, SYS_rt_sigreturn, nothing, frame + WORDS_BEFORE * 8);
}

int call_exchange(pid_t tid, struct user_regs_struct *regs, const struct call_code *code,
		  long number, const uint64_t arguments[CALL_ARGUMENTS], uint64_t frame)
{
	struct iovec from = {regs, sizeof(*regs)};

	call_registers(regs, code, number, arguments, frame);
	regs->rip = code->call + 2; /* behind the instruction */
	regs->orig_rax = (unsigned long long)number;
	regs->rax = (unsigned long long)-ENOSYS;
	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &from) ? -errno : 0;
}

long call_result(const struct user_regs_struct *regs)
{
	return (long)regs->rax;
}

bool call_is_in_kernel(const struct user_regs_struct *regs)
{
	return (long)regs->orig_rax >= 0;
}

bool call_is_remembered(const struct user_regs_struct *regs)
{
	return call_is_in_kernel(regs) && (long)regs->rax == -ERESTART_RESTARTBLOCK;
}

bool call_is_possible(const struct user_regs_struct *regs)
{
	return regs->cs == CODE_SEGMENT;
}

/* mov $number, %eax; syscall: how the C libraries make the calls that sleep. */
static bool call_number_before(pid_t pid, uint64_t address, uint64_t *number)
{
	unsigned char code[7];
	struct iovec to = {code, sizeof(code)},
		     from = {(void *)(uintptr_t)(address - sizeof(code)), sizeof(code)};
	uint32_t value;

	if (process_vm_readv(pid, &to, 1, &from, 1, 0) != (ssize_t)sizeof(code) ||
	    code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0x05)
		return false;
	memcpy(&value, code + 1, sizeof(value));
	*number = value;
	return true;
}

/*
 * Is the thread about to go on with a sleep that the kernel remembers? The kernel has told it to,
 * and it has not begun yet.
 */
static bool call_goes_on_sleeping(pid_t pid, const struct user_regs_struct *regs)
{
	return regs->rax == SYS_restart_syscall && call_stands(pid, regs->rip, call_bytes, 2);
}

/*
 * Does what arch/x86/kernel/signal.c does. A remembered sleep begins anew, for rt_sigreturn makes
 * the kernel forget it.
 */
bool call_registers_resumed(struct user_regs_struct *regs, pid_t pid)
{
	uint64_t number = regs->orig_rax;
	bool interrupted = false;

	if (call_is_in_kernel(regs)) {
		switch (-(long)regs->rax) {
		case ERESTARTSYS:
		case ERESTARTNOINTR:
		case ERESTARTNOHAND:
		case ERESTART_RESTARTBLOCK:
			interrupted = true;
			break;
		}
	}
	if (interrupted)
		regs->rip -= 2;
	if (interrupted || call_goes_on_sleeping(pid, regs)) {
		if ((!call_is_in_kernel(regs) || number == SYS_restart_syscall) &&
		    !call_number_before(pid, regs->rip + 2, &number))
			return false;
		regs->rax = number;
	}
	regs->orig_rax = (unsigned long long)-1;
	return true;
}

/*
 * The end of the last feature in the standard form of XSAVE's area. PTRACE_GETREGSET may give more
 * than the thread's frames may have.
 */
static size_t call_vector_used_size(uint64_t features)
{
	size_t end = LEGACY_SIZE + HEADER_SIZE;

	for (unsigned i = FEATURE_FIRST; i <= FEATURE_LAST; i++) {
		unsigned size, offset, c, d;

		if (!(features >> i & 1) || !__get_cpuid_count(0xd, i, &size, &offset, &c, &d))
			continue;
		if (offset + size > end)
			end = offset + size;
	}
	return end;
}

int call_vector_read(pid_t tid, struct call_vector *out)
{
	struct iovec to = {out->data, sizeof(out->data) - 64};
	const uint32_t magic = SW_MAGIC, magic_end = SW_MAGIC_END;
	uint32_t size, extended;
	uint64_t features;

	memset(out->data, 0, sizeof(out->data));
	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &to))
		return -errno;
	if (to.iov_len < LEGACY_SIZE + HEADER_SIZE)
		return -EOPNOTSUPP;
	memcpy(&features, out->data + LEGACY_SIZE, sizeof(features));
	/* The vector instructions' state is always there; x87 and SSE lie in the legacy area. */
	features |= 3;
	size = (uint32_t)call_vector_used_size(features);
	if (size > to.iov_len)
		return -EOPNOTSUPP;
	extended = size + 4;
	memset(out->data + SW_BYTES, 0, LEGACY_SIZE - SW_BYTES);
	memcpy(out->data + SW_BYTES, &magic, 4);
	memcpy(out->data + SW_BYTES + 4, &extended, 4);
	memcpy(out->data + SW_BYTES + 8, &features, 8);
	memcpy(out->data + SW_BYTES + 16, &size, 4);
	memcpy(out->data + size, &magic_end, 4);
	out->size = extended;
	return 0;
}

size_t call_frame_size(const struct call_vector *vector)
{
	return ROOM + (vector ? (vector->size + 63) & ~(size_t)63 : 0);
}

size_t call_frame_argument(void)
{
	return WORDS_BEFORE * 8 + offsetof(ucontext_t, uc_mcontext.gregs[REG_RDI]);
}

uint64_t call_frame_put(unsigned char *to, uint64_t address, const struct call_code *code,
			const struct user_regs_struct *regs, uint64_t mask,
			const struct call_vector *vector)
{
	const uint64_t before[WORDS_BEFORE] = {code->resume, SYS_rt_sigreturn, code->call};
	ucontext_t context = {.uc_flags = UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS,
			      .uc_stack = {.ss_flags = STACK_MODE_INVALID}};
	greg_t *g = context.uc_mcontext.gregs;

	g[REG_R8] = (greg_t)regs->r8;
	g[REG_R9] = (greg_t)regs->r9;
	g[REG_R10] = (greg_t)regs->r10;
	g[REG_R11] = (greg_t)regs->r11;
	g[REG_R12] = (greg_t)regs->r12;
	g[REG_R13] = (greg_t)regs->r13;
	g[REG_R14] = (greg_t)regs->r14;
	g[REG_R15] = (greg_t)regs->r15;
	g[REG_RDI] = (greg_t)regs->rdi;
	g[REG_RSI] = (greg_t)regs->rsi;
	g[REG_RBP] = (greg_t)regs->rbp;
	g[REG_RBX] = (greg_t)regs->rbx;
	g[REG_RDX] = (greg_t)regs->rdx;
	g[REG_RAX] = (greg_t)regs->rax;
	g[REG_RCX] = (greg_t)regs->rcx;
	g[REG_RSP] = (greg_t)regs->rsp;
	g[REG_RIP] = (greg_t)regs->rip;
	g[REG_EFL] = (greg_t)regs->eflags;
	g[REG_CSGSFS] = (greg_t)((regs->cs & 0xffff) | (regs->ss & 0xffff) << 48);
	if (vector) {
		context.uc_flags |= UC_FP_XSTATE;
		context.uc_mcontext.fpregs = (fpregset_t)(uintptr_t)(address + ROOM);
		memcpy(to + ROOM, vector->data, vector->size);
	}
	memcpy(&context.uc_sigmask, &mask, sizeof(mask));
	memcpy(to, before, sizeof(before));
	memcpy(to + sizeof(before), &context, CONTEXT_SIZE);
	return address;
}
#endif
