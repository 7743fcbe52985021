/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The calls that a bad free or a bad access is told by: a field of its message for each that is known.
 * docs/recording-format.md has the format. Private to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_CALL_H
#define MEMLEAKBPF_RECORDING_RECORDING_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "user/model/reported_call.h"
#include "user/recording/recording_names.h"

/* Of `count` calls: do the same stacks tell both? */
bool recorded_calls_same(const struct reported_call *a, const struct reported_call *b, int count);
uint64_t recorded_calls_hash(uint64_t hash, const struct reported_call *calls, int count);

/*
 * The numbers in the file of those stacks that have got their frames by now, in `stacks`; *changed: there
 * are some. 0 or -errno.
 */
int recording_name_calls(struct recording_out *out, const struct reported_call *calls, int count,
			 uint32_t *stacks, bool *changed);
/* Into an open message, a field for each that is known. */
void recording_put_calls(struct wire *to, unsigned field, const struct reported_call *calls,
			 int count, const uint32_t *stacks);

/* A name that stands in the table already, by its number; NULL: nothing. */
void recording_put_name(struct recording_out *out, unsigned field, const char *name);

/* Takes such a field in. 0, or recording_refuse(). */
int recording_take_call(struct recording_in *in, struct wire_reader message,
			struct reported_call *calls, int count, uint32_t *stacks);
/* The frames of those that have a stack. */
void recording_fill_calls(const struct recording_in *in, struct reported_call *calls, int count,
			  const uint32_t *stacks);

#endif
