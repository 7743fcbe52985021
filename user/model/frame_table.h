/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Strings, frames and stacks of frames, each kept once and numbered from 1 in the order in which
 * they came. Writers of files need the numbers. Readers of files, and all that outlives the
 * symbolizer, need the copies.
 */
#ifndef MEMLEAKBPF_MODEL_FRAME_TABLE_H
#define MEMLEAKBPF_MODEL_FRAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "user/model/frame.h"

struct frame_table;

struct frame_table *frame_table_new(void);	  /* NULL when out of memory */
void frame_table_free(struct frame_table *table); /* with all that it holds; NULL is fine */

/*
 * Adds each unless it is there, and sets *id to its number. 0, -ENOMEM, or -E2BIG when there are
 * too many. A NULL string has number 0.
 */
int frame_table_bytes(struct frame_table *table, const void *data, size_t len, uint32_t *id);
int frame_table_string(struct frame_table *table, const char *text, uint32_t *id);
int frame_table_frame(struct frame_table *table, const struct frame *frame, uint32_t *id);
int frame_table_stack(struct frame_table *table, const struct frame *const *frames, size_t count,
		      uint32_t *id);
/* The same by the numbers of frames, all of which must exist. */
int frame_table_stack_of(struct frame_table *table, const uint32_t *frames, size_t count,
			 uint32_t *id);

/*
 * Replaces frames that may go by their copies in the table; NULL stays. 0 or the error of
 * frame_table_stack().
 */
int frame_table_keep(struct frame_table *table, const struct frame *const **frames, size_t *count);

size_t frame_table_string_count(const struct frame_table *table);
size_t frame_table_frame_count(const struct frame_table *table);
size_t frame_table_stack_count(const struct frame_table *table);

/*
 * Look up a number; the table owns the result. The numbers must exist; for strings, 0 gives NULL.
 * Strings end with a NUL; len may be NULL.
 */
const char *frame_table_string_at(const struct frame_table *table, uint32_t id, size_t *len);
const struct frame *frame_table_frame_at(const struct frame_table *table, uint32_t id);
const struct frame *const *frame_table_stack_at(const struct frame_table *table, uint32_t id,
						size_t *count);
/* The numbers of the stack's frames. */
const uint32_t *frame_table_stack_ids(const struct frame_table *table, uint32_t id, size_t *count);

/* The numbers of a frame's strings; 0: the frame has no such string. */
struct frame_strings {
	uint32_t function, symbol, module, module_path, file, build_id;
};
const struct frame_strings *frame_table_strings_of(const struct frame_table *table, uint32_t frame);

#endif
