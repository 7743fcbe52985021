/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The life of the probes: when they go in, what they may cost, and what they have found. */
#ifndef MEMLEAKBPF_KMEM_KMEM_DRILL_H
#define MEMLEAKBPF_KMEM_KMEM_DRILL_H

#include "user/kmem/kmem.h"
#include "user/kmem/kmem_survey.h"

struct kmem_drill;

/* NULL when out of memory. */
struct kmem_drill *kmem_drill_new(const struct kmem_config *config, struct kmem_survey *survey);
void kmem_drill_free(struct kmem_drill *drill); /* NULL is fine */

/*
 * Loads the programs, so that the tool's own tables are there before the first look. With
 * config->probe attaches them. 0; -errno: no probes in this run, and why is in `missing`.
 */
int kmem_drill_begin(struct kmem_drill *drill, struct missing_parts *missing);

/* Reads the books: before the survey looks, so that the kernel's own count is the later one. */
int kmem_drill_read(struct kmem_drill *drill);

/* Makes rows of them. NULL: there were no probes yet. The books stay the drill's. */
const struct kernel_books *kmem_drill_books(struct kmem_drill *drill);

/* After a look: puts probes in, measures what they take, or takes them out. */
void kmem_drill_turn(struct kmem_drill *drill, struct missing_parts *missing);

#endif
