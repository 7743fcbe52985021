// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/doctor_breakpoints.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/freeze/resident.h"
#include "user/process/maps.h"
#include "user/process/proc.h"

struct breakpoint_look {
	struct doctor_breakpoint_list *list;
	struct resident *resident;
	const struct mapping *mapping;
	struct doctor_breakpoints found;
	int file; /* the mapped file */
};

#if defined(__x86_64__)
/*
 * Is it int3, or a nop of five bytes turned into a call? These are the kernel's uprobes on x86_64
 * (arch/x86/kernel/uprobes.c).
 */
static bool breakpoint_is_at(const uint8_t *memory, const uint8_t *file, size_t left)
{
	static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

	if (memory[0] == file[0])
		return false;
	return memory[0] == 0xcc ||
	       (memory[0] == 0xe8 && left >= sizeof(nop5) && !memcmp(file, nop5, sizeof(nop5)));
}
#else
/* Is it brk, with any number? aarch64's uprobes and debuggers write that. */
static bool breakpoint_is_at(const uint8_t *memory, const uint8_t *file, size_t left)
{
	uint32_t now, before;

	if (left < sizeof(now) || (uintptr_t)file % sizeof(now))
		return false;
	memcpy(&now, memory, sizeof(now));
	memcpy(&before, file, sizeof(before));
	return now != before && (now & 0xffe0001f) == 0xd4200000;
}
#endif

static void breakpoints_compare(struct breakpoint_look *look, const uint8_t *memory,
				const uint8_t *file, size_t size, uint64_t offset)
{
	for (size_t i = 0; i < size; i++) {
		if (!breakpoint_is_at(memory + i, file + i, size - i))
			continue;
		if (!look->found.count++)
			look->found.first = offset + i;
	}
}

/* Takes pages of code that are the process's own: something has written to them. */
static int breakpoints_in_pages(void *ctx, uint64_t start, uint64_t end)
{
	_Alignas(8) uint8_t memory[4096], file[4096];
	struct breakpoint_look *look = ctx;

	for (; start < end; start += sizeof(memory)) {
		uint64_t offset = start - look->mapping->start + look->mapping->offset;
		size_t size = resident_read(look->resident, start, memory, sizeof(memory));
		ssize_t got = pread(look->file, file, sizeof(file), (off_t)offset);

		if (got > 0)
			breakpoints_compare(look, memory, file,
					    size < (size_t)got ? size : (size_t)got, offset);
	}
	return 0;
}

static int breakpoints_in_mapping(struct breakpoint_look *look, pid_t pid, const struct mapping *m)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, m->start,
		 m->end);
	look->mapping = m;
	look->file = open(path, O_RDONLY | O_CLOEXEC);
	if (look->file < 0)
		return -errno;
	look->found = (struct doctor_breakpoints){.pid = pid};
	err = resident_scan(look->resident, m->start, m->end, true, breakpoints_in_pages, look);
	close(look->file);
	if (err || !look->found.count)
		return err;
	proc_comm(pid, look->found.comm);
	look->found.path = strdup(m->path);
	if (!look->found.path ||
	    !RESERVE_ITEM(look->list->items, look->list->count, look->list->room, 16)) {
		free(look->found.path);
		return -ENOMEM;
	}
	look->list->items[look->list->count++] = look->found;
	return 0;
}

/* A process that ends meanwhile does not count. */
static int breakpoints_in_process(void *ctx, pid_t pid)
{
	struct breakpoint_look look = {.list = ctx};
	struct maps *maps = NULL;
	int err = pid == getpid() ? -ESRCH : maps_read(pid, &maps);

	if (!err)
		err = resident_open(pid, &look.resident);
	for (size_t i = 0; !err && i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);

		if (m->exec && !m->shared && m->ino)
			err = breakpoints_in_mapping(&look, pid, m);
	}
	look.list->unread += err == -EACCES || err == -EPERM;
	resident_close(look.resident);
	maps_free(maps);
	return err == -ENOMEM ? err : 0;
}

int doctor_find_breakpoints(struct doctor_breakpoint_list *list)
{
	*list = (struct doctor_breakpoint_list){0};
	return proc_each(breakpoints_in_process, list);
}

void doctor_free_breakpoints(struct doctor_breakpoint_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].path);
	free(list->items);
}
