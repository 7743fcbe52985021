/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The languages of a target. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_TARGET_RUNTIMES_H
#define MEMLEAKBPF_TRACE_TARGET_RUNTIMES_H

#include "user/trace/target.h"

/* The target's, as it is now. */
struct runtime_target *target_runtimes(struct target *target);

/* "Python", "Java": the first language that it maps whose functions are no code of a file; NULL: none. */
const char *target_managed_language(const struct target *target);

#endif
