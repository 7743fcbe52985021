/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How machines differ in making a stopped thread do a system call. They differ in where
 * instructions for it are found, which registers make the call, and in the frames by which the
 * thread goes on. Internal to user/freeze.
 *
 * The kernel puts a frame on the stack before it runs a signal handler; rt_sigreturn takes it off,
 * and with it all registers. Here frames are made for threads that got no signal. A call returns
 * into a frame, whose registers are those before the next call, or before it all. The first call's
 * registers are set in one step; all that follows happens without a tracer.
 */
#ifndef MEMLEAKBPF_FREEZE_CALLS_H
#define MEMLEAKBPF_FREEZE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* Addresses of instructions that the process has anyway. */
struct call_code {
	uint64_t call;	 /* a system call, then a return */
	uint64_t resume; /* x86_64: pop %rax, then a return; aarch64: rt_sigreturn, in the vDSO */
};

#define CALL_ARGUMENTS 6

/* Vector registers as PTRACE_GETREGSET gives them, in a form that frames hold. */
#define CALL_VECTOR_MAX 16384
struct call_vector {
	size_t size; /* bytes of `data` that a frame needs */
	_Alignas(64) unsigned char data[CALL_VECTOR_MAX];
};

/*
 * Looks for instructions not found yet, in bytes of code that lie at `address`. True when none is
 * missing.
 */
bool call_code_find(struct call_code *code, const unsigned char *bytes, size_t size,
		    uint64_t address);

/* Are the instructions still there? Reads the process's memory. */
bool call_code_stands(const struct call_code *code, pid_t pid);

/*
 * Sets the registers with which a thread makes a system call and returns into the frame at `frame`.
 * Changes only what it must.
 */
void call_registers(struct user_regs_struct *regs, const struct call_code *code, long number,
		    const uint64_t arguments[CALL_ARGUMENTS], uint64_t frame);

/*
 * Sets the registers with which a thread takes that frame at once: its system call is rt_sigreturn.
 */
void call_registers_back(struct user_regs_struct *regs, const struct call_code *code,
			 uint64_t frame);

/*
 * Exchanges the system call of a thread that stands at the beginning of one, made by the
 * instructions above. 0 or -errno. If the tracer dies halfway, the thread takes the frame.
 */
int call_exchange(pid_t tid, struct user_regs_struct *regs, const struct call_code *code,
		  long number, const uint64_t arguments[CALL_ARGUMENTS], uint64_t frame);

long call_result(const struct user_regs_struct *regs);

/*
 * Changes an interrupted thread's registers so that it goes on without a tracer's help. The kernel
 * restarts interrupted calls only for registers that it has itself. A sleep that was restarted once
 * does not tell which call it was; then the code before it is looked at. False when that does not
 * tell either.
 */
bool call_registers_resumed(struct user_regs_struct *regs, pid_t pid);

/*
 * Would the kernel restart the interrupted call from its own memory (a sleep that has gone on for a
 * while)? Frames make it forget.
 */
bool call_is_remembered(const struct user_regs_struct *regs);

/*
 * Is the thread in a system call? If not, it may be in a sequence that rseq(2) makes atomic. False
 * where that cannot be told.
 */
bool call_is_in_kernel(const struct user_regs_struct *regs);

/* Can the thread make 64-bit system calls as it stands? */
bool call_is_possible(const struct user_regs_struct *regs);

#if defined(__x86_64__)
static inline uint64_t call_sp(const struct user_regs_struct *regs)
{
	return regs->rsp;
}

static inline uint64_t call_ip(const struct user_regs_struct *regs)
{
	return regs->rip;
}
#else
static inline uint64_t call_sp(const struct user_regs_struct *regs)
{
	return regs->sp;
}

static inline uint64_t call_ip(const struct user_regs_struct *regs)
{
	return regs->pc;
}
#endif

/* Reads the vector registers of a stopped thread that the caller traces. 0 or -errno. */
int call_vector_read(pid_t tid, struct call_vector *out);

/*
 * The size of a frame in bytes; a multiple of 64. `vector` NULL: the frame leaves the vector
 * registers undefined.
 */
size_t call_frame_size(const struct call_vector *vector);

/*
 * Makes, in `to`, the frame that will lie at `address` (a multiple of 64). It sets the thread's
 * registers, its mask of blocked signals, and the vector registers. Returns the stack pointer with
 * which a call returns into the frame.
 */
uint64_t call_frame_put(unsigned char *to, uint64_t address, const struct call_code *code,
			const struct user_regs_struct *regs, uint64_t mask,
			const struct call_vector *vector);

/*
 * The offset, in a frame, of its system call's first argument: a call can be made to write it
 * there.
 */
size_t call_frame_argument(void);

#endif
