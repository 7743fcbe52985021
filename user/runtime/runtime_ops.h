/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A language: what the room asks of it. Each has a folder with one of these, which is a row of
 * languages.c. Private to user/runtime.
 */
#ifndef MEMLEAKBPF_RUNTIME_RUNTIME_OPS_H
#define MEMLEAKBPF_RUNTIME_RUNTIME_OPS_H

#include "bpf/runtime/runtime_abi.h"
#include "user/runtime/runtime_doctor.h"
#include "user/runtime/runtime_target.h"

/* `reasons`, by failure; NULL: of none. */
struct runtime_failures {
	const char *const *reasons;
	size_t count;
	/* Frames of it are found apart from the walk: a stack has all of them, or none. */
	bool apart;
};

struct runtime_ops {
	enum runtime runtime;
	const char *name; /* what people call the language */
	const char *mark; /* a symbol that only this runtime exports; */
	bool mark_begins; /* or what such symbols begin with */
	struct runtime_failures failures;

	/* What an object says of itself, for free(); NULL: nothing. NULL: no such function, as of all below. */
	void *(*know)(struct object *object);
	/* Has the target's image the runtime? Enters its row, or says why not. */
	void (*look)(struct runtimes *runtimes, struct runtime_target *target);
	/* A chain has come: before it is kept. */
	void (*chain)(struct runtimes *runtimes, struct runtime_target *target,
		      const struct runtime_chain_event *event);
	/* RUNTIME_CODE, RUNTIME_MORE. */
	void (*event)(struct runtimes *runtimes, struct runtime_target *target,
		      enum runtime_event_kind kind, const struct event_header *header);
	/* Puts the functions of the chain with the hash into the draft. False: there is no such chain. */
	bool (*weave)(struct runtimes *runtimes, struct runtime_target *target, uint64_t hash,
		      const uint64_t *frames, struct stack_draft *draft);
	/* A stack has come that is in no chain of a target which has a state. */
	void (*unwoven)(struct runtimes *runtimes, struct runtime_target *target,
			const struct stack_draft *draft);
	/* In place of what `failures` has. */
	void (*failed)(const struct runtime_target *target,
		       const struct runtime_failed_event *event);
	/* Adds what could not be named. */
	void (*add_lost)(const void *state, uint64_t lost[LOST_CAUSES]);
	/* What can be followed of the object, whose runtime_of() is `runtime`. False: it is none of this language. */
	bool (*doctor)(const struct image *image, struct object *object, enum runtime runtime,
		       char text[static RUNTIME_DOCTOR_TEXT]);
	/* Of a state that is not NULL. */
	void (*free)(struct runtimes *runtimes, void *state);
};

/* What there is of all targets together. */
struct runtimes {
	struct runtime_host host;
	/* Bytes of names of Python's functions, which may be many; that these are too many has been said. */
	size_t python_bytes;
	bool python_full;
};

static inline const struct frame *runtimes_keep(const struct runtimes *runtimes,
						const struct runtime_target *target,
						const struct frame *frame)
{
	return runtimes->host.keep(runtimes->host.ctx, target->id, frame);
}

/* To be looked at in this order: it matters where an allocator's caller is V8's, and Java's, before it is an interpreter's. */
extern const struct runtime_ops *const runtime_languages[];
extern const size_t runtime_language_count;

/* NULL: it is not followed. */
const struct runtime_ops *runtime_language(enum runtime runtime);

#endif
