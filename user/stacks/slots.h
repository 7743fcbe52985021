/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's arrays, mapped. Each stack of each target has a slot. Behind these each target has
 * one for its allocations without a stack (bpf/stack.h). Each target has a row of statistics.
 */
#ifndef MEMLEAKBPF_STACKS_SLOTS_H
#define MEMLEAKBPF_STACKS_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "bpf/scope_abi.h"

struct bpf_map;
struct shared;

/* A mapped array of the kernel's, rows of whole 8 bytes: 0 or -errno, logged. */
int slots_map_array(const struct bpf_map *map, void **out);
void slots_unmap_array(const struct bpf_map *map, void *memory); /* NULL is fine */

struct slots_options {
	uint32_t max_stacks;
	uint64_t sample_bytes; /* as of the trace */
	bool births; /* a live block's slot has bits of its birth: with figures.lifetimes */
};

/* Of the BPF object, which is loaded; borrowed. */
struct slots_maps {
	const struct bpf_map *counters, *slot_infos, *slot_ages, *target_stats, *stacks,
		*free_slots;
	const struct bpf_map *slot_scopes; /* NULL: there are no scopes */
};

/* The arrays are read, and rows are cleared, by who needs them. */
struct slots {
	struct slots_options options;
	struct slots_maps maps;
	struct shared *shared; /* the programs' */
	struct stack_counters *counters;
	struct slot_info *infos;
	struct slot_age *ages;
	struct target_stats *stats;
	uint32_t *scopes; /* two words a row; NULL: there are no scopes */
};

/* 0 and *out, or -errno, logged. */
int slots_new(const struct slots_options *options, const struct slots_maps *maps,
	      struct shared *shared, struct slots **out);
void slots_free(struct slots *slots); /* NULL is fine */

/* Slots of stacks that have ever been used. */
uint32_t slots_used(const struct slots *slots);
/* No slot in use has this number or a higher one. */
uint32_t slots_end(const struct slots *slots);
/* The slot of a target's allocations that have no stack. Used only if there are any. */
uint32_t slots_bare(const struct slots *slots, uint32_t target_id);
bool slots_have_bare(const struct slots *slots);

/* The slot that a live block is counted in: with lifetimes its other bits are the block's birth. */
uint32_t slots_of_block(const struct slots *slots, const struct live_value *value);

/* How many blocks of its size a live block stands for: 1, unless it is a sample. */
double slots_weight_of_block(const struct slots *slots, const struct live_value *value);

/* The row of a target, or of one that has ended and has not been cleared. */
struct target_stats *slots_stats(const struct slots *slots, uint32_t target_id);

/* The node of bpf/scope_abi.h that a slot's stack is in; 0: none. */
static inline uint32_t slots_scope(const struct slots *slots, uint32_t slot)
{
	/* The kernel's rows are of whole 8 bytes. */
	uint32_t node = slots->scopes ? slots->scopes[slot * 2ull] : 0;

	return node < SCOPE_NODES ? node : 0;
}

#define SLOTS_SWEPT_KEY 32

/* Do the target's stats say that its blocks have been swept? */
bool slots_target_swept(const struct slots *slots, uint32_t target_id);
/*
 * Deletes what is such targets' from a map, whose keys begin with the target's id as uint32_t and have at
 * most SLOTS_SWEPT_KEY bytes.
 */
void slots_delete_swept(const struct slots *slots, int map_fd);
/* Gives back the slots of such targets; `release` clears what others keep of a slot. */
void slots_release_swept(struct slots *slots, void (*release)(void *ctx, uint32_t slot), void *ctx);
/* And what is kept of such a target by its id. */
void slots_release_target(struct slots *slots, uint32_t target_id);

/* The standard error of so many live bytes of a slot, which are an estimate if its target is sampled; else 0. */
double slots_error(const struct slots *slots, uint32_t slot, uint64_t live_bytes);

#endif
