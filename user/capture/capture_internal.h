/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to user/capture. */
#ifndef MEMLEAKBPF_CAPTURE_CAPTURE_INTERNAL_H
#define MEMLEAKBPF_CAPTURE_CAPTURE_INTERNAL_H

#include <pthread.h>

#include "bpf/config.h"
#include "user/blocks/live_table.h"
#include "user/capture/capture.h"
#include "user/freeze/freeze.h"

struct captures {
	struct captures_options options;
	struct captures_maps maps;
	struct blocks *blocks;
	const struct slots *slots;
	struct shared *shared;
	/* NULL: no process has been stopped yet, or the kernel cannot do it */
	struct sleepers *sleepers;
};

struct captured {
	struct freeze_forks forks; /* copies of it */
	bool copy_refused;	   /* a copy was not possible, and the user has been told */
};

struct capture {
	struct captures *all;
	const struct capture_target *target;
	struct captured *kept;
	struct snapshot *snapshot;
	struct stop **hold;    /* as for capture_take() */
	struct freeze *freeze; /* the target's memory */
	struct heap_image *image;
	pid_t leaver;	     /* the thread that ends the process, which is held at its end */
	bool approximate;    /* the live blocks are of several moments, or some are missing */
	uint64_t stopped_ns; /* for -v: when all threads had stopped */
	uint64_t live_ns;    /* for -v: how long the copy of the live blocks took */

	/* The live blocks. */
	struct live_table live;
	/* of its entries, the first ones: blocks amid a resize, which are not in the kernel's map */
	size_t resized;
	pthread_t live_reader;
	int live_err;
	bool live_started; /* the reader has to be joined */

	/* --snapshot=fork */
	bool released;	/* the target goes on, and notes its frees */
	uint32_t ticks; /* the kernel's, when the target stood still */
};

/*
 * Has the snapshot taken from a copy of the target if one can be made. Otherwise says why there is
 * none. To be called before the stop.
 */
void capture_prepare_copy(struct capture *c);

/* As struct freeze_hooks has them; ctx is the capture. */
int capture_forking(void *ctx, char reason[static REASON_MAX]);
void capture_forked(void *ctx, int err, const char *reason);
/* From then on the target's frees are noted. */
void capture_releasing(void *ctx);

/* Turns the live blocks, which were read later, back to the moment of the copy. 0 or -ENOMEM. */
int capture_turn_back(struct capture *c);

#endif
