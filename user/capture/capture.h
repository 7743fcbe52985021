/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A snapshot with all that reachability needs: the counters, the live blocks and the memory of one
 * moment. While the target stands still (user/freeze/freeze.h) two threads work side by side. One
 * copies the live blocks out of the kernel, the other one reads the target's memory. With
 * --snapshot=fork both work afterwards.
 */
#ifndef MEMLEAKBPF_CAPTURE_CAPTURE_H
#define MEMLEAKBPF_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"

struct blocks;
struct bpf_map;
struct heap_image;
struct shared;
struct slots;
struct snapshot;
struct stop;

/* What the captures of all targets share. */
struct captures;

/* As of the trace. */
struct captures_options {
	bool task_storage; /* the kernel keeps a thread's state with the thread */
	bool sleepers;	   /* threads that sleep are not woken, where the kernel can do without */
	bool copies;	   /* --snapshot=fork */
	uint64_t older_ns;
};

/* Of the BPF object, which is loaded; borrowed. */
struct captures_maps {
	const struct bpf_map *threads, *thread_storage, *targets, *noted_frees;
};

/* The blocks, the slots and the programs' variables are borrowed. 0 and *out, or -ENOMEM. */
int captures_new(const struct captures_options *options, const struct captures_maps *maps,
		 struct blocks *blocks, const struct slots *slots, struct shared *shared,
		 struct captures **out);
void captures_free(struct captures *captures); /* NULL is fine */

/* What is kept of a target between its captures. */
struct captured;

void captured_free(struct captured *captured); /* NULL is fine */

/* What a capture has to know of its target, and what it asks of the caller. */
struct capture_target {
	uint32_t id;
	pid_t pid;
	struct captured **kept; /* NULL in there at first */
	bool tells;		/* its samples stand for bytes that the target itself has told */
	bool all_counted;	/* no option leaves an allocation out, and there was none before */
	void *ctx;
	/* Puts one of this moment, without ages, in place of the snapshot. 0 or -errno. */
	int (*counters)(void *ctx, struct snapshot **snapshot);
	/* The target stands still, and its counters have been read. 0, or -errno with the reason. */
	int (*stopped)(void *ctx, char reason[static REASON_MAX]);
	/* As reader_stacks_by_slot(). */
	uint32_t *(*stacks_by_slot)(void *ctx, const struct snapshot *snapshot, uint32_t *slots);
	/*
	 * The target was held at its end by the thread `leaver`. Leaves out of the image what only
	 * that thread's frames still hold. 0 or -ENOMEM.
	 */
	int (*leave_out)(void *ctx, pid_t leaver, struct heap_image *image);
};

/*
 * Stops the target and reads it. Replaces the snapshot by the one of the moment. 0 and *image, or
 * -errno with the reason, not logged.
 * - *hold: NULL, or the stop of a target that is held at its end, which the capture then ends
 * - max_pause_ns: the rest is read while the target runs, and the snapshot's verdict is approximate
 */
int capture_take(struct captures *captures, const struct capture_target *target, struct stop **hold,
		 uint64_t max_pause_ns, struct snapshot **snapshot, struct heap_image **image,
		 char reason[static REASON_MAX]);

#endif
