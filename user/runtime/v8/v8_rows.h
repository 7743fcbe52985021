/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Targets that have V8: the programs are told where it has what its functions are. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_V8_ROWS_H
#define MEMLEAKBPF_RUNTIME_V8_ROWS_H

#include "user/runtime/runtime_ops.h"

extern const struct runtime_ops v8_ops;

#endif
