/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What guarded blocks have shown (--guard). Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_BAD_ACCESSES_READ_H
#define MEMLEAKBPF_TRACE_BAD_ACCESSES_READ_H

#include "bpf/guard_abi.h"
#include "user/trace/target.h"

struct bad_access_modes;

/* A place has been touched: finds out whether it was read or written to, as long as that can be seen. */
void bad_accesses_touched(struct trace *trace, struct target *target,
			  const struct guard_touch_event *event);

/* Adds what was wrong in the target to an empty list, to be freed. 0 or -ENOMEM. */
int bad_accesses_read(struct trace *trace, uint32_t target_id, struct misuse **list, size_t *count);

/* target->bad_accesses of `only` this one, which may have just ended; NULL: of all of them. */
void bad_accesses_sum(struct trace *trace, struct target *only);

/* Forgets those of targets whose blocks have been swept. */
void bad_accesses_release_swept(struct trace *trace);
void bad_accesses_free(struct trace *trace);

#endif
