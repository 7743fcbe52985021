/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What musl does not have: backtrace(), a second name for malloc(), and the function of glibc by
 * which its libgcc looks for unwind tables. For truth.c alone.
 */
#ifndef MEMLEAKBPF_TESTS_UNWIND_TRUTH_MUSL_H
#define MEMLEAKBPF_TESTS_UNWIND_TRUTH_MUSL_H

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <unwind.h>

struct frame_list {
	void **frames;
	int count, room;
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *arg)
{
	struct frame_list *list = arg;

	/* Number -1 is backtrace() itself. */
	if (list->count >= 0)
		list->frames[list->count] = (void *)_Unwind_GetIP(context);
	return ++list->count == list->room ? _URC_END_OF_STACK : _URC_NO_REASON;
}

__attribute__((noinline)) static int backtrace(void **frames, int room)
{
	struct frame_list list = {.frames = frames, .count = -1, .room = room};

	_Unwind_Backtrace(add_frame, &list);
	while (list.count > 0 && !frames[list.count - 1])
		list.count--;
	return list.count;
}

static void *__libc_malloc(size_t size)
{
	static void *(*next)(size_t);

	if (!next)
		next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	return next(size);
}

/*
 * Layout and meaning: glibc's manual, "Dynamic Linker Introspection" (since 2.35; x86-64 has no
 * further members).
 */
struct dl_find_object {
	unsigned long long dlfo_flags;
	void *dlfo_map_start, *dlfo_map_end;
	struct link_map *dlfo_link_map;
	void *dlfo_eh_frame; /* the segment PT_GNU_EH_FRAME */
	unsigned long long reserved[7];
};

struct search {
	uintptr_t pc;
	struct dl_find_object *found;
};

static int look_into(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *search = arg;
	int inside = 0;

	(void)size;
	search->found->dlfo_eh_frame = NULL;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_GNU_EH_FRAME)
			search->found->dlfo_eh_frame = (void *)start;
		if (segment->p_type != PT_LOAD || search->pc < start ||
		    search->pc - start >= segment->p_memsz)
			continue;
		inside = 1;
		search->found->dlfo_map_start = (void *)start;
		search->found->dlfo_map_end = (void *)(start + segment->p_memsz);
	}
	return inside && search->found->dlfo_eh_frame;
}

__attribute__((visibility("hidden"))) int _dl_find_object(void *pc, struct dl_find_object *result)
{
	struct search search = {.pc = (uintptr_t)pc, .found = result};

	*result = (struct dl_find_object){0};
	return dl_iterate_phdr(look_into, &search) ? 0 : -1;
}

#endif
