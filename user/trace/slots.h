/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's arrays, mapped: a slot for each stack of each target, one behind them for each
 * target's allocations that have no stack (bpf/stack.h), and the targets' statistics. Private to
 * user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_SLOTS_H
#define MEMLEAKBPF_TRACE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "user/trace/state.h"

struct bpf_map;

/* A mapped array of the kernel's, rows of whole 8 bytes: 0 or -errno, logged. */
int slots_map_array(const struct bpf_map *map, void **out);
void slots_unmap_array(const struct bpf_map *map, void *memory); /* NULL is fine */

/* 0 or -errno, logged. */
int slots_map(struct trace *trace);
void slots_unmap(struct trace *trace);

/* Slots of stacks that have ever been used. */
uint32_t slots_used(const struct trace *trace);
/* No slot in use has this number or a higher one. */
uint32_t slots_end(const struct trace *trace);
/* The slot of a target's allocations that have no stack. Used only if there are any. */
uint32_t slots_bare(const struct trace *trace, uint32_t target_id);
bool slots_have_bare(const struct trace *trace);

/* The slot that a live block is counted in: with lifetimes its other bits are the block's birth. */
uint32_t slots_of_block(const struct trace *trace, const struct live_value *value);

/* How many blocks of its size a live block stands for: 1, unless it is a sample. */
double slots_weight_of_block(const struct trace *trace, const struct live_value *value);

/* The row of a target, or of one that has ended and has not been cleared. */
struct target_stats *slots_stats(const struct trace *trace, uint32_t target_id);

#define SLOTS_SWEPT_KEY 32

/* Do the target's stats say that its blocks have been swept? */
bool slots_target_swept(const struct trace *trace, uint32_t target_id);
/*
 * Deletes what is such targets' from a map, whose keys begin with the target's id as uint32_t and have at
 * most SLOTS_SWEPT_KEY bytes.
 */
void slots_delete_swept(const struct trace *trace, int map_fd);
/* Gives back the slots of such targets; `release` clears what others keep of a slot. */
void slots_release_swept(struct trace *trace, void (*release)(struct trace *trace, uint32_t slot));
/* And what is kept of such a target by its id. */
void slots_release_target(struct trace *trace, uint32_t target_id);

/* The standard error of so many live bytes of a slot, which are an estimate if its target is sampled; else 0. */
double slots_error(const struct trace *trace, uint32_t slot, uint64_t live_bytes);

#endif
