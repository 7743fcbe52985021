/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose memory is shown: that of some control groups only (--cgroup, --container, --unit). */
#ifndef MEMLEAKBPF_KMEM_KMEM_SELECT_H
#define MEMLEAKBPF_KMEM_KMEM_SELECT_H

#include <stdbool.h>

#include "user/session/session_config.h"

/* Is there a condition on groups? */
bool kmem_selects(const struct select_config *select);

/* Is the group of this path one of those? `path` NULL: it is not known, and so none of them. */
bool kmem_selects_group(const struct select_config *select, const char *path);

#endif
