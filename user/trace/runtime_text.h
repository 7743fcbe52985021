/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Strings of runtimes, as the programs have copied them. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_RUNTIME_TEXT_H
#define MEMLEAKBPF_TRACE_RUNTIME_TEXT_H

#include <stddef.h>

#include "bpf/runtime/runtime_abi.h"

/*
 * The parts one behind the other, as UTF-8, with a mark where one was cut; malloc'ed. NULL: one is no string, all are empty, or
 * there is no memory.
 */
char *runtime_text_name(const struct runtime_text *parts, size_t count);

#endif
