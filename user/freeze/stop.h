/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Holds a process still for a moment: every thread of it, by ptrace(2), with its registers.
 * Whatever happens to the tool meanwhile, kill -9 and SIGSTOP included, the process goes on
 * (tracer.h says how). PTRACE_O_EXITKILL is never set, and signals that arrive are not lost.
 */
#ifndef MEMLEAKBPF_FREEZE_STOP_H
#define MEMLEAKBPF_FREEZE_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"

struct call_code;
struct filter_call; /* user/freeze/seccomp_filter.h */
struct sleeper;	    /* bpf/sleepers_abi.h */
struct stop;

struct stop_thread {
	pid_t tid;
	uint64_t sp;	 /* stack pointer */
	uint64_t tls;	 /* thread pointer: fs_base, tpidr_el0 */
	uint64_t *words; /* all registers, the vector registers included, as words of memory */
	size_t word_count;
};

/*
 * Looks, without waking them, at threads that sleep in a system call which a stop would cut short:
 * user/capture/sleepers.h.
 */
struct stop_sleepers {
	void *ctx;
	int fds[2]; /* descriptors that look() uses; -1: none */
	/*
	 * Calls fn for each such thread of the process, with its registers behind it if they are
	 * wanted. Its state holds until the thread has run: a later look tells that by `switches`.
	 * 0, -errno, or what fn has returned other than 0.
	 */
	int (*look)(void *ctx, pid_t pid, bool registers,
		    int (*fn)(void *fn_ctx, const struct sleeper *sleeper), void *fn_ctx);
};

/*
 * Stops all threads of a process, also those born meanwhile, and reads their registers. Gives up
 * when that takes longer than half of `max_pause_ns` (the kernel lets nobody interrupt some
 * threads). The process then goes on as if nothing had been. A process that is stopped already
 * (SIGSTOP), or frozen by a control group of version 2, stays so after stop_end(). 0 and *out, or
 * -errno with the reason, not logged. -EPERM: a debugger, Yama, no permission. -EBUSY: frozen by
 * version 1, found at once. -ETIMEDOUT, -ESRCH, -ENOMEM …
 *
 * The process goes on after `max_pause_ns` in any case, even if we are stopped ourselves
 * (stop_left_ns()). It also goes on when the calling thread ends. Until stop_end() the terminal
 * does not stop the calling thread.
 *
 * A thread that is blocked in epoll_wait, semop, sigtimedwait or a recv with SO_RCVTIMEO would get
 * EINTR, as from any stop (signal(7)). With `sleepers`, which must outlive the stop, such threads
 * are left alone: they stand still for as long as they sleep. NULL: all are stopped.
 */
int stop_begin(pid_t pid, uint64_t max_pause_ns, const struct stop_sleepers *sleepers,
	       struct stop **out, char reason[static REASON_MAX]);

/* The same for all threads but one, which the caller holds already. */
int stop_begin_others(pid_t pid, pid_t but, uint64_t max_pause_ns, struct stop **out,
		      char reason[static REASON_MAX]);

/*
 * The same for a process that is about to end. Threads that do not stop at once run before all
 * ordinary ones until they do, for `max_ns`. The process is held for as long as we run: not while
 * we are stopped.
 */
int stop_begin_ending(pid_t pid, uint64_t max_ns, struct stop **out,
		      char reason[static REASON_MAX]);

/*
 * Have all threads that were left asleep slept ever since? If not, what was read since then may be
 * of several moments.
 */
bool stop_undisturbed(struct stop *stop);

/*
 * Stops the threads that were left asleep, too, and reads their registers. 0 or -errno with the
 * reason, not logged.
 */
int stop_sleepers_too(struct stop *stop, char reason[static REASON_MAX]);

/*
 * Makes a copy of the process while it stands still (user/freeze/forkcopy.h): another process with
 * its private memory of this moment, which does not run. It lives until stop_free(). `code` comes
 * from forkcopy_prepare() before the stop, `deadline_ns` is on CLOCK_MONOTONIC. 0 and *copy, or
 * -errno with the reason, not logged; the process stands still as before.
 */
int stop_copy(struct stop *stop, const struct call_code *code, uint64_t deadline_ns, pid_t *copy,
	      char reason[static REASON_MAX]);

/* Bytes of code to be changed, within one page. */
#define STOP_PIECE_MAX	16
#define STOP_PIECES_MAX 64
struct stop_piece {
	uint64_t address;
	/* No thread may be about to execute an instruction in [from, to). */
	uint64_t from, to;
	uint8_t length;
	uint8_t expected[STOP_PIECE_MAX]; /* that stand there now */
	uint8_t bytes[STOP_PIECE_MAX];	  /* to be written */
};

/*
 * Changes code of the process while it stands still: all pieces, which must not overlap, or none.
 * Before the first write, all are compared with what is expected there, and with where the threads
 * stand, those left asleep included. On x86_64 they are also compared with where threads go back to
 * from signal handlers (signal_frames.h); not with return addresses on stacks. If a piece cannot be
 * written, those before it are put back.
 *
 * What has begun is finished even if the tool is killed at that instant. Only the end of the child
 * that holds the process, within the microseconds of the writing, can leave some pieces written and
 * others not. (Half of one only where the kernel lets nobody write code but by words.)
 *
 * 0, or -errno with the reason, not logged; the process stands still as before:
 * - -EAGAIN: a thread stands in a range, or goes back there; try again when it has gone on
 * - -ESTALE: other bytes are there
 * - -EINVAL: a piece lies in two pages or is too long, or there are too many
 * - -ETIMEDOUT: looking at the stacks took half of the whole pause, or all that was left; nothing
 *   is written
 * - -ECANCELED: the process's time was over
 * - -ENOTRECOVERABLE: one piece could not be written, and another not put back
 * - or the kernel's error.
 */
int stop_write(struct stop *stop, const struct stop_piece *pieces, size_t count,
	       char reason[static REASON_MAX]);

/*
 * Do all seccomp filters of all threads let such a call pass? None may have been left asleep. 0 and
 * in *filters how many each thread has. -EPERM with the reason, not logged: a filter may not let it
 * pass, not all threads have as many, or filters cannot be read. (That takes CAP_SYS_ADMIN,
 * CONFIG_CHECKPOINT_RESTORE, and no filter over ourselves.) Another -errno: the look failed, and
 * may succeed another time.
 */
int stop_ask_filters(struct stop *stop, const struct filter_call *call, unsigned *filters,
		     char reason[static REASON_MAX]);

size_t stop_thread_count(const struct stop *stop);
size_t stop_asleep_count(const struct stop *stop); /* how many of them were left asleep */
const struct stop_thread *stop_thread_at(const struct stop *stop, size_t index);

/* CLOCK_MONOTONIC of the first interruption. */
uint64_t stop_start_ns(const struct stop *stop);

/*
 * Lets the process go on and returns for how long it stood still, in ns: from the first thread's
 * interruption to the last one's release. The registers can still be read. Further calls do nothing
 * and return the same.
 */
uint64_t stop_end(struct stop *stop);

/*
 * After stop_end(): when the process went on by itself, on CLOCK_MONOTONIC, since its time was over
 * or we did not run. UINT64_MAX: it did not; 0: it did, at an unknown time.
 */
uint64_t stop_left_ns(const struct stop *stop);

/* Refuses because the process went on by itself. -ECANCELED */
int stop_refuse_left(char reason[static REASON_MAX]);

/* Ends the stop if it has not ended, and the copy, and frees it. NULL is fine. */
void stop_free(struct stop *stop);

#endif
