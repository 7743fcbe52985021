/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A process that a filter of --keep names, as the keeper has it. Part of the keeper. */
#ifndef MEMLEAKBPF_KEEP_KEEP_ENTRY_H
#define MEMLEAKBPF_KEEP_KEEP_ENTRY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/clock.h"
#include "user/base/hash.h"
#include "user/base/reason.h"
#include "user/model/process_sample.h"
#include "user/serve/shares.h"
#include "user/trace/trace.h"

#define KEEP_BUILD_ID_MAX 64 /* bytes */

/* One that could not have a gate is asked again after that, then after twice as long … */
#define KEEP_RETRY_NS	  (10 * NS_PER_S)
#define KEEP_RETRIES_LONG 6

struct kept {
	pid_t pid; /* the key */
	uint64_t start_ticks;
	struct share_owner owner; /* the user who has begun it, as of the last look */
	struct target *target;	  /* it is sampled; else NULL */
	bool ended;		  /* the trace has seen its end, and the survey not yet */
	bool seen;		  /* at this look */
	char reason[REASON_MAX];
	bool told; /* one has been logged since it was sampled */
	char comm[sizeof(((struct process_sample *)NULL)->comm)]; /* as it was last shown */
	uint64_t since_ns;
	uint64_t retry_ns; /* 0: at once */
	unsigned tries;
	unsigned given_up; /* so often, for there was too little memory */
	char build_id[2 * KEEP_BUILD_ID_MAX + 1];
	UT_hash_handle hh;
};

#endif
