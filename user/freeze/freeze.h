/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory of a process at one moment. Either all its threads are held still while its memory is
 * copied. Or it is made to fork, goes on, and its fork's memory is read. This needs ptrace and no
 * BPF. Hooks let the caller read more of the same moment (user/trace: the live blocks).
 *
 *	freeze_new()	how much memory there is; takes as much for the copy
 *	freeze_by_fork()	it is to be copied by a fork (optional)
 *	freeze_run()		stops it, reads, lets it go on
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
 * Has the memory read from a fork of the process. 0, or -errno with the reason why it should not be
 * made to fork now: freeze_run() then reads it as it stands. Keep `forks` from one time to the
 * next, and until freeze_free().
 */
int freeze_by_fork(struct freeze *freeze, struct freeze_forks *forks,
		   char reason[static REASON_MAX]);

/*
 * What the caller does while the process stands still. The calling thread runs the hooks, in this
 * order; each may be NULL. If one returns an error, with the reason, freeze_run() ends with that.
 */
struct freeze_hooks {
	void *ctx;
	/* The process stands still, and nothing of it has been read. */
	int (*stopped)(void *ctx, const struct stop *stop, char reason[static REASON_MAX]);
	/*
	 * The process is about to be made to fork (forking), and has been (forked). With an error,
	 * also the hook's own, it has not: it is read as it stands.
	 */
	int (*forking)(void *ctx, char reason[static REASON_MAX]);
	void (*forked)(void *ctx, int err, const char *reason);
	/* The process has forked, and is about to go on. */
	void (*releasing)(void *ctx);
	/* The process's memory is about to be read. */
	int (*reading)(void *ctx, char reason[static REASON_MAX]);
	/*
	 * The memory has been read, or could not be. The process stands still until `until_ns`
	 * (CLOCK_MONOTONIC) at the latest. 0: it goes on, for it may not be paused for longer.
	 * UINT64_MAX: it has gone on since `releasing`, and there is time.
	 */
	int (*read)(void *ctx, uint64_t until_ns, char reason[static REASON_MAX]);
	/*
	 * A thread that had been left asleep has woken up, so the memory read is of several
	 * moments. All begins again with `stopped`.
	 */
	void (*again)(void *ctx);
};

/*
 * Stops the process, reads its memory, and lets it go on in any case. What is left after
 * `max_pause_ns` is read while it runs, which the account says. `sleepers` as for stop_begin();
 * with a fork all threads are stopped. 0 or -errno with the reason. -ECANCELED: we were stopped
 * meanwhile, and it went on. Once for each freeze.
 */
int freeze_run(struct freeze *freeze, uint64_t max_pause_ns, const struct stop_sleepers *sleepers,
	       const struct freeze_hooks *hooks, char reason[static REASON_MAX]);

/*
 * The same for a process that is held at its end. Takes `stop` over; the read may take all the time
 * it needs.
 */
int freeze_run_held(struct freeze *freeze, struct stop *stop, const struct freeze_hooks *hooks,
		    char reason[static REASON_MAX]);

/* Hands over the copy: memory_image_free(). Once, after freeze_run() has returned 0. */
struct memory_image *freeze_take_memory(struct freeze *freeze);

/* How the freeze went. Times in ns. */
struct freeze_account {
	uint64_t pause_ns;	/* for how long it stood still */
	bool approximate;	/* the pause was over before all had been read */
	uint64_t read_bytes;	/* memory that was copied */
	uint64_t unread_bytes;	/* memory that should have been copied, and could not be */
	size_t threads, asleep; /* the process's; those left asleep. 0 threads: it did not stop */
	uint64_t stop_ns;	/* until all threads stood still */
	uint64_t memory_ns;	/* from then on until its memory was copied */
	pid_t fork;		/* the fork whose memory was read; 0: the process's own was */
	uint64_t fork_ns;	/* to make the fork; a part of the pause */
};

/* After freeze_run(). Belongs to the freeze. */
const struct freeze_account *freeze_account(const struct freeze *freeze);

#endif
