/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What differs from machine to machine in making a stopped thread do a system call: where
 * instructions for it are found, which registers make the call, and the frames by which the thread
 * goes on. Internal to user/freeze.
 *
 * A frame is what the kernel puts on the stack before it runs a signal handler, and takes off by
 * rt_sigreturn: all registers. Here frames are made for threads that got no signal. A call returns
 * into a frame, and the frame's registers are those before the next call, or before it all. So once
 * the registers of the first call have been set, in one step, everything else happens without a
 * tracer.
 */
#ifndef MEMLEAKBPF_FREEZE_CALLS_H
#define MEMLEAKBPF_FREEZE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* Addresses in the process of instructions that it has anyway. */
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
 * Looks for what is not found yet in the bytes of some code that lies at `address`. True when
 * nothing is missing.
 */
bool call_code_find(struct call_code *code, const unsigned char *bytes, size_t size,
		    uint64_t address);

/* Do the instructions still stand there? Reads the process's memory. */
bool call_code_stands(const struct call_code *code, pid_t pid);

/*
 * Registers of a thread that makes a system call and returns into the frame at `frame`. Changes
 * what it must.
 */
void call_registers(struct user_regs_struct *regs, const struct call_code *code, long number,
		    const uint64_t arguments[CALL_ARGUMENTS], uint64_t frame);

/* Registers of a thread that takes that frame at once: its system call is rt_sigreturn. */
void call_registers_back(struct user_regs_struct *regs, const struct call_code *code,
			 uint64_t frame);

/*
 * For a thread that stands at the beginning of a system call, of either of these: makes it another
 * one. 0 or -errno. Whoever traces it may die halfway, then the thread takes the frame.
 */
int call_exchange(pid_t tid, struct user_regs_struct *regs, const struct call_code *code,
		  long number, const uint64_t arguments[CALL_ARGUMENTS], uint64_t frame);

long call_result(const struct user_regs_struct *regs);

/*
 * Registers by which a thread that was interrupted goes on without a tracer's help: the kernel
 * restarts interrupted system calls only for the registers that it has itself. A sleep that has
 * been restarted once does not tell any more which call it was; then the code before it is looked
 * at. False when that does not tell either.
 */
bool call_registers_resumed(struct user_regs_struct *regs, pid_t pid);

/*
 * Would the interrupted system call be restarted by the kernel's memory of it (a sleep that has
 * gone on for a while)? Frames make it forget.
 */
bool call_is_remembered(const struct user_regs_struct *regs);

/*
 * Is it in a system call at all? One that is not may be in a sequence that rseq(2) makes atomic.
 * Where it cannot be told: false.
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
 * How many bytes a frame takes; a multiple of 64. `vector` NULL: one that leaves the vector
 * registers undefined.
 */
size_t call_frame_size(const struct call_vector *vector);

/*
 * Makes the frame that will lie at `address` (a multiple of 64) in `to`. Sets the thread's
 * registers, its mask of blocked signals, and the vector registers. Returns the stack pointer with
 * which a call returns into it.
 */
uint64_t call_frame_put(unsigned char *to, uint64_t address, const struct call_code *code,
			const struct user_regs_struct *regs, uint64_t mask,
			const struct call_vector *vector);

/*
 * Where in a frame the first argument of its system call is: the process can be made to write it
 * there.
 */
size_t call_frame_argument(void);

#endif
