// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * --snapshot=fork: the target is stopped only for as long as it takes to make a copy of it. Its
 * memory is then read from the copy. The table of live blocks is in the kernel and cannot be copied
 * in that time: it is read while the target goes on, and turned back to the moment of the copy.
 * Blocks that are younger have a later time; those that have been freed since are in the notes
 * (bpf/live.h).
 */
#include "user/trace/capture.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"

/* A tick is at most 10 ms. */
#define TICK_WAIT_NS (20 * NS_PER_MS)

static void capture_not_by_copy(struct capture *c, const char *why)
{
	/* Once aloud: it would be the same at each snapshot. */
	log_msg(c->target->copy_refused ? LOG_DEBUG : LOG_WARN,
		"process %d stands still while it is read, --snapshot=fork is not possible: %s",
		(int)c->target->pid, why);
	c->target->copy_refused = true;
}

void capture_prepare_copy(struct capture *c)
{
	char why[REASON_MAX];

	if (!c->trace->options.copies || c->target->hold)
		return;
	if (freeze_by_fork(c->freeze, &c->target->forks, why))
		capture_not_by_copy(c, why);
}

int capture_forking(void *ctx, char reason[static REASON_MAX])
{
	struct capture *c = ctx;
	struct shared *shared = &c->trace->skel->bss->shared;
	struct live_clock clock;
	int err = reader_clock(c->trace, &clock);

	if (err)
		return refuse(reason, err, "the kernel does not tell its time");
	c->ticks = clock.now_ticks;
	__atomic_store_n(&shared->copied_pid, (uint32_t)c->target->pid, __ATOMIC_SEQ_CST);
	return 0;
}

void capture_forked(void *ctx, int err, const char *reason)
{
	struct capture *c = ctx;
	struct shared *shared = &c->trace->skel->bss->shared;

	__atomic_store_n(&shared->copied_pid, 0, __ATOMIC_SEQ_CST);
	if (err)
		capture_not_by_copy(c, reason);
}

void capture_releasing(void *ctx)
{
	const struct timespec pause = {.tv_nsec = 100000};
	struct capture *c = ctx;
	struct shared *shared = &c->trace->skel->bss->shared;
	uint64_t start = monotonic_ns();
	struct live_clock clock;

	c->released = true;
	shared->notes_lost = 0;
	__atomic_store_n(&shared->noted_target, c->target->id, __ATOMIC_SEQ_CST);
	/*
	 * What is allocated from now on must have a later time. The fork has nearly always taken
	 * longer than a tick.
	 */
	while (!reader_clock(c->trace, &clock) && clock.now_ticks == c->ticks &&
	       monotonic_ns() - start < TICK_WAIT_NS)
		nanosleep(&pause, NULL);
}

struct notes {
	const struct capture *c;
	struct live_entry *entries;
	size_t count, room;
	bool failed;
};

static bool notes_is_later(const struct capture *c, const struct live_value *value)
{
	return (int32_t)(value->time - c->ticks) > 0;
}

static void notes_add(struct notes *n, const struct live_entry *entry)
{
	if (!RESERVE_ITEM(n->entries, n->count, n->room, 4096)) {
		n->failed = true;
		return;
	}
	n->entries[n->count++] = *entry;
}

static int notes_take(void *ctx, void *data, size_t size)
{
	const struct noted_free *note = data;
	struct notes *n = ctx;

	if (size >= sizeof(*note) && !notes_is_later(n->c, &note->value))
		notes_add(n, &(struct live_entry){note->address, note->value});
	return 0;
}

static int notes_by_address(const void *a, const void *b)
{
	const struct live_entry *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/*
 * A block may be in the table and in the notes, and twice in these (its realloc was given up, and
 * it freed then).
 */
static int notes_merge(struct live_table *table, struct notes *n)
{
	size_t kept = 0, notes = 0;

	if (n->count)
		qsort(n->entries, n->count, sizeof(*n->entries), notes_by_address);
	for (size_t i = 0; i < n->count; i++) {
		if (!notes || n->entries[notes - 1].address != n->entries[i].address)
			n->entries[notes++] = n->entries[i];
	}
	/* Those in the middle of a resize came first, and are among the notes. */
	for (size_t i = n->c->resized; i < table->count; i++) {
		const struct live_entry *entry = &table->entries[i];

		if (notes_is_later(n->c, &entry->value) ||
		    (notes &&
		     bsearch(entry, n->entries, notes, sizeof(*n->entries), notes_by_address)))
			continue;
		table->entries[kept++] = *entry;
	}
	table->count = kept;
	for (size_t i = 0; i < notes; i++) {
		if (live_table_add(table, &n->entries[i]))
			return -ENOMEM;
	}
	return 0;
}

int capture_turn_back(struct capture *c)
{
	struct shared *shared = &c->trace->skel->bss->shared;
	struct notes notes = {.c = c};
	struct ring_buffer *ring;
	int err = -ENOMEM;

	__atomic_store_n(&shared->noted_target, 0, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < c->resized; i++)
		notes_add(&notes, &c->live.entries[i]);
	ring = ring_buffer__new(bpf_map__fd(c->trace->skel->maps.noted_frees), notes_take, &notes,
				NULL);
	if (ring && ring_buffer__consume(ring) >= 0 && !notes.failed)
		err = notes_merge(&c->live, &notes);
	ring_buffer__free(ring);
	free(notes.entries);
	/* Blocks are missing then that were there. */
	if (__atomic_load_n(&shared->notes_lost, __ATOMIC_SEQ_CST))
		c->approximate = true;
	return err;
}
