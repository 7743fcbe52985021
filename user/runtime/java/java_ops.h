/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Java, of HotSpot. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_JAVA_OPS_H
#define MEMLEAKBPF_RUNTIME_JAVA_OPS_H

#include "user/runtime/runtime_ops.h"

extern const struct runtime_ops java_ops;

#endif
