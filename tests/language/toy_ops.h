/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Toy, the language of tests/language/toy.c. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_TOY_OPS_H
#define MEMLEAKBPF_RUNTIME_TOY_OPS_H

#include "user/runtime/runtime_ops.h"

extern const struct runtime_ops toy_ops;

#endif
