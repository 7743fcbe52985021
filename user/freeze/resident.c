// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * By PAGEMAP_SCAN (Linux 6.7; 2 to 5 ms a GiB), else by /proc/PID/pagemap. Both:
 * Documentation/admin-guide/mm/pagemap.rst of the kernel.
 */
#include "user/freeze/resident.h"

#include <errno.h>
#include <linux/ioctl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "user/base/util.h"
#include "user/process/pagemap.h"
#include "user/process/proc.h"

/* include/uapi/linux/fs.h; the headers of Debian 12 are older. */
struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

struct scan_region {
	uint64_t start, end, categories;
};

#define SCAN	     _IOWR('f', 16, struct scan_arg)
#define PAGE_FILE    (1u << 2)
#define PAGE_PRESENT (1u << 3)
#define PAGE_SWAPPED (1u << 4)
#define PAGE_PFNZERO (1u << 5)

#define SCAN_REGIONS 512
#define ENTRIES	     4096
#define PIECE	     (1u << 20)

struct resident {
	pid_t pid;
	int pagemap;
	uint64_t page;
	bool no_scan; /* the kernel is too old for PAGEMAP_SCAN */
};

int resident_open(pid_t pid, struct resident **out)
{
	struct resident *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	pid = proc_memory_id(pid);
	r->pid = pid;
	r->page = (uint64_t)sysconf(_SC_PAGESIZE);
	r->pagemap = pagemap_open(pid);
	if (r->pagemap < 0) {
		int err = r->pagemap == -ENOENT ? -ESRCH : r->pagemap;

		free(r);
		return err;
	}
	*out = r;
	return 0;
}

void resident_close(struct resident *r)
{
	if (!r)
		return;
	close(r->pagemap);
	free(r);
}

static int resident_scan_by_ioctl(struct resident *r, uint64_t start, uint64_t end, bool own_only,
				  int (*fn)(void *ctx, uint64_t start, uint64_t end), void *ctx)
{
	const uint64_t unwanted = PAGE_PFNZERO | (own_only ? PAGE_FILE : 0);
	struct scan_region regions[SCAN_REGIONS];

	while (start < end) {
		struct scan_arg arg = {
			.size = sizeof(arg),
			.start = start,
			.end = end,
			.vec = (uint64_t)(uintptr_t)regions,
			.vec_len = ARRAY_SIZE(regions),
			.category_inverted = unwanted,
			.category_mask = unwanted,
			.category_anyof_mask = PAGE_PRESENT | PAGE_SWAPPED,
			.return_mask =
				PAGE_PFNZERO, /* the same for all, so that neighbours come as one */
		};
		int n = ioctl(r->pagemap, SCAN, &arg);

		if (n < 0)
			return -errno;
		for (int i = 0; i < n; i++) {
			int stop = fn(ctx, regions[i].start, regions[i].end);

			if (stop)
				return stop;
		}
		if (arg.walk_end <= start)
			break;
		start = arg.walk_end;
	}
	return 0;
}

static bool resident_entry_wanted(uint64_t entry, bool own_only)
{
	return (entry & PAGEMAP_THERE) && !(own_only && (entry & PAGEMAP_FILE));
}

static int resident_scan_by_pagemap(struct resident *r, uint64_t start, uint64_t end, bool own_only,
				    int (*fn)(void *ctx, uint64_t start, uint64_t end), void *ctx)
{
	uint64_t entries[ENTRIES], run = 0;
	bool in_run = false;
	int stop = 0;

	while (start < end && !stop) {
		size_t wanted = (size_t)((end - start) / r->page);
		ssize_t n = pread(r->pagemap, entries,
				  (wanted < ENTRIES ? wanted : ENTRIES) * sizeof(*entries),
				  (off_t)(start / r->page * sizeof(*entries)));

		if (n < (ssize_t)sizeof(*entries))
			return n < 0 ? -errno : 0;
		for (size_t i = 0; i < (size_t)n / sizeof(*entries) && !stop; i++) {
			bool wants = resident_entry_wanted(entries[i], own_only);

			if (wants && !in_run)
				run = start;
			else if (!wants && in_run)
				stop = fn(ctx, run, start);
			in_run = wants;
			start += r->page;
		}
	}
	return in_run && !stop ? fn(ctx, run, start) : stop;
}

int resident_scan(struct resident *r, uint64_t start, uint64_t end, bool own_only,
		  int (*fn)(void *ctx, uint64_t start, uint64_t end), void *ctx)
{
	int err;

	if (!r->no_scan) {
		err = resident_scan_by_ioctl(r, start, end, own_only, fn, ctx);
		if (err != -ENOTTY && err != -EINVAL)
			return err;
		r->no_scan = true;
	}
	return resident_scan_by_pagemap(r, start, end, own_only, fn, ctx);
}

/* The file shows the memory of the time when it was opened, and is empty when that has gone. */
bool resident_is_there(const struct resident *r)
{
	uint64_t entry;
	ssize_t n;

	do {
		n = pread(r->pagemap, &entry, sizeof(entry), 0);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(entry);
}

size_t resident_read(const struct resident *r, uint64_t start, void *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		size_t piece = size - done < PIECE ? size - done : PIECE;
		struct iovec local = {(char *)to + done, piece};
		struct iovec remote = {(void *)(uintptr_t)(start + done), piece};
		ssize_t n = process_vm_readv(r->pid, &local, 1, &remote, 1, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}
