/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An inspection in a recording: one message that needs no other. docs/recording-format.md has the
 * format. Private to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_INSPECTION_H
#define MEMLEAKBPF_RECORDING_RECORDING_INSPECTION_H

#include "user/model/inspection.h"
#include "user/recording/recording_names.h"

/* Adds it; the last chunk is not flushed. 0 or -errno. */
int recording_put_inspection(struct recording_out *out, const struct inspection *inspection);

/* 0 and *out (inspection_free()), -ENOMEM or recording_refuse(). */
int recording_take_inspection(struct recording_in *in, struct wire_reader message,
			      struct inspection **out);

extern const struct field recording_inspection_fields[];

#endif
