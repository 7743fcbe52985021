/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Heaps of languages' runtimes in a recording: a part of an inspection. Private to user/recording. */
#ifndef MEMLEAKBPF_RECORDING_MANAGED_H
#define MEMLEAKBPF_RECORDING_MANAGED_H

#include "user/recording/fields.h"

#define RECORDING_MANAGED_MAX 16 /* runtimes of one process */

/* Of struct managed_heap. */
extern const struct field recording_managed_fields[];

#endif
