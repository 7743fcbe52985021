/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What java_rows.c and v8_rows.c have in common: runtimes whose frames the programs follow by what the runtime's own object
 * tells. Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_RUNTIME_ROWS_H
#define MEMLEAKBPF_TRACE_RUNTIME_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/runtime_abi.h"
#include "user/target/image.h"
#include "user/target/runtime.h"
#include "user/trace/target.h"

/* Where the target maps code of that runtime, and how far from its link-time addresses; NULL: nowhere. The image's. */
const struct image_range *runtime_rows_find(struct trace *trace, const struct target *target,
					    enum runtime runtime, uint64_t *bias);

/* Why such frames are followed of no target; `by_frame_pointers`: why not with --stack fp. NULL: they are. */
const char *runtime_rows_refusal(const struct trace *trace, const char *by_frame_pointers);

/* Says that the programs cannot follow the target's frames of `language`. reasons[] by event->failure, NULL: of none. */
void runtime_rows_failed(const struct trace *trace, const char *language,
			 const struct runtime_failed_event *event, const char *const reasons[],
			 size_t count);

/* Says once of each runtime in the target's image that nobody follows its frames, if so. Each time that the image has changed. */
void runtime_rows_not_followed(struct trace *trace, struct target *target);

#endif
