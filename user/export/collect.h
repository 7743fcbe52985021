/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The latest snapshot of every target, copied: for formats whose file is one document about a
 * moment, written anew as a whole. Private to user/export.
 */
#ifndef MEMLEAKBPF_EXPORT_COLLECT_H
#define MEMLEAKBPF_EXPORT_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/export/render.h"
#include "user/model/frame_table.h"
#include "user/model/id_map.h"
#include "user/model/report.h"

struct collected_stack {
	uint32_t frames; /* number in the frame table; 0: the frames are not known */
	enum stack_end end;
	struct amount live, alloc, free;
	int64_t delta_bytes;
	struct amount verdict[VERDICT_CLASSES]; /* of live, if its target has one */
	struct amount at_peak;			/* if its target has a peak */
	uint32_t scope, scope_tag;		/* strings of the frame table; 0: none */
};

struct collected_target {
	uint32_t target_id;
	pid_t pid;
	char comm[17];				 /* "?" when unknown */
	uint32_t unit, container, pod, pod_name; /* strings of the frame table; 0: none */
	uint64_t time_ns, elapsed_ns, sample_bytes;
	struct amount live, alloc, free;
	uint64_t lost[LOSSES_ROOM];
	struct verdict verdict;
	bool peak;			/* what there was when it had most is known */
	struct module_maps *maps;	/* NULL: unknown */
	struct collected_stack *stacks; /* but those that are hidden */
	size_t stack_count;
	struct amount left_out; /* live blocks of those that are */
	size_t left_out_stacks;
	struct id_map frames_of; /* stack id -> frame table */
};

struct collection {
	struct frame_table *frames;
	struct collected_target *targets; /* in the order in which they came */
	size_t target_count;
	size_t last; /* where the last snapshot went: the next one's target is likely behind it */
};

/* A format that is nothing but a document made from a collection. */
struct document {
	struct exporter base;
	struct collection collection;
	bool taken; /* a snapshot has come */
	/* renders it, for exporter_write_document(); 0 or -errno */
	int (*write)(struct document *d);
};

struct exporter *document_new(FILE *out, const struct export_options *options,
			      int (*write)(struct document *d));
/* For struct exporter_format. */
int document_snapshot(struct exporter *e, const struct report *r, const struct stack *const *shown,
		      size_t shown_count);
int document_close(struct exporter *e);

/*
 * The frame table's number of a stack's frames, 0 when it has none; looked up by stack id in
 * `frames_of`, and entered there when it is new. 0 or -ENOMEM.
 */
int collect_frames(struct frame_table *table, struct id_map *frames_of, const struct stack *stack,
		   const struct stack_notes *notes, uint32_t *frames);

/*
 * Calls visit() for each place of code on a stack, innermost first: with the frames of what is
 * inlined there, innermost first, and of the function that holds it. `key` tells places of one
 * target apart. Where the stack is cut, or not known, a frame that says so stands for the rest.
 */
typedef void (*collected_visit_fn)(void *ctx, uint32_t key, const struct frame *const *frames,
				   size_t count);
void collected_stack_visit(const struct collection *c, const struct collected_stack *stack,
			   collected_visit_fn visit, void *ctx);

/* Where a frame's code is. */
struct collected_place {
	/*
	 * Of the target's maps. One without addresses stands for a module that is mapped no more,
	 * or for a runtime's code; its path is NULL for code without a module.
	 */
	struct module_map map;
	size_t index;	  /* in the target's maps, of one with addresses */
	uint64_t address; /* in the process; where it is not mapped, in the module; 0: no code */
	char runtime[FRAME_RUNTIME_MAX]; /* the path may lie here */
};
void collected_place(const struct collected_target *target, const struct frame *frame,
		     struct collected_place *out);

#endif
