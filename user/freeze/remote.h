/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes one thread of a running process do system calls, while its other threads run on: to map
 * memory into the process, for instance.
 *
 * The thread is stopped and goes on exactly as it was, but for what the calls have done. That holds
 * for registers, signal mask, pending signals, the system call that it waits in. (A call that any
 * stop cuts short, user/freeze/cut_short.h, returns EINTR; such a thread is chosen last.) A child
 * of ours holds the thread. When the tool is killed or stopped, that child lets the thread go,
 * after the call that it is in. When the child itself is killed, at any instant, the thread goes on
 * by itself. It stands in front of a frame that gives it back what it had (user/freeze/calls.h).
 * Nothing is ever single-stepped.
 *
 * The child is not the tool. When it is killed within the microseconds of a call, this is left
 * over:
 * - The new descriptor of memfd_create, socket or recvmsg stays open in the process, if that is the
 *   call. From its end on the thread closes the descriptor by itself, unless it has a seccomp
 *   filter. Of two only the newer one.
 * - A seccomp filter, which is suspended while the thread is traced, sees the call; if it kills for
 *   that call, the process dies. The instant lies between the exchange of the call and its
 *   beginning, a microsecond or two. A thread without a filter is preferred.
 */
#ifndef MEMLEAKBPF_FREEZE_REMOTE_H
#define MEMLEAKBPF_FREEZE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/freeze/calls.h"
#include "user/freeze/stop.h"

struct remote;

/*
 * Stops a suitable thread of the process: one in a system call rather than one that runs, the main
 * one rather than others. It searches for instructions first. The thread may take `max_hold_ns` to
 * stop, while it runs or waits for a processor as always. It goes on in any case that long after it
 * has stopped. 0 and *out, or -errno with the reason, a clause about "it", not logged, and nothing
 * has been changed:
 * - -EPERM: the process is traced already, stopped by a signal, frozen, or we have no permission.
 *   Or it has a seccomp filter that we may not suspend: that needs CAP_SYS_ADMIN,
 *   CONFIG_CHECKPOINT_RESTORE, and no filter over ourselves.
 * - -EBUSY: no thread can be used as it stands; a moment later one may
 * - -ETIMEDOUT: the thread does not stop
 * - -ECANCELED: the child that was to hold it was killed
 * - -EOPNOTSUPP (32 bits), -ESRCH …
 */
int remote_begin(pid_t pid, uint64_t max_hold_ns, struct remote **out,
		 char reason[static REASON_MAX]);

/*
 * The same with this thread and no other (remote_loose() of a try before), as long as it has not
 * ended. Once it stands still, its earlier call has been made, or never will be. 0: any thread.
 */
int remote_begin_with(pid_t pid, pid_t only, uint64_t max_hold_ns, struct remote **out,
		      char reason[static REASON_MAX]);

/* The thread. */
pid_t remote_tid(const struct remote *r);

/* Has the thread gone on, since calls have failed or its time was over? */
bool remote_is_lost(const struct remote *r);

/*
 * The thread, if it has gone on by itself and may still be in a call, which it makes once it gets a
 * processor. 0: it is in none.
 */
pid_t remote_loose(const struct remote *r);

/*
 * Makes the call; not for calls that make or end a thread or a process. 0 and *result, -errno of
 * the process when the call has failed. Or -errno with the reason, not logged: then nobody knows
 * whether the call was made, the thread has gone on, and further calls fail.
 *
 * Up to two descriptors are closed at the end if they are still open. They are those that
 * memfd_create or socket has made, and the first one of a message that recvmsg has taken.
 */
int remote_call(struct remote *r, long number, const uint64_t arguments[CALL_ARGUMENTS],
		long *result, char reason[static REASON_MAX]);

/*
 * The same for a call that must succeed: its failure is an -errno, too, with the reason that the
 * process "cannot `what`". Its -ENOMEM becomes -ENOSPC, since our own -ENOMEM means that nothing
 * goes on.
 */
int remote_call_must(struct remote *r, const char *what, long number,
		     const uint64_t arguments[CALL_ARGUMENTS], long *result,
		     char reason[static REASON_MAX]);

/*
 * The address of REMOTE_SCRATCH bytes that nothing of the process uses: on the thread's stack,
 * above the frame and below the part in use.
 */
#define REMOTE_SCRATCH 256
uint64_t remote_scratch(const struct remote *r);

/* Fills the scratch from its beginning. 0, -EINVAL: too long, or as remote_call(). */
int remote_write(struct remote *r, const void *bytes, size_t size, char reason[static REASON_MAX]);

/*
 * Changes the process's code as stop_write() does: all pieces or none, and not where the thread
 * stands. Other threads, if there are any, run meanwhile. The thread stays held whatever happens,
 * but for -ECANCELED (its time was over, or the child was killed): then pieces may have been
 * written.
 */
int remote_write_text(struct remote *r, const struct stop_piece *pieces, size_t count,
		      char reason[static REASON_MAX]);

/*
 * Lets the thread go on, frees all, and returns for how long the thread stood still, in ns. NULL is
 * fine.
 */
uint64_t remote_end(struct remote *r);

#endif
