/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's map of live blocks, those of all targets together. A program of the kernel walks over
 * it where the kernel loads and runs one (bpf/walk_live.bpf.c). Elsewhere user space reads the map in
 * slices, which takes some ten times as long.
 */
#ifndef MEMLEAKBPF_BLOCKS_BLOCKS_H
#define MEMLEAKBPF_BLOCKS_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/config.h"

struct blocks;
struct bpf_map;
struct bpf_program;
struct figures;
struct slots;

/* As of the trace. */
struct blocks_options {
	uint64_t sample_bytes, older_ns;
	bool sample_levels;
	uint32_t slots; /* so many rows there are in the arrays of slots */
};

/* Of the BPF object, which is loaded; borrowed. A program that is not loaded has no descriptor. */
struct blocks_maps {
	const struct bpf_map *live, *live_filter;
	const struct bpf_map *families; /* NULL: the families of blocks are not kept */
};

struct blocks_programs {
	const struct bpf_program *clock, *ages, *sweep;
};

/* The slots, the figures and the programs' variables are borrowed. 0 and *out, or -ENOMEM. */
int blocks_new(const struct blocks_options *options, const struct blocks_maps *maps,
	       const struct blocks_programs *programs, struct slots *slots, struct figures *figures,
	       struct shared *shared, struct blocks **out);
void blocks_free(struct blocks *blocks); /* NULL is fine */

/* The clock of the blocks' ages. They count from the first reading of it. 0 or -errno. */
int blocks_clock(struct blocks *blocks, struct live_clock *out);

/* Blocks that are live now: a walk takes about 150 ns for each. */
uint64_t blocks_count(const struct blocks *blocks);

/*
 * Walks over all live blocks. Fills in slots->ages, and the blocks that have outlived others with
 * lifetimes. 0 or -errno, not logged.
 */
int blocks_find_ages(struct blocks *blocks);

/* The last walk of blocks_find_ages(). */
struct blocks_walk {
	uint64_t took_ns;  /* of our thread's processor time */
	uint64_t ended_ns; /* CLOCK_MONOTONIC; 0: there was none */
};

struct blocks_walk blocks_last_walk(const struct blocks *blocks);

/* Removes the blocks of those targets that slots_target_swept() tells. 0 or -errno, not logged. */
int blocks_sweep(struct blocks *blocks);

/* Descriptor of the map of live blocks, for live_table_read(). */
int blocks_map(const struct blocks *blocks);

#endif
