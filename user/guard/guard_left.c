// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A guard faults once: then its page exists, and nobody sees the next touch. Whoever hears of the
 * touch marks the place (guard_note_touch()). Nobody does if a page came while no tool was there,
 * if the event was lost, or if another process has read it (gdb, gcore). /proc/PID/pagemap shows
 * the pages that exist.
 */
#include "user/guard/guard_left.h"

#include <errno.h>
#include <sys/param.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/process/pagemap.h"

#define AT_ONCE	 32 /* places */
#define OF_PLACE (GUARD_PLACE / GUARD_PAGE)
#define DATA	 (GUARD_DATA / GUARD_PAGE)

/*
 * Reads the pages before the state: a block that ends meanwhile may have its place dropped once
 * more than needed.
 */
static bool left_is_touched(const uint64_t words[OF_PLACE], uint8_t state)
{
	for (int page = 0; page < OF_PLACE; page++) {
		if (!(words[page] & PAGEMAP_THERE))
			continue;
		if (page != DATA || state == GUARD_EMPTY || state == GUARD_GONE)
			return true;
	}
	return false;
}

static int left_mark_some(const struct guard_pages *pages, int pagemap, uint32_t first)
{
	uint64_t words[AT_ONCE * OF_PLACE];
	uint64_t address = pages->address + GUARD_META + (uint64_t)first * GUARD_META_SIZE;
	uint64_t page = pages->pool / GUARD_PAGE + (uint64_t)first * OF_PLACE;
	struct guard_meta metas[AT_ONCE];
	uint32_t count = MIN(pages->count - first, AT_ONCE);
	size_t size = count * OF_PLACE * sizeof(*words);
	const uint8_t touched = 1;
	int err;

	if (pread(pagemap, words, size, (off_t)(page * sizeof(*words))) != (ssize_t)size)
		return -ESRCH;
	err = program_memory_read(&pages->program, address, metas, count * sizeof(*metas));
	for (uint32_t i = 0; !err && i < count; i++) {
		if (!metas[i].touched &&
		    left_is_touched(words + (size_t)i * OF_PLACE, metas[i].state))
			err = program_memory_write(&pages->program,
						   address + i * sizeof(*metas) +
							   offsetof(struct guard_meta, touched),
						   &touched, sizeof(touched));
	}
	return err;
}

int guard_left_mark(const struct guard_pages *pages)
{
	_cleanup_close_ int pagemap = pagemap_open(pages->memory);
	int err = pagemap < 0 ? pagemap : 0;

	for (uint32_t first = 0; !err && first < pages->count; first += AT_ONCE)
		err = left_mark_some(pages, pagemap, first);
	return err;
}
