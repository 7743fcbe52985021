/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The heap as it is now, of a process that nobody has watched: its allocators' own books say what the
 * blocks are (user/heap), reachability which of them are lost, and the kernel how much memory all of it
 * has to add up to. docs/inspect.md has the method.
 */
#ifndef MEMLEAKBPF_INSPECT_INSPECT_H
#define MEMLEAKBPF_INSPECT_INSPECT_H

#include "user/inspect/inspect_source.h"
#include "user/model/inspection.h"

struct inspect_options {
	unsigned heuristics; /* enum reach_heuristic */
	bool tagged;	     /* pointers may carry tags */
	uint32_t contents;   /* bytes of a lost block to show; 0: none */
};

/*
 * Inspects it; its memory, command line and file's name are taken over in any case. 0 and *out
 * (inspection_free()), or -ENOMEM, not logged.
 */
int inspect(struct inspect_source *source, const struct inspect_options *options,
	    struct inspection **out);

#endif
