/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which glibc a process has. */
#ifndef MEMLEAKBPF_INSPECT_LIBC_VERSION_H
#define MEMLEAKBPF_INSPECT_LIBC_VERSION_H

#include "user/heap/inventory.h"
#include "user/inspect/inspect_source.h"

/*
 * Fills in the version of the allocator "glibc", where there is one that has none: by the text that the library prints
 * when it is run, in its file. `maps` are the process's. Of static programs, and where the file is gone, it stays unknown.
 */
void libc_version_find(const struct inspect_source *source, const struct maps *maps,
		       struct inventory *inventory);

#endif
