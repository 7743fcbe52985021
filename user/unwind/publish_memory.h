/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A publisher whose tables only user space reads: they lie in plain memory. */
#ifndef MEMLEAKBPF_UNWIND_PUBLISH_MEMORY_H
#define MEMLEAKBPF_UNWIND_PUBLISH_MEMORY_H

#include "user/unwind/publish.h"

/* 0 and *out (unwind_publisher_free()), or -ENOMEM. */
int unwind_publisher_new_memory(struct unwind_publisher **out);

#endif
