/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which languages' runtimes a target maps, for messages. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_TARGET_RUNTIMES_H
#define MEMLEAKBPF_TRACE_TARGET_RUNTIMES_H

#include "user/runtime/runtime.h"
#include "user/trace/trace.h"

/* "Python", "Java": the first language that it maps whose functions are no code of a file; NULL: none. */
const char *target_managed_language(const struct target *target);

#endif
