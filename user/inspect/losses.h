/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is lost, by what is lost first. Internal to user/inspect. */
#ifndef MEMLEAKBPF_INSPECT_LOSSES_H
#define MEMLEAKBPF_INSPECT_LOSSES_H

#include "user/base/packed.h"
#include "user/heap/reach.h"
#include "user/model/inspection.h"

/*
 * Fills in the losses: definitely lost blocks by group (`group_of`: by block), with what hangs on
 * them, the most bytes first. 0 or -ENOMEM.
 */
int losses_find(const struct heap_image *image, struct reach *reach, const struct packed *group_of,
		struct inspection *out);

/*
 * Takes the first `bytes` of a lost block of each group that has one, of the first thousands of them. 0
 * or -ENOMEM.
 */
int losses_take_contents(const struct heap_image *image, const struct reach *reach,
			 const struct packed *group_of, uint32_t bytes, struct inspection *out);

#endif
