// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A snapshot with all that reachability needs. While the target stands still there are two things
 * to do, each in a thread of its own: the live table is copied out of the kernel, and the target's
 * memory is read. All that can be done before or after is done before or after; with
 * --snapshot=fork that is both of them.
 */
#include "user/trace/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/trace/exit_frames.h"

/* How long threads may take to stop, of all that the target may be paused. */
#define STOP_SHARE 2

/* Between two looks at threads that were left asleep. */
#define SLEEPERS_NS NS_PER_MS

/* How long a process that is ending is held: until all has been read, unless something is wrong. */
#define HELD_NS (60 * NS_PER_S)

/* linux/pidfd.h of 6.9: of a thread that is not its process's first. */
#define PIDFD_THREAD O_EXCL

int capture_refuse(struct capture *c, int err, const char *why)
{
	struct verdict *v = &c->snapshot->verdict;

	v->state = VERDICT_REFUSED;
	return refuse(v->reason, err, "%s", why);
}

/* ---- while it stands still ---------------------------------------------------------------- */

/* Is the pause over? Ends it when it is due. */
static bool is_late(struct capture *c)
{
	if (!c->pause_ns && monotonic_ns() > c->deadline_ns) {
		c->pause_ns = stop_end(c->stop);
		stop_run_first(false);
	}
	return c->pause_ns != 0;
}

static void look_at_sleepers(struct capture *c)
{
	c->disturbed = !stop_undisturbed(c->stop);
	c->looked_ns = monotonic_ns();
}

void capture_mind_pause(void *ctx)
{
	struct capture *c = ctx;

	if (!c->stop || c->copy_resident)
		return;
	if (is_late(c))
		c->snapshot->verdict.approximate = true;
	else if (!c->disturbed && monotonic_ns() - c->looked_ns > SLEEPERS_NS)
		look_at_sleepers(c);
}

/*
 * Resizes under way: their blocks are out of the map, and count as live until the outcome is known.
 */
static void add_resized(struct capture *c, const struct thread_state *thread)
{
	for (uint32_t i = 0; i < thread->depth && i < ABI_MAX_PENDING; i++) {
		const struct pending *p = &thread->pending[i];

		if (p->op != OP_REALLOC || p->old_slot == ABI_NO_SLOT ||
		    p->target_id != c->target->id || c->live.count == c->live.room)
			continue;
		c->live.entries[c->live.count++] = (struct live_entry){
			p->old_address, {p->old_size, p->old_slot, p->old_time}};
	}
}

/* Where the kernel keeps it with the thread, it is asked for by a descriptor of the thread. */
static int read_thread(const struct capture *c, pid_t tid, struct thread_state *out)
{
	const struct memleakbpf *skel = c->trace->skel;
	int fd = -1, err = -ENOENT;

	if (c->trace->options.task_storage) {
		fd = (int)syscall(SYS_pidfd_open, tid, tid == c->target->pid ? 0 : PIDFD_THREAD);
		if (fd >= 0)
			err = bpf_map_lookup_elem(bpf_map__fd(skel->maps.thread_storage), &fd, out);
	}
	if (fd >= 0)
		close(fd);
	return err ? bpf_map_lookup_elem(bpf_map__fd(skel->maps.threads), &tid, out) : 0;
}

static void take_resized(struct capture *c)
{
	struct thread_state *thread = calloc(1, sizeof(*thread));

	for (size_t i = 0; thread && i < stop_thread_count(c->stop); i++) {
		if (!read_thread(c, stop_thread_at(c->stop, i)->tid, thread))
			add_resized(c, thread);
	}
	free(thread);
	c->resized = c->live.count;
}

static void *read_live(void *arg)
{
	struct capture *c = arg;
	const struct memleakbpf *skel = c->trace->skel;

	c->live_err = live_table_read(&c->live, bpf_map__fd(skel->maps.live), c->target->id);
	c->live_ns = monotonic_ns() - c->stopped_ns;
	return NULL;
}

/* Between the last event that we have handled and the stop it may have become another program. */
static bool is_still_the_target(struct capture *c)
{
	uint32_t tgid = (uint32_t)c->target->pid;
	struct target_info info;

	if (bpf_map_lookup_elem(bpf_map__fd(c->trace->skel->maps.targets), &tgid, &info) ||
	    info.id != c->target->id)
		return false;
	c->leaver = (pid_t)info.leaver;
	return true;
}

static int take_threads(struct capture *c)
{
	size_t n = stop_thread_count(c->stop);

	c->memory->threads = calloc(n + 1, sizeof(*c->memory->threads));
	if (!c->memory->threads)
		return capture_refuse(c, -ENOMEM, "no memory for its registers");
	for (size_t i = 0; i < n; i++) {
		const struct stop_thread *from = stop_thread_at(c->stop, i);
		struct memory_thread *to = &c->memory->threads[c->memory->thread_count];

		if (!from->words)
			continue;
		to->words = malloc(from->word_count * sizeof(*to->words));
		if (!to->words)
			return capture_refuse(c, -ENOMEM, "no memory for its registers");
		memcpy(to->words, from->words, from->word_count * sizeof(*to->words));
		to->word_count = from->word_count;
		to->tid = from->tid;
		to->sp = from->sp;
		to->tls = from->tls;
		c->memory->thread_count++;
	}
	return 0;
}

/* The counters of the moment of the stop in place of those from before it. */
static int take_counters(struct capture *c)
{
	const struct verdict verdict = c->snapshot->verdict;
	struct snapshot *now;
	int err = reader_snapshot(c->trace, c->target, false, &now);

	if (err)
		return err;
	now->interval_ns =
		c->snapshot->interval_ns ? now->interval_ns + c->snapshot->interval_ns : 0;
	now->verdict = verdict;
	snapshot_free(c->snapshot);
	c->snapshot = now;
	return 0;
}

static int start_live_reader(struct capture *c)
{
	c->live_started = !pthread_create(&c->live_reader, NULL, read_live, c);
	return c->live_started ? 0
			       : capture_refuse(c, -EAGAIN, "no thread to read its live blocks");
}

static int read_stopped(struct capture *c)
{
	int err = start_live_reader(c);

	if (err)
		return err;
	err = capture_memory(c);
	c->memory_ns = monotonic_ns() - c->stopped_ns;
	/*
	 * The table is what the verdict is about: if the pause is over before it has been read,
	 * blocks come and go under it.
	 */
	if (!is_late(c)) {
		const struct timespec until = ns_timespec(c->deadline_ns);

		c->live_started =
			pthread_clockjoin_np(c->live_reader, NULL, CLOCK_MONOTONIC, &until) != 0;
	}
	if (c->live_started)
		c->snapshot->verdict.approximate = true;
	/* Once more: until now all that was left asleep must have slept. */
	if (!c->pause_ns && !c->disturbed)
		look_at_sleepers(c);
	return err;
}

/* The pause ends in the middle of it. */
static int read_copied(struct capture *c)
{
	int err = capture_memory_not_copied(c);

	capture_go_on(c);
	stop_run_first(false);
	err = err ?: start_live_reader(c);
	err = err ?: capture_memory_copied(c);
	c->memory_ns = monotonic_ns() - c->stopped_ns;
	if (c->live_started)
		pthread_join(c->live_reader, NULL);
	c->live_started = false;
	if (capture_turn_back(c))
		err = err ?: capture_refuse(c, -ENOMEM, "no memory for its live blocks");
	return err;
}

static int copy_once(struct capture *c)
{
	int err;

	if (!is_still_the_target(c))
		return capture_refuse(c, -ESRCH, "it has become another program, or has ended");
	err = take_counters(c);
	if (err)
		return capture_refuse(c, err, "no memory for its counters");
	take_resized(c);
	if (c->by_copy && !capture_make_copy(c))
		return read_copied(c);
	return read_stopped(c);
}

/*
 * A thread that was left asleep may wake up at any moment. Then all of them are stopped, and all is
 * read anew, within the same pause.
 */
static int copy_stopped(struct capture *c)
{
	char why[REASON_MAX];
	int err = copy_once(c);

	if (!c->disturbed)
		return err;
	log_debug("pause of %d: a thread that had been left asleep woke up after %.1f ms; all are "
		  "stopped, and all is read again",
		  (int)c->target->pid,
		  (double)(monotonic_ns() - stop_start_ns(c->stop)) / NS_PER_MS);
	if (c->live_started)
		pthread_join(c->live_reader, NULL);
	c->live_started = c->disturbed = false;
	/* Is the pause over, the rest of it is as always: it is read while the process runs. */
	err = c->pause_ns ? 0 : stop_sleepers_too(c->stop, why);
	if (err)
		return capture_refuse(c, err, why);
	c->live.count = c->resized = 0;
	capture_memory_again(c);
	c->snapshot->verdict = (struct verdict){0};
	return copy_once(c);
}

/* ---- afterwards --------------------------------------------------------------------------- */

static void note_age(const struct capture *c, struct stack *stack, const struct heap_block *block,
		     uint64_t age_ns)
{
	if (age_ns > stack->oldest_ns)
		stack->oldest_ns = age_ns;
	if (c->trace->options.older_ns && age_ns >= c->trace->options.older_ns) {
		double weight = heap_image_weight(block->size, c->trace->options.sample_bytes);

		stack->older.bytes += (uint64_t)((double)block->size * weight);
		stack->older.count += (uint64_t)(weight + 0.5);
	}
}

static int take_blocks(struct capture *c)
{
	struct snapshot *s = c->snapshot;
	uint32_t *by_slot, slots;
	struct live_clock clock;

	if (c->live_err)
		return capture_refuse(c, c->live_err,
				      "its live blocks cannot be read from the kernel");
	by_slot = reader_stacks_by_slot(c->trace, s, &slots);
	if (reader_clock(c->trace, &clock))
		clock.tick_ns = 0; /* no ages on this kernel */
	c->image->blocks = calloc(c->live.count + 1, sizeof(*c->image->blocks));
	if (!by_slot || !c->image->blocks) {
		free(by_slot);
		return capture_refuse(c, -ENOMEM, "no memory for its live blocks");
	}
	for (size_t i = 0; c->trace->options.older_ns && i < s->stack_count; i++)
		s->stacks[i].older = (struct amount){0};
	for (size_t i = 0; i < c->live.count; i++) {
		const struct live_entry *entry = &c->live.entries[i];
		struct heap_block *block = &c->image->blocks[c->image->block_count++];
		uint64_t age_ns = live_age_ns(&clock, entry->value.time);

		block->address = entry->address;
		block->size = entry->value.size;
		block->stack =
			entry->value.slot < slots ? by_slot[entry->value.slot] : HEAP_NO_STACK;
		block->age_ms = age_ns / NS_PER_MS < UINT32_MAX ? (uint32_t)(age_ns / NS_PER_MS)
								: UINT32_MAX;
		if (block->stack != HEAP_NO_STACK)
			note_age(c, &s->stacks[block->stack], block, age_ns);
	}
	free(by_slot);
	return 0;
}

static bool all_known(const struct capture *c)
{
	const struct trace_options *o = &c->trace->options;

	if (!c->target->whole || o->sample_bytes || o->min_size || o->max_size != UINT64_MAX ||
	    o->providers.object)
		return false;
	for (int i = 0; i < LOST_CAUSES; i++) {
		if (c->snapshot->lost[i])
			return false;
	}
	return true;
}

static int capture(struct capture *c, uint64_t max_pause_ns)
{
	char why[REASON_MAX];
	bool held = c->target->hold != NULL;
	uint64_t started, reserved;
	int err = resident_open(c->target->pid, &c->resident);

	/* Its file in /proc is readable for its owner alone, ptrace or not. */
	if (err == -EACCES)
		return capture_refuse(c, err,
				      "/proc/PID/pagemap may not be read: it is another user's, "
				      "and CAP_DAC_READ_SEARCH is missing");
	if (err)
		return capture_refuse(c, err, "its memory cannot be looked at");
	c->memory = memory_image_new();
	if (!c->memory)
		return capture_refuse(c, -ENOMEM, "no memory");
	started = monotonic_ns();
	err = capture_reserve(c);
	if (err)
		return err;
	capture_prepare_copy(c);
	reserved = monotonic_ns();
	if (held) {
		/* It is at its end: nothing waits for it but that. */
		c->stop = TAKE_PTR(c->target->hold);
		c->deadline_ns = monotonic_ns() + HELD_NS;
	} else {
		/* A copy is made by one of its threads, which is stopped for that. */
		err = stop_begin(c->target->pid, max_pause_ns / STOP_SHARE,
				 c->by_copy ? NULL : sleepers_for_stop(c->trace->sleepers),
				 &c->stop, why);
		if (err)
			return capture_refuse(c, err, why);
		c->deadline_ns = stop_start_ns(c->stop) + max_pause_ns;
	}
	c->stopped_ns = monotonic_ns();
	stop_run_first(!held);
	err = copy_stopped(c);
	c->pause_ns = stop_end(c->stop);
	stop_run_first(false);
	if (c->live_started)
		pthread_join(c->live_reader, NULL);
	c->snapshot->verdict.pause_ns = c->pause_ns;
	if (c->copy)
		log_debug("pause of %d: %.1f ms of it for the copy, process %d",
			  (int)c->target->pid, (double)c->copy_ns / NS_PER_MS, (int)c->copy);
	log_debug("pause of %d: after %.1f ms to get ready, %.1f ms to stop %zu threads (%zu "
		  "left asleep), %.1f ms to copy %zu MiB, %.1f ms to "
		  "copy %zu live blocks",
		  (int)c->target->pid, (double)(reserved - started) / NS_PER_MS,
		  (double)(c->stopped_ns - stop_start_ns(c->stop)) / NS_PER_MS,
		  stop_thread_count(c->stop), stop_asleep_count(c->stop),
		  (double)c->memory_ns / NS_PER_MS, (size_t)(c->snapshot->verdict.read_bytes >> 20),
		  (double)c->live_ns / NS_PER_MS, c->live.count);
	if (!err)
		err = take_threads(c);
	if (err)
		return err;
	memory_image_finish(c->memory);
	c->image = heap_image_new(c->memory);
	if (!c->image)
		return capture_refuse(c, -ENOMEM, "no memory");
	c->memory = NULL;
	err = take_blocks(c);
	if (err)
		return err;
	if (held && exit_frames_leave_out(c->trace, c->target, c->leaver, c->image))
		return capture_refuse(c, -ENOMEM, "no memory for what its end leaves behind");
	c->image->all_known = all_known(c);
	c->image->sample_bytes = c->trace->options.sample_bytes;
	heap_image_finish(c->image);
	c->snapshot->verdict.state = VERDICT_TAKEN;
	return 0;
}

int trace_capture(struct trace *trace, struct target *target, uint64_t max_pause_ns,
		  struct snapshot **out, struct heap_image **image)
{
	struct capture c = {.trace = trace, .target = target};
	int err = trace_snapshot(trace, target, &c.snapshot);

	*image = NULL;
	if (err)
		return err;
	if (target->ended)
		err = capture_refuse(&c, -ESRCH, "it has ended, and its memory with it");
	else
		err = capture(&c, max_pause_ns);
	stop_free(c.stop);
	resident_close(c.resident);
	resident_close(c.copy_resident);
	maps_free(c.copy_maps);
	live_table_release(&c.live);
	free(c.runs);
	memory_image_free(c.memory);
	if (err)
		heap_image_free(c.image);
	else
		*image = c.image;
	*out = c.snapshot;
	return 0;
}
