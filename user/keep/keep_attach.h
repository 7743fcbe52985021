/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Has a process that is to be kept sampled, or says why it cannot be. Part of the keeper. */
#ifndef MEMLEAKBPF_KEEP_KEEP_ATTACH_H
#define MEMLEAKBPF_KEEP_KEEP_ATTACH_H

#include <stdint.h>

#include "user/keep/keep_entry.h"

/* 0, also when it is not sampled, which its reason says; or -ENOMEM. */
int keep_attach(struct trace *trace, struct kept *kept, uint64_t now_ns);

#endif
