/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory of a process at one moment: it is held still, all threads of it, and its memory copied;
 * or it is made to fork, goes on, and the memory is read from its fork. It needs ptrace and no
 * BPF: what else its caller reads of the same moment (user/trace: the live blocks) hangs on hooks.
 *
 *	freeze_new()	how much memory there is; takes as much for the copy
 *	freeze_by_fork()	it is to be copied by a fork (optional)
 *	freeze_run()	stops it, reads, lets it go on
 *	freeze_take_memory()
 *	freeze_free()
 *
 * All errors are -errno with the reason, a clause about "it" (REASON_MAX bytes), not logged.
 */
#ifndef MEMLEAKBPF_FREEZE_FREEZE_H
#define MEMLEAKBPF_FREEZE_FREEZE_H

#include "user/base/reason.h"
#include "user/freeze/stop.h"
#include "user/process/memory_image.h"

struct freeze;

/* Takes all the memory that a copy needs. 0 and *out (freeze_free()), or -errno with the reason. */
int freeze_new(pid_t pid, struct freeze **out, char reason[static REASON_MAX]);
void freeze_free(struct freeze *freeze); /* lets it go if that has not been done; NULL is fine */

/* The forks of one process that were made as copies of it. All 0 at first. */
struct freeze_forks {
	pid_t watched;	  /* an earlier one, which somebody has to bury, */
	uint64_t made_ns; /* and when it was made; 0: none */
};

/*
 * Its memory is to be read from a fork of it. 0, or -errno with the reason why it should not be
 * made to fork now; freeze_run() then reads it as it stands. `forks` is kept from one time to the
 * next, and until freeze_free().
 */
int freeze_by_fork(struct freeze *freeze, struct freeze_forks *forks,
		   char reason[static REASON_MAX]);

/*
 * What the caller does while the process stands still; all by the calling thread, in this order.
 * Each may be NULL. Where one returns an error, with the reason, that is how it ends.
 */
struct freeze_hooks {
	void *ctx;
	/* It stands still, and nothing has been read of it. */
	int (*stopped)(void *ctx, const struct stop *stop, char reason[static REASON_MAX]);
	/*
	 * It is about to be made to fork, and has been: with an error, the hook's own too, it has
	 * not, and is read as it stands.
	 */
	int (*forking)(void *ctx, char reason[static REASON_MAX]);
	void (*forked)(void *ctx, int err, const char *reason);
	/* It has forked, and is about to go on. */
	void (*releasing)(void *ctx);
	/* Its memory is going to be read. */
	int (*reading)(void *ctx, char reason[static REASON_MAX]);
	/*
	 * It has been read, or could not be. The process stands still until `until_ns`
	 * (CLOCK_MONOTONIC) at the latest; 0: not any more, for it may not be paused for longer;
	 * UINT64_MAX: it goes on since `releasing`, and there is time.
	 */
	int (*read)(void *ctx, uint64_t until_ns, char reason[static REASON_MAX]);
	/*
	 * A thread that had been left asleep has woken up: what has been read is of several
	 * moments. All begins again with `stopped`.
	 */
	void (*again)(void *ctx);
};

/*
 * Stops it, reads its memory, and lets it go on. If that takes longer than `max_pause_ns` the rest
 * is read while it runs, which the account says. `sleepers` as for stop_begin(); with a fork all
 * threads are stopped. 0 or -errno with the reason (-ECANCELED: we were stopped meanwhile, and it
 * went on); it goes on in any case. Once for each freeze.
 */
int freeze_run(struct freeze *freeze, uint64_t max_pause_ns, const struct stop_sleepers *sleepers,
	       const struct freeze_hooks *hooks, char reason[static REASON_MAX]);

/*
 * The same of a process that is held at its end: `stop` is taken over, and there is all the time
 * that it takes.
 */
int freeze_run_held(struct freeze *freeze, struct stop *stop, const struct freeze_hooks *hooks,
		    char reason[static REASON_MAX]);

/* The copy: memory_image_free(). After freeze_run() has returned 0, once. */
struct memory_image *freeze_take_memory(struct freeze *freeze);

/* How it went. Times in ns. */
struct freeze_account {
	uint64_t pause_ns;	/* for how long it stood still */
	bool approximate;	/* the pause was over before all had been read */
	uint64_t read_bytes;	/* memory that was copied */
	uint64_t unread_bytes;	/* memory that should have been, and could not be */
	size_t threads, asleep; /* that it has; that were left asleep. 0 threads: it did not stop */
	uint64_t stop_ns;	/* until all threads stood still */
	uint64_t memory_ns;	/* from then on until its memory was copied */
	pid_t fork;		/* what its memory was read from; 0: the process itself */
	uint64_t fork_ns;	/* to make it; a part of the pause */
};

/* After freeze_run(). Belongs to the freeze. */
const struct freeze_account *freeze_account(const struct freeze *freeze);

#endif
