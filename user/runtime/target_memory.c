// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/target_memory.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "user/base/page.h"
#include "user/base/util.h"
#include "user/process/pagemap.h"
#include "user/process/proc.h"

static bool target_memory_has_page(struct target_memory *m, uint64_t page)
{
	uint64_t entry, size = page_size();

	if (m->page == page)
		return true;
	if (pread(m->pagemap, &entry, sizeof(entry), (off_t)(page / size * sizeof(entry))) !=
		    (ssize_t)sizeof(entry) ||
	    !(entry & PAGEMAP_THERE))
		return false;
	m->page = page;
	return true;
}

static bool target_memory_is_range(uint64_t address, size_t size)
{
	uint64_t end = address + size;

	return size && end >= address && end <= INT64_MAX;
}

bool target_memory_read_any(const struct target_memory *m, uint64_t address, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};

	return target_memory_is_range(address, size) &&
	       process_vm_readv(m->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

bool target_memory_read(struct target_memory *m, uint64_t address, void *to, size_t size)
{
	uint64_t end = address + size, mask = page_size() - 1;

	if (!target_memory_is_range(address, size))
		return false;
	for (uint64_t page = address & ~mask; page < end; page += mask + 1) {
		if (!target_memory_has_page(m, page))
			return false;
	}
	return target_memory_read_any(m, address, to, size);
}

int target_memory_open(struct target_memory *m, pid_t pid)
{
	*m = (struct target_memory){.pid = proc_memory_id(pid), .page = 1};
	m->pagemap = pagemap_open(m->pid);
	return m->pagemap < 0 ? m->pagemap : 0;
}

void target_memory_close(struct target_memory *m)
{
	cleanup_close(&m->pagemap);
}
