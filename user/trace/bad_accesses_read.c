// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/bad_accesses_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "user/base/clock.h"
#include "user/base/hash.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/pagemap.h"
#include "user/patch/guarded.h"
#include "user/trace/skeleton.h"
#include "user/trace/slot_calls.h"
#include "user/stacks/slots.h"

/* As bpf/guard.bpf.c has them. */
_Static_assert(MISUSE_OVERFLOW == 0 && MISUSE_UNDERFLOW == 1 && MISUSE_USE_AFTER_FREE == 2 &&
		       MISUSE_SLACK_OVERWRITE == 3 && MISUSE_DOUBLE_FREE == 4 &&
		       MISUSE_INVALID_FREE == 5 && MISUSE_GUARDED_KINDS == GUARD_TOUCHED_AMID,
	       "ABI");

/*
 * The touch is told before its page comes: the thread may lose its processor between the two. Later it is not
 * waited for.
 */
#define TOUCH_LOOKS    20
#define TOUCH_BREAK_NS (NS_PER_MS / 20)

struct bad_access_modes {
	struct bad_access_key key;
	enum access_mode mode;
	UT_hash_handle hh;
};

/* ---- read or written ---------------------------------------------------------------------- */

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
 * A page of the file's has been read, and no more; a page of the process's own has been written to. A fault more
 * of the same thread, seen by then, says that the first was no writing; one of another thread's says nothing. What
 * is looked at last says whether all that was of the same life.
 */
static enum access_mode touch_mode(const struct trace *trace, const struct target *target,
				   const struct guard_touch_event *event)
{
	uint64_t word = touch_wait(target->pid, event->address);
	const struct guard_block block =
		guarded_block(trace->patches, target->patched, event->place);

	if (!word || block.told != event->life ||
	    !guarded_still(target->patched, event->place, event->life))
		return ACCESS_UNKNOWN;
	if (word & PAGEMAP_FILE && word & PAGEMAP_PRESENT)
		return ACCESS_READ;
	if (block.again & GUARD_AGAIN_SAME)
		return ACCESS_READ;
	return block.again ? ACCESS_UNKNOWN : ACCESS_WRITE;
}

static struct bad_access_modes *modes_find(const struct trace *trace,
					   const struct bad_access_key *key)
{
	struct bad_access_modes *found;

	HASH_FIND(hh, trace->access_modes, key, sizeof(*key), found);
	return found;
}

void bad_accesses_touched(struct trace *trace, struct target *target,
			  const struct guard_touch_event *event)
{
	struct bad_access_modes *known;

	guarded_note_touch(target_patched(target), event);
	if (event->key.kind == GUARD_TOUCHED_AMID)
		return;
	known = modes_find(trace, &event->key);
	if (!known) {
		known = calloc(1, sizeof(*known));
		if (!known)
			return;
		known->key = event->key;
		HASH_ADD(hh, trace->access_modes, key, sizeof(known->key), known);
		if (!known->hh.tbl) {
			free(known);
			return;
		}
	}
	if (known->mode == ACCESS_UNKNOWN)
		known->mode = touch_mode(trace, target, event);
}

/* ---- snapshots ---------------------------------------------------------------------------- */

static enum access_mode access_mode_in(const struct trace *trace, const struct bad_access_key *key)
{
	const struct bad_access_modes *known;

	if (key->kind == MISUSE_SLACK_OVERWRITE)
		return ACCESS_WRITE;
	known = modes_find(trace, key);
	return known ? known->mode : ACCESS_UNKNOWN;
}

static void bad_access_fill(struct misuse *to, const struct trace *trace,
			    const struct bad_access_key *key, const struct bad_access_value *value)
{
	*to = (struct misuse){
		.finder = MISUSE_BY_GUARD,
		.kind = key->kind,
		.mode = access_mode_in(trace, key),
		.count = value->count,
		.address = value->block + (uint64_t)value->offset,
		.block = value->block,
		.size = value->size,
		.thread = value->tid,
		.value = value->value,
	};
	memcpy(to->comm, value->comm, sizeof(to->comm));
	to->comm[sizeof(to->comm) - 1] = '\0';
	slot_call_fill(&to->calls[MISUSE_CALL_ALLOC], trace, key->target_id, key->alloc_slot);
	slot_call_fill(&to->calls[MISUSE_CALL_FREE], trace, key->target_id, key->free_slot);
	slot_call_fill(&to->calls[MISUSE_CALL_NOW], trace, key->target_id, key->touch_slot);
}

int bad_accesses_read(struct trace *trace, uint32_t target_id, struct misuse **list, size_t *count)
{
	int fd = bpf_map__fd(trace->skel->maps.bad_accesses);
	struct bad_access_key key, *previous = NULL;
	size_t room = 0;

	if (!trace->options.guard.period)
		return 0;
	while (!bpf_map_get_next_key(fd, previous, &key)) {
		struct bad_access_value value;

		previous = &key;
		if (key.target_id != target_id || bpf_map_lookup_elem(fd, &key, &value) ||
		    key.kind >= MISUSE_GUARDED_KINDS)
			continue;
		if (!RESERVE_ITEM(*list, *count, room, 16))
			return -ENOMEM;
		bad_access_fill(&(*list)[(*count)++], trace, &key, &value);
	}
	misuses_sort(*list, *count);
	return 0;
}

int trace_read_bad_accesses(struct trace *trace, struct target *target, size_t named,
			    struct misuse **list, size_t *count)
{
	int err;

	*list = NULL;
	*count = 0;
	err = bad_accesses_read(trace, target->id, list, count);
	for (size_t i = 0; i < *count && i < named; i++) {
		for (int call = 0; !err && call < MISUSE_CALLS; call++) {
			struct reported_call *c = &(*list)[i].calls[call];

			if (c->known)
				err = trace_name_stack(trace, target->id, c->stack_id, &c->frames,
						       &c->frame_count);
		}
	}
	if (err) {
		free(*list);
		*list = NULL;
		*count = 0;
	}
	return err;
}

void bad_accesses_sum(struct trace *trace, struct target *only)
{
	int fd = bpf_map__fd(trace->skel->maps.bad_accesses);
	struct bad_access_key key, *previous = NULL;
	struct target *target;

	if (!trace->options.guard.period)
		return;
	for (target = only ?: trace->targets; target; target = only ? NULL : target->hh.next)
		memset(target->bad_accesses, 0, sizeof(target->bad_accesses));
	while (!bpf_map_get_next_key(fd, previous, &key)) {
		struct bad_access_value value;

		previous = &key;
		if (only)
			target = key.target_id == only->id ? only : NULL;
		else
			target = target_by_id(trace, key.target_id);
		if (target && key.kind < MISUSE_GUARDED_KINDS &&
		    !bpf_map_lookup_elem(fd, &key, &value))
			target->bad_accesses[key.kind] += value.count;
	}
}

void trace_read_guards(struct trace *trace, struct target *target, struct guard_figures *out)
{
	*out = (struct guard_figures){0};
	guarded_read(trace->patches, target_patched(target), &out->state);
	memcpy(out->bad_accesses, target->bad_accesses, sizeof(out->bad_accesses));
}

void bad_accesses_release_swept(struct trace *trace)
{
	struct bad_access_modes *modes, *next_modes;

	if (!trace->options.guard.period)
		return;
	slots_delete_swept(trace->slots, bpf_map__fd(trace->skel->maps.bad_accesses));
	HASH_ITER (hh, trace->access_modes, modes, next_modes) {
		if (!slots_target_swept(trace->slots, modes->key.target_id))
			continue;
		HASH_DEL(trace->access_modes, modes);
		free(modes);
	}
}

void bad_accesses_free(struct trace *trace)
{
	struct bad_access_modes *modes, *next;

	HASH_ITER (hh, trace->access_modes, modes, next) {
		HASH_DEL(trace->access_modes, modes);
		free(modes);
	}
}
