// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * --snapshot=fork: the target is stopped only while a copy of it is made. Its memory is read from the
 * copy. The kernel's map of live blocks cannot be copied in that time. It is read while the target
 * goes on, and turned back to the moment of the copy. Blocks that came since have a later time.
 * Blocks that were freed since are in the notes (bpf/live.h).
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include <bpf/libbpf.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/blocks/blocks.h"
#include "user/capture/capture_internal.h"

/* A tick is at most 10 ms. */
#define TICK_WAIT_NS (20 * NS_PER_MS)

static void capture_not_by_copy(struct capture *c, const char *why)
{
	/* Aloud only once: it is the same at each snapshot. */
	log_msg(c->kept->copy_refused ? LOG_DEBUG : LOG_WARN,
		"process %d stands still while it is read, --snapshot=fork is not possible: %s",
		(int)c->target->pid, why);
	c->kept->copy_refused = true;
}

void capture_prepare_copy(struct capture *c)
{
	char why[REASON_MAX];

	if (!c->all->options.copies || *c->hold)
		return;
	if (freeze_by_fork(c->freeze, &c->kept->forks, why))
		capture_not_by_copy(c, why);
}

int capture_forking(void *ctx, char reason[static REASON_MAX])
{
	struct capture *c = ctx;
	struct shared *shared = c->all->shared;
	struct live_clock clock;
	int err = blocks_clock(c->all->blocks, &clock);

	if (err)
		return refuse(reason, err, "the kernel does not tell its time");
	c->ticks = clock.now_ticks;
	__atomic_store_n(&shared->copied_pid, (uint32_t)c->target->pid, __ATOMIC_SEQ_CST);
	return 0;
}

void capture_forked(void *ctx, int err, const char *reason)
{
	struct capture *c = ctx;
	struct shared *shared = c->all->shared;

	__atomic_store_n(&shared->copied_pid, 0, __ATOMIC_SEQ_CST);
	if (err)
		capture_not_by_copy(c, reason);
}

void capture_releasing(void *ctx)
{
	const struct timespec pause = {.tv_nsec = 100000};
	struct capture *c = ctx;
	struct shared *shared = c->all->shared;
	uint64_t start = monotonic_ns();
	struct live_clock clock;

	c->released = true;
	shared->notes_lost = 0;
	__atomic_store_n(&shared->noted_target, c->target->id, __ATOMIC_SEQ_CST);
	/*
	 * Blocks that are allocated from now on must have a later time. Nearly always the fork has
	 * taken longer than a tick.
	 */
	while (!blocks_clock(c->all->blocks, &clock) && clock.now_ticks == c->ticks &&
	       monotonic_ns() - start < TICK_WAIT_NS)
		nanosleep(&pause, NULL);
}

static int capture_take_note(void *ctx, void *data, size_t size)
{
	const struct noted_free *note = data;

	if (size >= sizeof(*note))
		live_notes_add(ctx, &(struct live_entry){note->address, note->value});
	return 0;
}

int capture_turn_back(struct capture *c)
{
	struct shared *shared = c->all->shared;
	struct live_notes notes = {.ticks = c->ticks};
	struct ring_buffer *ring;
	int err = -ENOMEM;

	__atomic_store_n(&shared->noted_target, 0, __ATOMIC_SEQ_CST);
	/* The blocks that were being resized came before the table was read. */
	for (size_t i = 0; i < c->resized; i++)
		live_notes_add(&notes, &c->live.entries[i]);
	ring = ring_buffer__new(bpf_map__fd(c->all->maps.noted_frees), capture_take_note, &notes,
				NULL);
	if (ring && ring_buffer__consume(ring) >= 0)
		err = live_table_turn_back(&c->live, &notes);
	ring_buffer__free(ring);
	live_notes_release(&notes);
	/* Then the notes lack some blocks, which were there. */
	if (__atomic_load_n(&shared->notes_lost, __ATOMIC_SEQ_CST))
		c->approximate = true;
	return err;
}
