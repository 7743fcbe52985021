/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Targets that run PHP: the programs are told of it. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_PHP_ROWS_H
#define MEMLEAKBPF_RUNTIME_PHP_ROWS_H

#include "user/runtime/runtime_ops.h"

extern const struct runtime_ops php_ops;

#endif
