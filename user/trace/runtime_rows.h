/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the *_rows.c of runtimes have in common whose frames the programs follow by what the runtime's own object tells. Private to
 * user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_RUNTIME_ROWS_H
#define MEMLEAKBPF_TRACE_RUNTIME_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/libbpf.h>

#include "bpf/runtime/runtime_abi.h"
#include "user/base/reason.h"
#include "user/process/object.h"
#include "user/target/image.h"
#include "user/runtime/runtime.h"
#include "user/trace/target.h"

/* The runtime of a target: where it is, and whether it is followed. */
struct runtime_mapped {
	struct object *object;
	uint64_t bias;	     /* over link-time addresses */
	uint64_t start, end; /* where its code is mapped, */
	uint64_t offset;     /* and from which offset of the file on */
	const char *version; /* whoever has this has it; NULL, "": unknown */
	bool entered;	     /* the row is in the programs' map */
};

/* A language whose runtime a target has at most once. */
struct runtime_language {
	enum runtime runtime;
	const char *name;
	uint32_t flag; /* TARGET_RUBY, … */
	bool by_libc;  /* a thread's frames are found by how its C library keeps them */
	/* What the target has of it from now on; NULL: out of memory. */
	struct runtime_mapped *(*begin)(struct target *target);
	/* Finds out how its frames are followed, says its version, and calls runtime_rows_enter(). -errno, with the reason. */
	int (*enter)(struct trace *trace, const struct runtime_language *language,
		     struct target *target, char reason[static REASON_MAX]);
	/* The target has none any more. */
	void (*end)(struct trace *trace, struct target *target);
};

/* Has the target's image such a runtime? `mapped`: what it had, NULL: none. Each time that it has changed. Failures are logged. */
void runtime_rows_look(struct trace *trace, struct target *target,
		       const struct runtime_language *language, struct runtime_mapped *mapped);

/* The target's frames are followed from now on, by *row in the programs' map. -errno, with the reason. */
int runtime_rows_enter(struct trace *trace, struct target *target,
		       const struct runtime_language *language, struct runtime_mapped *mapped,
		       const struct bpf_map *map, const void *row, char reason[static REASON_MAX]);

/* Where the target maps code of that runtime, and how far from its link-time addresses; NULL: nowhere. The image's. */
const struct image_range *runtime_rows_find(struct trace *trace, const struct target *target,
					    enum runtime runtime, uint64_t *bias);

/* Why such frames are followed of no target; `by_frame_pointers`: why not with --stack fp. NULL: they are. */
const char *runtime_rows_refusal(const struct trace *trace, const char *by_frame_pointers);

/* Says that the programs cannot follow the target's frames of `language`. reasons[] by event->failure, NULL: of none. */
void runtime_rows_failed(const struct trace *trace, const char *language,
			 const struct runtime_failed_event *event, const char *const reasons[],
			 size_t count);
/* The same of a language whose frames are followed apart from the walk: the stack has none of them then, and is whole for the rest. */
void runtime_rows_left_out(const struct trace *trace, const char *language,
			   const struct runtime_failed_event *event, const char *const reasons[],
			   size_t count);

/* Says once of each runtime in the target's image that nobody follows its frames, if so. Each time that the image has changed. */
void runtime_rows_not_followed(struct trace *trace, struct target *target);

#endif
