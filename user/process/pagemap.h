/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* /proc/PID/pagemap, a word of 8 bytes for each page of addresses: Documentation/admin-guide/mm/pagemap.rst of the kernel. */
#ifndef MEMLEAKBPF_PROCESS_PAGEMAP_H
#define MEMLEAKBPF_PROCESS_PAGEMAP_H

#include <sys/types.h>

#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)
#define PAGEMAP_FILE	(1ull << 61) /* a file's page, or a shared one */
#define PAGEMAP_THERE	(PAGEMAP_PRESENT | PAGEMAP_SWAPPED)

/* `memory`: proc_memory_id(). A descriptor, which the caller closes, or -errno. */
int pagemap_open(pid_t memory);

#endif
