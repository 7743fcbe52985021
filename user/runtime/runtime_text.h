/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Strings of runtimes, as the programs have copied them. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_RUNTIME_TEXT_H
#define MEMLEAKBPF_RUNTIME_RUNTIME_TEXT_H

#include <stddef.h>

#include "bpf/runtime/runtime_abi.h"

/*
 * The parts one behind the other, as UTF-8, with a mark where one was cut; malloc'ed. NULL: one is no string, all are empty, or
 * there is no memory.
 */
char *runtime_text_name(const struct runtime_text *parts, size_t count);

/* A text that the programs have copied as it is, with what marks where it was cut. */
#define RUNTIME_COPY_MAX (RUNTIME_TEXT_BYTES + sizeof("…"))

/*
 * `most` bytes of a text of `length` are there: a mark stands behind them where it is longer. NUL
 * becomes '?'. Returns `to`; NULL: it is empty.
 */
const char *runtime_text_copy(const uint8_t *bytes, uint32_t length, uint32_t most,
			      char to[static RUNTIME_COPY_MAX]);

#endif
