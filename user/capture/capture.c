// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/scope_abi.h"
#include "bpf/thread.h"
#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/blocks/blocks.h"
#include "user/capture/capture_internal.h"
#include "user/capture/sleepers.h"
#include "user/heap/heap_image.h"
#include "user/model/snapshot.h"
#include "user/stacks/slots.h"

/* From linux/pidfd.h of 6.9: the descriptor is of a thread, which need not be its process's first. */
#define PIDFD_THREAD O_EXCL

/* ---- while it stands still ---------------------------------------------------------------- */

/* A block that is being resized is not in the map. It counts as live until the outcome is known. */
static void capture_add_resized(struct capture *c, const struct thread_state *thread)
{
	for (uint32_t i = 0; i < thread->depth && i < ABI_MAX_PENDING; i++) {
		const struct pending *p = &thread->pending[i];

		if (p->op != OP_REALLOC || p->old.slot == ABI_NO_SLOT ||
		    p->target_id != c->target->id || c->live.count == c->live.room)
			continue;
		c->live.entries[c->live.count++] = (struct live_entry){p->old_address, p->old};
	}
}

/* The state of a thread that the kernel keeps with the thread is read by the thread's descriptor. */
static int capture_read_thread(const struct capture *c, pid_t tid, struct thread_state *out)
{
	const struct captures_maps *maps = &c->all->maps;
	int fd = -1, err = -ENOENT;

	if (c->all->options.task_storage) {
		fd = (int)syscall(SYS_pidfd_open, tid, tid == c->target->pid ? 0 : PIDFD_THREAD);
		if (fd >= 0)
			err = bpf_map_lookup_elem(bpf_map__fd(maps->thread_storage), &fd, out);
	}
	if (fd >= 0)
		close(fd);
	return err ? bpf_map_lookup_elem(bpf_map__fd(maps->threads), &tid, out) : 0;
}

static void capture_take_resized(struct capture *c, const struct stop *stop)
{
	struct thread_state *thread = calloc(1, sizeof(*thread));

	for (size_t i = 0; thread && i < stop_thread_count(stop); i++) {
		if (!capture_read_thread(c, stop_thread_at(stop, i)->tid, thread))
			capture_add_resized(c, thread);
	}
	free(thread);
	c->resized = c->live.count;
}

static void *capture_read_live(void *arg)
{
	struct capture *c = arg;

	c->live_err = live_table_read(&c->live, blocks_map(c->all->blocks), c->target->id);
	c->live_ns = monotonic_ns() - c->stopped_ns;
	return NULL;
}

/* Between the last event that we have handled and the stop it may have become another program. */
static bool capture_is_still_the_target(struct capture *c)
{
	uint32_t tgid = (uint32_t)c->target->pid;
	struct target_info info;

	if (bpf_map_lookup_elem(bpf_map__fd(c->all->maps.targets), &tgid, &info) ||
	    info.id != c->target->id)
		return false;
	c->leaver = (pid_t)info.leaver;
	return true;
}

static int capture_stopped(void *ctx, const struct stop *stop, char reason[static REASON_MAX])
{
	struct capture *c = ctx;
	int err;

	if (!c->stopped_ns)
		c->stopped_ns = monotonic_ns();
	if (!capture_is_still_the_target(c))
		return refuse(reason, -ESRCH, "it has become another program, or has ended");
	err = c->target->counters(c->target->ctx, &c->snapshot);
	if (err)
		return refuse(reason, err, "no memory for its counters");
	capture_take_resized(c, stop);
	return c->target->stopped(c->target->ctx, reason);
}

static int capture_reading(void *ctx, char reason[static REASON_MAX])
{
	struct capture *c = ctx;

	c->live_started = !pthread_create(&c->live_reader, NULL, capture_read_live, c);
	return c->live_started ? 0 : refuse(reason, -EAGAIN, "no thread to read its live blocks");
}

static void capture_join(struct capture *c)
{
	if (c->live_started)
		pthread_join(c->live_reader, NULL);
	c->live_started = false;
}

static int capture_read(void *ctx, uint64_t until_ns, char reason[static REASON_MAX])
{
	struct capture *c = ctx;

	if (c->released) {
		capture_join(c);
		return capture_turn_back(c)
			       ? refuse(reason, -ENOMEM, "no memory for its live blocks")
			       : 0;
	}
	/*
	 * The verdict is about the blocks of the table. Blocks come and go if the pause is over before
	 * the table has been read.
	 */
	if (c->live_started && until_ns) {
		const struct timespec until = ns_timespec(until_ns);

		c->live_started =
			pthread_clockjoin_np(c->live_reader, NULL, CLOCK_MONOTONIC, &until) != 0;
	}
	c->approximate |= c->live_started;
	return 0;
}

static void capture_again(void *ctx)
{
	struct capture *c = ctx;

	capture_join(c);
	c->live.count = c->resized = 0;
	c->approximate = false;
}

static const struct freeze_hooks capture_hooks = {
	.stopped = capture_stopped,
	.forking = capture_forking,
	.forked = capture_forked,
	.releasing = capture_releasing,
	.reading = capture_reading,
	.read = capture_read,
	.again = capture_again,
};

/* ---- afterwards --------------------------------------------------------------------------- */

static void capture_note_age(const struct capture *c, struct stack *stack,
			     const struct heap_block *block, double weight, uint64_t age_ns)
{
	if (age_ns > stack->oldest_ns)
		stack->oldest_ns = age_ns;
	if (c->all->options.older_ns && age_ns >= c->all->options.older_ns) {
		stack->older.bytes += (uint64_t)((double)block->size * weight);
		stack->older.count += (uint64_t)(weight + 0.5);
	}
}

/* The number of blocks of its size that one stands for. */
static double capture_weigh(struct capture *c, const struct live_entry *entry)
{
	double weight = slots_weight_of_block(c->all->slots, &entry->value);

	/* Arenas are weighed too, under sampling. */
	if (!scope_mark_weighed(entry->value.weighed) || !c->image->weights)
		return weight;
	c->image->weights[c->image->weight_count++] =
		(struct heap_weight){.address = entry->address, .weight = weight};
	return weight;
}

/* `stack`: the index of the block's stack in the snapshot; HEAP_NO_STACK: none. 0 or -ENOMEM. */
static int capture_take_block(struct capture *c, const struct live_entry *entry, uint32_t stack,
			      uint64_t age_ns)
{
	uint64_t age_ms = age_ns / NS_PER_MS;
	const struct heap_block block = {
		.address = entry->address,
		.size = entry->value.size,
		.stack = stack,
		.age_ms = age_ms < UINT32_MAX ? (uint32_t)age_ms : UINT32_MAX,
	};
	bool arena = stack != HEAP_NO_STACK &&
		     c->all->slots->infos[slots_of_block(c->all->slots, &entry->value)].arena;
	double weight = arena ? 1 : capture_weigh(c, entry);

	if (stack != HEAP_NO_STACK)
		capture_note_age(c, &c->snapshot->stacks[stack], &block, weight, age_ns);
	if (arena)
		return heap_image_add_arena(c->image, &block);
	c->image->entered[c->image->block_count++] = block;
	return 0;
}

static int capture_take_blocks(struct capture *c, char reason[static REASON_MAX])
{
	struct snapshot *s = c->snapshot;
	uint32_t *by_slot, slots;
	struct live_clock clock;
	int err = 0;

	if (c->live_err)
		return refuse(reason, c->live_err,
			      "its live blocks cannot be read from the kernel");
	s->ages_unread = 0;
	by_slot = c->target->stacks_by_slot(c->target->ctx, s, &slots);
	if (blocks_clock(c->all->blocks, &clock))
		clock.tick_ns = 0; /* no ages on this kernel */
	c->image->entered = calloc(c->live.count + 1, sizeof(*c->image->entered));
	if (c->target->tells)
		c->image->weights = calloc(c->live.count + 1, sizeof(*c->image->weights));
	if (!by_slot || !c->image->entered || (c->target->tells && !c->image->weights)) {
		free(by_slot);
		return refuse(reason, -ENOMEM, "no memory for its live blocks");
	}
	for (size_t i = 0; c->all->options.older_ns && i < s->stack_count; i++)
		s->stacks[i].older = (struct amount){0};
	for (size_t i = 0; !err && i < c->live.count; i++) {
		const struct live_entry *entry = &c->live.entries[i];
		uint32_t slot = slots_of_block(c->all->slots, &entry->value);

		err = capture_take_block(c, entry, slot < slots ? by_slot[slot] : HEAP_NO_STACK,
					 live_age_ns(&clock, entry->value.time));
	}
	free(by_slot);
	return err ? refuse(reason, err, "no memory for its live blocks") : 0;
}

static bool capture_all_known(const struct capture *c)
{
	if (!c->target->all_counted)
		return false;
	for (int i = 0; i < LOST_CAUSES; i++) {
		if (c->snapshot->lost[i])
			return false;
	}
	return true;
}

/*
 * The iterator is loaded when a first process is stopped, which most traces never do. NULL: the
 * kernel has none.
 */
static const struct stop_sleepers *capture_sleepers(struct captures *all)
{
	if (all->options.sleepers && !all->sleepers && sleepers_new(&all->sleepers)) {
		log_debug("threads that sleep are woken when a verdict stops them: no iterator "
			  "over them");
		all->options.sleepers = false;
	}
	return sleepers_for_stop(all->sleepers);
}

static int capture_stop_and_read(struct capture *c, uint64_t max_pause_ns,
				 char reason[static REASON_MAX])
{
	const struct freeze_account *a = freeze_account(c->freeze);
	struct freeze_hooks hooks = capture_hooks;
	struct verdict *v;
	int err;

	hooks.ctx = c;
	if (*c->hold)
		err = freeze_run_held(c->freeze, TAKE_PTR(*c->hold), &hooks, reason);
	else
		err = freeze_run(c->freeze, max_pause_ns, capture_sleepers(c->all), &hooks, reason);
	capture_join(c);
	/* The counters of the moment came with a snapshot of their own. */
	v = &c->snapshot->verdict;
	v->pause_ns = a->pause_ns;
	v->read_bytes = a->read_bytes;
	v->unread_bytes = a->unread_bytes;
	v->approximate = a->approximate || c->approximate;
	return err;
}

static void capture_log_pause(const struct capture *c, uint64_t ready_ns)
{
	const struct freeze_account *a = freeze_account(c->freeze);

	if (!a->threads)
		return;
	if (a->fork)
		log_debug("pause of %d: %.1f ms of it for the copy, process %d",
			  (int)c->target->pid, (double)a->fork_ns / NS_PER_MS, (int)a->fork);
	log_debug("pause of %d: after %.1f ms to get ready, %.1f ms to stop %zu threads (%zu "
		  "left asleep), %.1f ms to copy %zu MiB, %.1f ms to "
		  "copy %zu live blocks",
		  (int)c->target->pid, (double)ready_ns / NS_PER_MS, (double)a->stop_ns / NS_PER_MS,
		  a->threads, a->asleep, (double)a->memory_ns / NS_PER_MS,
		  (size_t)(a->read_bytes >> 20), (double)c->live_ns / NS_PER_MS, c->live.count);
}

static int capture_all(struct capture *c, uint64_t max_pause_ns, char reason[static REASON_MAX])
{
	uint64_t started = monotonic_ns(), ready_ns;
	bool held = *c->hold != NULL;
	struct memory_image *memory;
	int err = freeze_new(c->target->pid, &c->freeze, reason);

	if (err)
		return err;
	if (live_table_reserve(&c->live, blocks_count(c->all->blocks)))
		return refuse(reason, -ENOMEM, "no memory for its live blocks");
	capture_prepare_copy(c);
	ready_ns = monotonic_ns() - started;
	err = capture_stop_and_read(c, max_pause_ns, reason);
	capture_log_pause(c, ready_ns);
	if (err)
		return err;
	memory = freeze_take_memory(c->freeze);
	c->image = heap_image_new(memory);
	if (!c->image) {
		memory_image_free(memory);
		return refuse(reason, -ENOMEM, "no memory");
	}
	err = capture_take_blocks(c, reason);
	if (err)
		return err;
	if (held && c->target->leave_out(c->target->ctx, c->leaver, c->image))
		return refuse(reason, -ENOMEM, "no memory for what its end leaves behind");
	c->image->all_known = capture_all_known(c);
	c->image->sample_bytes = c->snapshot->sample_bytes;
	heap_image_finish(c->image);
	c->snapshot->verdict.state = VERDICT_TAKEN;
	return 0;
}

int capture_take(struct captures *captures, const struct capture_target *target, struct stop **hold,
		 uint64_t max_pause_ns, struct snapshot **snapshot, struct heap_image **image,
		 char reason[static REASON_MAX])
{
	struct capture c = {.all = captures, .target = target, .hold = hold, .snapshot = *snapshot};
	int err = 0;

	if (!*target->kept)
		*target->kept = calloc(1, sizeof(**target->kept));
	c.kept = *target->kept;
	if (!c.kept)
		err = refuse(reason, -ENOMEM, "no memory");
	err = err ?: capture_all(&c, max_pause_ns, reason);
	freeze_free(c.freeze);
	live_table_release(&c.live);
	if (err)
		heap_image_free(c.image);
	else
		*image = c.image;
	*snapshot = c.snapshot;
	return err;
}

void captured_free(struct captured *captured)
{
	free(captured);
}

int captures_new(const struct captures_options *options, const struct captures_maps *maps,
		 struct blocks *blocks, const struct slots *slots, struct shared *shared,
		 struct captures **out)
{
	struct captures *all = calloc(1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	*all = (struct captures){*options, *maps, blocks, slots, shared, NULL};
	*out = all;
	return 0;
}

void captures_free(struct captures *captures)
{
	if (!captures)
		return;
	sleepers_free(captures->sleepers);
	free(captures);
}
