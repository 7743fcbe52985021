/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The languages of targets, for user/trace: which of them a target has, what their functions are
 * called, and where these stand in its stacks. Nothing here knows a trace: it gives what it has of a
 * target, and descriptors of the programs' maps.
 */
#ifndef MEMLEAKBPF_RUNTIME_RUNTIME_TARGET_H
#define MEMLEAKBPF_RUNTIME_RUNTIME_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "user/model/frame.h"
#include "user/runtime/pool_rows.h"
#include "user/runtime/runtime_chains.h"
#include "user/runtime/runtime_heaps.h"
#include "user/runtime/runtime_object.h"
#include "user/stacks/stack_draft.h"
#include "user/target/image.h"

/* What a trace is here. Given once; `ctx` is for the functions. */
struct runtime_host {
	void *ctx;
	int rows[RUNTIMES_FOLLOWED]; /* the maps of languages' rows: perl_rows and the like */
	int pool_rows;
	bool old;	     /* the kernel cannot follow any language: before 5.15, */
	bool task_storage;   /* or without this */
	bool frame_pointers; /* --stack fp */
	bool native_frames;  /* an interpreter's own functions are shown, too */
	uint32_t max_frames;
	/*
	 * What is known of an object, NULL: nothing, or no memory. `wanted`: it is made known if it
	 * is not.
	 */
	struct runtime_object *(*object)(void *ctx, struct object *object, bool wanted);
	/* Loads the programs that follow targets with that language, once. 0, or -errno, logged. */
	int (*load)(void *ctx, enum runtime runtime);
	/* Threads of targets look at the rows anew. */
	void (*changed)(void *ctx);
	/* A copy of the frame, one for equal ones, as long as the target is there. NULL: no memory. */
	const struct frame *(*keep)(void *ctx, uint32_t target_id, const struct frame *frame);
};

/* What is known of a target's languages; zeroed at first. The first members are the trace's to set. */
struct runtime_target {
	uint32_t id;
	pid_t pid;
	const char *comm;
	struct image *image; /* NULL: it is not known */
	bool ended;

	bool followed; /* the programs have, or had, a row of some language of it */
	void *states[RUNTIMES_FOLLOWED]; /* each language's own; NULL: it does not have it */
	struct runtime_chains chains;
	struct target_pool pool;
	struct target_heaps heaps;
	uint32_t not_followed; /* 1 << enum runtime: that it is not has been said */
	struct target_asked {
		uint64_t last_ns, took_ns; /* when last, and how long that took */
		bool refused;		   /* which has been said */
	} asked;			   /* java/runtime_asker.h */
};

struct runtimes;

struct runtimes *runtimes_new(const struct runtime_host *host); /* NULL when out of memory */
void runtimes_free(struct runtimes *runtimes);			/* NULL is fine */

/* Which languages does the target's image have? Each time that it has changed. Failures are logged. */
void runtimes_look(struct runtimes *runtimes, struct runtime_target *target);

/* Takes in an event of a language's: event_is_of_runtime(). */
void runtimes_event(struct runtimes *runtimes, struct runtime_target *target,
		    const struct event_header *header);

/*
 * Has the languages' functions put in the draft, of one after the other: V8's while there is a place
 * for each frame still. False: nothing is known of them, and it is as the walk has found it.
 * `frames`: the addresses of the draft's places. Once for each stack.
 */
bool runtimes_weave(struct runtimes *runtimes, struct runtime_target *target,
		    const struct runtime_hashes *hashes, const uint64_t *frames,
		    struct stack_draft *draft);

/* Adds what has been lost of its frames on this side. */
void runtime_target_add_lost(const struct runtime_target *target, uint64_t lost[LOST_CAUSES]);

/* Takes the target's rows out of the programs' maps. A forked child has its parent's before anybody has looked at it. */
void runtimes_drop(struct runtimes *runtimes, uint32_t target_id);

/* All that is known of it. */
void runtime_target_clear(struct runtimes *runtimes, struct runtime_target *target);

#endif
