/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What languages have in common that tell the programs of targets. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_RUNTIME_ROWS_H
#define MEMLEAKBPF_RUNTIME_RUNTIME_ROWS_H

#include "user/base/reason.h"
#include "user/runtime/runtime_ops.h"

/* Why there are no frames where the programs are not loaded. */
#define RUNTIME_ROWS_REFUSED "the kernel refuses the programs that follow it (-vv shows why)"

/* Where the target maps code of that runtime, and how far from its link-time addresses; NULL: nowhere. The image's. */
const struct image_range *runtime_rows_find(const struct runtimes *runtimes,
					    const struct runtime_target *target,
					    enum runtime runtime, uint64_t *bias);

/* Why such frames are followed of no target; `by_frame_pointers`: why not with --stack fp. NULL: they are. */
const char *runtime_rows_refusal(const struct runtimes *runtimes, const char *by_frame_pointers);

/* The target's frames are followed from now on, by *row. -errno, with the reason. */
int runtime_rows_enter(struct runtimes *runtimes, struct runtime_target *target,
		       enum runtime runtime, const void *row, char reason[static REASON_MAX]);
/* The same, where the programs are loaded. 0 or -errno, not logged. */
int runtime_rows_put(struct runtimes *runtimes, struct runtime_target *target, enum runtime runtime,
		     const void *row);
/* The target's frames are followed no more. */
void runtime_rows_end(struct runtimes *runtimes, struct runtime_target *target,
		      enum runtime runtime);

/* Says that the programs cannot follow the target's frames. */
void runtime_rows_failed(const struct runtime_target *target, const struct runtime_ops *language,
			 const struct runtime_failed_event *event);

#endif
