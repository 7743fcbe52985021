/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pages of memory: 4 KiB on x86_64; on aarch64 4, 16 or 64, as the kernel was built. */
#ifndef MEMLEAKBPF_BASE_PAGE_H
#define MEMLEAKBPF_BASE_PAGE_H

#include <stdint.h>
#include <unistd.h>

/* In bytes; a power of two. */
static inline uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Round an address down or up to the beginning of a page; `page` is the size of a page. */
static inline uint64_t page_down(uint64_t address, uint64_t page)
{
	return address & ~(page - 1);
}

static inline uint64_t page_up(uint64_t address, uint64_t page)
{
	return page_down(address + page - 1, page);
}

#endif
