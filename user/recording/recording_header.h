/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A recording's first message: where it was made, and by which numbers it calls loss causes and
 * ends of walks. Private to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_HEADER_H
#define MEMLEAKBPF_RECORDING_RECORDING_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "user/recording/recording.h"
#include "user/recording/wire.h"

/* What the file's numbers of an enum are here, -1 for what is not known. */
struct number_list {
	int *numbers;
	size_t count;
};

/* As read; all zero: nothing. */
struct recording_header {
	struct recording_info info;	 /* its texts are owned */
	struct number_list causes, ends; /* enum lost_cause, enum stack_end */
};

struct recording_out;
struct recording_in;

int recording_put_header(struct recording_out *out, const struct recording_info *info);
/* Fills in->header. 0, -ENOMEM or recording_refuse(). */
int recording_take_header(struct recording_in *in, struct wire_reader message);
void recording_header_free(struct recording_header *header);

/* Of an end that is not known here, what matters is that the stack is not complete. */
enum stack_end recording_stack_end(const struct recording_header *header, uint64_t number);

#endif
