/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel side keeps of stacks beside their counters, where it is asked for: bpf/figures.h.
 * Lifetimes, temporary blocks, the peak, sizes.
 */
#ifndef MEMLEAKBPF_FIGURES_FIGURES_READ_H
#define MEMLEAKBPF_FIGURES_FIGURES_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/config.h"
#include "user/model/stack_figures.h"

struct bpf_map;
struct figures;
struct peak_capture;
struct slots;
struct snapshot;
struct stack_table;

struct figures_options {
	struct figures_kept kept;
	bool group_sizes; /* a row for each size of a stack's live blocks */
	uint32_t
		max_stacks; /* with lifetimes birthdays of blocks take bits of their numbers: LIVE_SLOT_MASK */
	uint64_t sample_bytes;
};

/* Of the BPF object; borrowed. */
struct figures_maps {
	struct bpf_map *lifetimes, *outlived, *temporaries, *slot_peaks, *target_peaks;
	const struct bpf_map *live;
};

/*
 * Before loading: the programs' constants and the maps' sizes. 0 and *out, or -errno. figures_free() in
 * any case.
 */
int figures_new(const struct figures_options *options, const struct figures_maps *maps,
		struct config *config, struct figures **out);
/* After loading; both are borrowed. 0 or -errno, logged. */
int figures_start(struct figures *figures, const struct slots *slots, struct stack_table *stacks);
void figures_free(struct figures *figures); /* NULL is fine */

/* A slot has been given back: nothing is left of its stack. ctx: struct figures. */
void figures_release_slot(void *ctx, uint32_t slot);

/* Before a walk over the live blocks: how old one is that has outlived its stack's. */
void figures_before_walk(struct figures *figures);
/* Are there any that a walk is to find? */
bool figures_wants_outlived(const struct figures *figures);
/* It has come by live blocks of a slot, that old. */
void figures_add_old(struct figures *figures, uint32_t slot, uint64_t age_ns, uint64_t bytes,
		     uint64_t count);

/* The target whose snapshot it is. */
struct figures_target {
	uint32_t id;
	/* its samples are told by itself, or by a gate: nobody knows what is allocated in between */
	bool told;
	const struct peak_capture *peak; /* peaks.h */
};

/*
 * The figures of the snapshot's stacks. `by_slot`: which of them a slot belongs to, UINT32_MAX: none,
 * for `slots` slots. `walked`: the last walk is good for it; its clock, NULL else. `clock`: the kernel's,
 * now. 0 or -ENOMEM.
 */
int figures_read(struct figures *figures, const struct figures_target *target,
		 struct snapshot *snapshot, const uint32_t *by_slot, uint32_t slots,
		 const struct live_clock *walked, const struct live_clock *clock);

#endif
