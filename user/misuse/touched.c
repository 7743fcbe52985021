// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/hash.h"
#include "user/misuse/misuses_internal.h"
#include "user/patch/guarded.h"
#include "user/process/pagemap.h"
#include "user/stacks/slots.h"

/*
 * The programs tell a touch before its page comes, and the thread may lose its processor between the
 * two. So the page is waited for, but not for longer.
 */
#define TOUCH_LOOKS    20
#define TOUCH_BREAK_NS (NS_PER_MS / 20)

struct touched {
	struct bad_access_key key;
	enum access_mode mode;
	UT_hash_handle hh;
};

/* 0: not there (yet), or not known. */
static uint64_t touch_look(int pagemap, uint64_t address)
{
	uint64_t word = 0;

	if (pread(pagemap, &word, sizeof(word), (off_t)(address / GUARD_ABI_PAGE * sizeof(word))) !=
	    (ssize_t)sizeof(word))
		return 0;
	return word & PAGEMAP_THERE ? word : 0;
}

static uint64_t touch_wait(pid_t pid, uint64_t address)
{
	const struct timespec pause = ns_timespec(TOUCH_BREAK_NS);
	uint64_t word = 0;
	int pagemap = pagemap_open(pid);

	if (pagemap < 0)
		return 0;
	for (int i = 0; i < TOUCH_LOOKS && !word; i++) {
		if (i)
			nanosleep(&pause, NULL);
		word = touch_look(pagemap, address);
	}
	close(pagemap);
	return word;
}

/*
 * The kernel has read a page of the file's, and only that. A page of the process's own has been
 * written to. One more fault of the same thread says that the first one was no write. One of another
 * thread says nothing. The last look says whether all was of the same life of the place.
 */
static enum access_mode touch_mode(const struct misuses *misuses, pid_t pid,
				   struct patched *patched, const struct guard_touch_event *event)
{
	uint64_t word = touch_wait(pid, event->address);
	const struct guard_block block = guarded_block(misuses->patches, patched, event->place);

	if (!word || block.told != event->life ||
	    !guarded_still(patched, event->place, event->life))
		return ACCESS_UNKNOWN;
	if (word & PAGEMAP_FILE && word & PAGEMAP_PRESENT)
		return ACCESS_READ;
	if (block.again & GUARD_AGAIN_SAME)
		return ACCESS_READ;
	return block.again ? ACCESS_UNKNOWN : ACCESS_WRITE;
}

static struct touched *touched_find(const struct misuses *misuses, const struct bad_access_key *key)
{
	struct touched *found;

	HASH_FIND(hh, misuses->touched, key, sizeof(*key), found);
	return found;
}

/* NULL when out of memory. */
static struct touched *touched_get(struct misuses *misuses, const struct bad_access_key *key)
{
	struct touched *known = touched_find(misuses, key);

	if (known)
		return known;
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	known->key = *key;
	HASH_ADD(hh, misuses->touched, key, sizeof(known->key), known);
	if (known->hh.tbl)
		return known;
	free(known);
	return NULL;
}

void misuses_touched(struct misuses *misuses, pid_t pid, struct patched *patched,
		     const struct guard_touch_event *event)
{
	struct touched *known;

	guarded_note_touch(patched, event);
	if (event->key.kind == GUARD_TOUCHED_AMID)
		return;
	known = touched_get(misuses, &event->key);
	if (known && known->mode == ACCESS_UNKNOWN)
		known->mode = touch_mode(misuses, pid, patched, event);
}

enum access_mode touched_mode(const struct misuses *misuses, const struct bad_access_key *key)
{
	const struct touched *known;

	if (key->kind == MISUSE_SLACK_OVERWRITE)
		return ACCESS_WRITE;
	known = touched_find(misuses, key);
	return known ? known->mode : ACCESS_UNKNOWN;
}

void touched_release_swept(struct misuses *misuses)
{
	struct touched *touched, *next;

	HASH_ITER (hh, misuses->touched, touched, next) {
		if (!slots_target_swept(misuses->slots, touched->key.target_id))
			continue;
		HASH_DEL(misuses->touched, touched);
		free(touched);
	}
}

void touched_free(struct misuses *misuses)
{
	struct touched *touched, *next;

	HASH_ITER (hh, misuses->touched, touched, next) {
		HASH_DEL(misuses->touched, touched);
		free(touched);
	}
}
