/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel had refused where a recording was made (struct missing_parts). Internal to user/recording. */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_MISSING_H
#define MEMLEAKBPF_RECORDING_RECORDING_MISSING_H

#include "user/model/missing.h"
#include "user/recording/fields.h"
#include "user/recording/recording_names.h"

/* Those that are not in the file yet. 0 or -ENOMEM. */
int recording_put_missing(struct recording_out *out, const struct missing_parts *parts);

/* One more for in->missing, whose strings are the table's. 0, -ENOMEM or recording_refuse(). */
int recording_take_missing(struct recording_in *in, struct wire_reader message);

extern const struct field recording_missing_fields[];

#endif
