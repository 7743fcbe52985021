/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The heap as it is now, of a process that nobody has watched: its allocators' own books say what the
 * blocks are (user/heap), reachability which of them are lost, and the kernel how much memory all of it
 * has to add up to. docs/inspect.md has the method.
 */
#ifndef MEMLEAKBPF_INSPECT_INSPECT_H
#define MEMLEAKBPF_INSPECT_INSPECT_H

#include "user/heap/reach.h"
#include "user/inspect/inspect_source.h"
#include "user/inspect/kept_types.h"
#include "user/model/frame.h"
#include "user/model/inspection.h"
#include "user/symbol/symbol.h"

/*
 * Of a process that is traced: what is known of its blocks, and what its tracer wants in return. Functions
 * may be NULL; ctx is for them.
 */
struct inspect_traced {
	struct heap_image
		*image;	      /* memory and blocks, in place of the source's memory; the caller's */
	uint32_t stack_count; /* blocks have stacks below that */
	struct symbolizer
		*symbolizer; /* knows the process already; the caller's. NULL: nobody does */
	void *ctx;
	bool (*is_new_array)(void *ctx, uint32_t stack); /* as reach_options has it */
	/* A stack's id, and the function that asked; *function stays as it is where that is unknown. */
	void (*stack)(void *ctx, uint32_t stack, uint64_t *id, const char **function);
	/* All blocks have been judged, those from before the attach too. 0 or -ENOMEM. */
	int (*judged)(void *ctx, struct reach *reach);
};

/* The stacks of what is inspected, and where its files are. */
struct inspect_stacks {
	const struct memory_image *memory;
	struct object_cache *objects;
	struct symbolizer *symbolizer;
	pid_t pid; /* as these know it */
};

struct inspect_options {
	unsigned heuristics;		     /* enum reach_heuristic */
	bool tagged;			     /* pointers may carry tags */
	uint32_t contents;		     /* bytes of a lost block to show; 0: none */
	const struct inspect_traced *traced; /* NULL: nobody has watched it */
	bool debuginfod;		     /* servers may be asked for debug information */
	/* As held_names.frame, with the symbolizer's frames. NULL: nobody knows functions on stacks. */
	int (*frame)(void *ctx, const struct inspect_stacks *stacks,
		     const struct memory_thread *thread, uint64_t address,
		     const struct frame **out);
	void *frame_ctx;
	/*
	 * What debug information has said of the files of the source's cache; NULL: it is read anew
	 */
	struct kept_types *types;
};

/*
 * Inspects it; its memory, command line and file's name are taken over in any case. 0 and *out
 * (inspection_free()), or -ENOMEM, not logged.
 */
int inspect(struct inspect_source *source, const struct inspect_options *options,
	    struct inspection **out);

#endif
