/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose profiles there are: the keeper's (user/survey/keeper.h), whose functions these are; all in the survey's thread. */
#ifndef MEMLEAKBPF_SERVE_PROFILE_SOURCE_H
#define MEMLEAKBPF_SERVE_PROFILE_SOURCE_H

#include <sys/types.h>

#include "user/model/report.h"
#include "user/serve/kept_process.h"

struct profile_source {
	void *ctx;
	int (*each)(void *ctx, int (*visit)(void *visit_ctx, const struct kept_process *p),
		    void *visit_ctx);
	/* -ESRCH: it is not sampled. Frames live as long as the source. */
	int (*snapshot)(void *ctx, pid_t pid, struct report **out);
};

#endif
