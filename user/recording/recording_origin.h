/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who asked for blocks, of groups and losses of an inspection. Internal to user/recording. */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_ORIGIN_H
#define MEMLEAKBPF_RECORDING_RECORDING_ORIGIN_H

#include "user/model/inspection.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_names.h"

/* As a field of the message that is being written; nothing where none of the blocks was traced. */
void recording_put_origin(struct wire *to, unsigned field, const struct inspected_origin *origin);

/* 0, -ENOMEM, or recording_refuse(). */
int recording_take_origin(struct recording_in *in, struct wire_reader message,
			  struct inspected_origin *origin);

#endif
