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
#include "user/process/cgroup.h"
#include "user/freeze/forkcopy.h"
#include "user/process/memory.h"
#include "user/process/proc.h"

/* A tick is at most 10 ms. */
#define TICK_WAIT_NS (20 * NS_PER_MS)

/* How long process 1, or a subreaper, may take to bury the copy of an earlier time. */
#define BURIAL_NS (10 * NS_PER_S)

static int say(struct capture *c, int err, const char *why)
{
	c->by_copy = false;
	/* Once aloud: it would be the same at each snapshot. */
	log_msg(c->target->copy_refused ? LOG_DEBUG : LOG_WARN,
		"process %d stands still while it is read, --snapshot=fork is not possible: %s",
		(int)c->target->pid, why);
	c->target->copy_refused = true;
	return err;
}

/* What it writes while the copy lives takes new pages. */
static bool memory_is_left(const struct capture *c)
{
	struct cgroup *cgroup = calloc(1, sizeof(*cgroup));
	uint64_t left = UINT64_MAX;
	bool enough = !machine_memory_left(&left) && left / 4 * 3 >= 2 * c->measured;

	if (enough && cgroup && !cgroup_read(c->target->pid, cgroup) &&
	    !cgroup_memory_left(cgroup, &left))
		enough = left >= c->measured;
	free(cgroup);
	return enough;
}

/* The copies of earlier times must not pile up as zombies. */
static bool are_buried(struct target *target)
{
	struct proc_stat stat;

	if (!target->copy_made_ns || proc_stat(target->copy_watched, &stat) || stat.state != 'Z') {
		target->copy_made_ns = 0;
		return true;
	}
	return monotonic_ns() - target->copy_made_ns < BURIAL_NS;
}

void capture_prepare_copy(struct capture *c)
{
	char why[REASON_MAX];

	c->by_copy = c->trace->options.copies && !c->target->hold;
	if (!c->by_copy)
		return;
	if (!memory_is_left(c))
		say(c, 0, "there is no memory left for what it writes meanwhile");
	else if (!are_buried(c->target))
		say(c, 0,
		    "who inherits its orphans (process 1 of its container, or a subreaper) does "
		    "not wait for them");
	else if (forkcopy_prepare(c->target->pid, &c->code, why))
		say(c, 0, why);
}

int capture_make_copy(struct capture *c)
{
	struct shared *shared = &c->trace->skel->bss->shared;
	uint64_t start = monotonic_ns();
	char why[REASON_MAX];
	struct live_clock clock;
	int err = reader_clock(c->trace, &clock);

	if (err)
		return say(c, err, "the kernel does not tell its time");
	c->ticks = clock.now_ticks;
	__atomic_store_n(&shared->copied_pid, (uint32_t)c->target->pid, __ATOMIC_SEQ_CST);
	err = stop_copy(c->stop, &c->code, c->deadline_ns, &c->copy, why);
	__atomic_store_n(&shared->copied_pid, 0, __ATOMIC_SEQ_CST);
	if (err)
		return say(c, err, why);
	if (!c->target->copy_made_ns) {
		c->target->copy_made_ns = monotonic_ns();
		c->target->copy_watched = c->copy;
	}
	c->copy_ns = monotonic_ns() - start;
	return 0;
}

void capture_go_on(struct capture *c)
{
	struct shared *shared = &c->trace->skel->bss->shared;
	const struct timespec pause = {.tv_nsec = 100000};
	uint64_t start = monotonic_ns();
	struct live_clock clock;

	shared->notes_lost = 0;
	__atomic_store_n(&shared->noted_target, c->target->id, __ATOMIC_SEQ_CST);
	/*
	 * What is allocated from now on must have a later time. The fork has nearly always taken
	 * longer than a tick.
	 */
	while (!reader_clock(c->trace, &clock) && clock.now_ticks == c->ticks &&
	       monotonic_ns() - start < TICK_WAIT_NS)
		nanosleep(&pause, NULL);
	c->pause_ns = stop_end(c->stop);
}

struct notes {
	const struct capture *c;
	struct live_entry *entries;
	size_t count, room;
	bool failed;
};

static bool is_later(const struct capture *c, const struct live_value *value)
{
	return (int32_t)(value->time - c->ticks) > 0;
}

static void add_note(struct notes *n, const struct live_entry *entry)
{
	if (!RESERVE_ITEM(n->entries, n->count, n->room, 4096)) {
		n->failed = true;
		return;
	}
	n->entries[n->count++] = *entry;
}

static int take_note(void *ctx, void *data, size_t size)
{
	const struct noted_free *note = data;
	struct notes *n = ctx;

	if (size >= sizeof(*note) && !is_later(n->c, &note->value))
		add_note(n, &(struct live_entry){note->address, note->value});
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct live_entry *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/*
 * A block may be in the table and in the notes, and twice in these (its realloc was given up, and
 * it freed then).
 */
static int merge(struct live_table *table, struct notes *n)
{
	size_t kept = 0, notes = 0;

	if (n->count)
		qsort(n->entries, n->count, sizeof(*n->entries), by_address);
	for (size_t i = 0; i < n->count; i++) {
		if (!notes || n->entries[notes - 1].address != n->entries[i].address)
			n->entries[notes++] = n->entries[i];
	}
	/* Those in the middle of a resize came first, and are among the notes. */
	for (size_t i = n->c->resized; i < table->count; i++) {
		const struct live_entry *entry = &table->entries[i];

		if (is_later(n->c, &entry->value) ||
		    (notes && bsearch(entry, n->entries, notes, sizeof(*n->entries), by_address)))
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
		add_note(&notes, &c->live.entries[i]);
	ring = ring_buffer__new(bpf_map__fd(c->trace->skel->maps.noted_frees), take_note, &notes,
				NULL);
	if (ring && ring_buffer__consume(ring) >= 0 && !notes.failed)
		err = merge(&c->live, &notes);
	ring_buffer__free(ring);
	free(notes.entries);
	/* Blocks are missing then that were there. */
	if (__atomic_load_n(&shared->notes_lost, __ATOMIC_SEQ_CST))
		c->snapshot->verdict.approximate = true;
	return err;
}
