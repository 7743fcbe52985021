/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The verdict of a snapshot in a recording. docs/recording-format.md has the format. */
#ifndef MEMLEAKBPF_MODEL_RECORDING_VERDICT_H
#define MEMLEAKBPF_MODEL_RECORDING_VERDICT_H

#include "user/model/snapshot.h"
#include "user/model/wire.h"

/* Adds the field to the snapshot's message, if it has a verdict. numbers: the row of each stack. */
void recording_put_verdict(struct wire *out, unsigned field, const struct snapshot *s,
			   const uint32_t *numbers);

/* Reads it into a snapshot whose stacks are in the order of their rows. False when it cannot be read. */
bool recording_take_verdict(struct wire_reader message, struct snapshot *s);

#endif
