/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls that one thread of a running process is made to do, while its other threads run on:
 * mapping memory into it, for instance.
 *
 * The thread is stopped and goes on exactly as it was, but for what the calls have done: registers,
 * signal mask, pending signals, the system call that it waits in. (A call that any stop cuts short,
 * user/freeze/cut_short.h, it leaves with EINTR; such a thread is the last that is chosen.) It is
 * held by a child of ours. When the tool is killed or stopped, that child lets the thread go, after
 * the call that it is in; and when the child itself is killed, at any instant, the thread goes on
 * by itself: it stands in front of a frame which gives it back what it had (user/freeze/calls.h).
 * Nothing is ever single-stepped.
 *
 * Left over when the child, which is not the tool, is killed within the microseconds of a call:
 * - a descriptor that memfd_create has just made stays open in the process, if that is the call;
 *   from its end on the thread closes it by itself, unless it has a seccomp filter;
 * - a seccomp filter, which is suspended for the thread while it is traced, sees the call; if it
 *   kills for it, the process dies. The instant is the one between the exchange of the call and its
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
 * Stops a thread of the process that can be used: one in a system call rather than one that runs,
 * the main one rather than others. The search for instructions comes before. It may take
 * `max_hold_ns` to stop, while it runs or waits for a processor as always; so long after it has
 * stopped it goes on in any case. 0 and *out, or -errno with the reason, a clause about "it", not
 * logged, and nothing has been changed: -EPERM (traced already, stopped by a signal, frozen, not
 * permitted, a seccomp filter that we may not suspend: this needs CAP_SYS_ADMIN, a kernel with
 * CONFIG_CHECKPOINT_RESTORE, and no filter over ourselves), -EBUSY (none of its threads can be used
 * as it stands; a moment later one may), -ETIMEDOUT (it does not stop), -ECANCELED (who was to hold
 * it was killed), -EOPNOTSUPP (32 bits), -ESRCH …
 */
int remote_begin(pid_t pid, uint64_t max_hold_ns, struct remote **out,
		 char reason[static REASON_MAX]);

/*
 * The same with this thread and no other, as long as it has not ended: remote_loose() of a try before. When
 * it stands still the call that it was in has been made, or never will be. 0: any.
 */
int remote_begin_with(pid_t pid, pid_t only, uint64_t max_hold_ns, struct remote **out,
		      char reason[static REASON_MAX]);

/* The thread. */
pid_t remote_tid(const struct remote *r);

/* Has it gone on, as calls have failed, or its time was over? */
bool remote_is_lost(const struct remote *r);

/*
 * The thread, where it has gone on by itself and may be in a call yet, which is made when it gets a
 * processor; 0: it is in none.
 */
pid_t remote_loose(const struct remote *r);

/*
 * Makes the call; not for calls that make or end a thread or a process. 0 and *result, which is
 * -errno of the process's when the call has failed; or -errno with the reason, not logged: then it
 * is not known whether it was made, the thread has gone on, and further calls fail.
 *
 * What memfd_create has made is closed at the end if that has not been done.
 */
int remote_call(struct remote *r, long number, const uint64_t arguments[CALL_ARGUMENTS],
		long *result, char reason[static REASON_MAX]);

/*
 * The same of a call that must go well there: where it fails that is -errno, too, and the reason is that the
 * process "cannot `what`". -ENOSPC for its -ENOMEM, which is for memory of our own: without that nothing goes on.
 */
int remote_call_must(struct remote *r, const char *what, long number,
		     const uint64_t arguments[CALL_ARGUMENTS], long *result,
		     char reason[static REASON_MAX]);

/*
 * An address in the process of REMOTE_SCRATCH bytes that nothing of its uses: on the thread's
 * stack, above the frame and below what is in use.
 */
#define REMOTE_SCRATCH 256
uint64_t remote_scratch(const struct remote *r);

/* Fills it from its beginning. 0, -EINVAL: too long, or as remote_call(). */
int remote_write(struct remote *r, const void *bytes, size_t size, char reason[static REASON_MAX]);

/*
 * Changes its code as stop_write() does: all pieces or none, and not where the thread stands. Other
 * threads, if there are any, run meanwhile. Whatever comes of it the thread is held still, but for
 * -ECANCELED (its time was over, or who held it was killed): pieces may stand there then.
 */
int remote_write_text(struct remote *r, const struct stop_piece *pieces, size_t count,
		      char reason[static REASON_MAX]);

/*
 * Lets the thread go on, frees it all, and says for how long the thread stood still, in ns. NULL is
 * fine.
 */
uint64_t remote_end(struct remote *r);

#endif
