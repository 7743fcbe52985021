/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's memory without a probe: by pool, cache, area and control group, from files that the
 * kernel has anyway. A look takes some milliseconds.
 */
#ifndef MEMLEAKBPF_KMEM_KMEM_SURVEY_H
#define MEMLEAKBPF_KMEM_KMEM_SURVEY_H

#include "user/model/kernel_report.h"

struct kmem_survey;

/* NULL when out of memory. */
struct kmem_survey *kmem_survey_new(void);
void kmem_survey_free(struct kmem_survey *survey); /* NULL is fine */

/*
 * Looks, at a time (ns of any clock, not descending), and fills the lists of the report, which stay
 * the survey's until the next look. Which files could not be read is in report->missing. 0 or
 * -errno, logged.
 */
int kmem_survey_look(struct kmem_survey *survey, uint64_t time_ns, struct kernel_report *report);

/* Which kinds of memory grow by the last look: bits of enum kernel_kind. */
unsigned kmem_survey_growing(const struct kmem_survey *survey);

/*
 * From now on the caches' growth is counted for kmem_survey_most(): probes go in. Looks first. 0 or
 * -errno, logged.
 */
int kmem_survey_mark(struct kmem_survey *survey);

/*
 * The most blocks, allocated since the mark and not freed, that a cache can have. It is the kernel's
 * own count at the last look; UINT64_MAX: not known. General caches have the name NULL, and are
 * told by `object_bytes`. All caches of that size have the name "".
 */
uint64_t kmem_survey_most(const struct kmem_survey *survey, const char *name,
			  uint64_t object_bytes);

/* The path of a control group, valid until the next look. NULL: not known. */
const char *kmem_survey_group(const struct kmem_survey *survey, uint64_t id);

/* Can the kernel take the cache's memory back? */
bool kmem_survey_reclaimable(const struct kmem_survey *survey, const char *cache);

/* A name of this cache: its own or that of a cache that is merged with it. */
bool kmem_survey_is_name(const struct kmem_survey *survey, const char *cache, const char *name);

/* Notes that the books have more blocks of a cache than it can have. */
void kmem_survey_distrust(struct kmem_survey *survey, const char *cache);

#endif
