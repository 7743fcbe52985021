// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A snapshot with all that reachability needs. While the target stands still there are two things to do, each in a thread of its own: the live
 * table is copied out of the kernel, and the target's memory is read. All that can be done before or after is done before or after.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/sys/maps.h"
#include "user/sys/memory.h"
#include "user/sys/resident.h"
#include "user/sys/stop.h"
#include "user/trace/internal.h"
#include "user/trace/live_table.h"

/* How long threads may take to stop, of all that the target may be paused. */
#define STOP_SHARE 2

/* How long a process that is ending is held: until all has been read, unless something is wrong. */
#define HELD_NS 60000000000ull

/* Read at once; between two pieces the clock is looked at. */
#define PIECE (4ull << 20)

/* What may come to be between measuring and stopping. */
#define SLACK (8ull << 20)

struct run {
	uint64_t start, end;
	const struct mapping *mapping;
};

struct capture {
	struct trace *trace;
	struct target *target;
	struct snapshot *snapshot;
	struct heap_image *image;
	struct resident *resident;
	struct stop *stop;
	uint64_t deadline_ns, pause_ns;
	uint64_t stopped_ns, memory_ns,
		live_ns; /* for -v: when all had stopped; what the two copies took */
	struct live_table live;
	pthread_t live_reader;
	int live_err;
	bool live_started, live_late; /* the table was read, in part, while the target ran */
	struct run *runs;
	size_t run_count, run_room;
	uint64_t measured;
	const struct mapping *scanned; /* which mapping runs are being found in */
};

static int refuse(struct capture *c, int err, const char *why)
{
	struct verdict *v = &c->snapshot->verdict;

	snprintf(v->reason, sizeof(v->reason), "%s", why);
	v->state = VERDICT_REFUSED;
	return err;
}

/* ---- how long ----------------------------------------------------------------------------- */

static bool late(struct capture *c)
{
	if (!c->pause_ns && trace_now_ns() > c->deadline_ns) {
		c->pause_ns = stop_end(c->stop);
		stop_run_first(false);
	}
	return c->pause_ns != 0;
}

/* A process may have so many mappings that looking through them takes longer than it may be paused. */
static void mind_pause(void *ctx)
{
	struct capture *c = ctx;

	if (c->stop && late(c))
		c->snapshot->verdict.approximate = true;
}

/* ---- which memory ------------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Devices' memory cannot be read that way; the kernel's own pages hold nothing of the program's. */
static bool is_special(const struct mapping *m)
{
	if (starts_with(m->path, "[v"))
		return true;
	return starts_with(m->path, "/dev/") && !starts_with(m->path, "/dev/shm/") &&
	       !starts_with(m->path, "/dev/zero");
}

static int measure_run(void *ctx, uint64_t start, uint64_t end)
{
	struct capture *c = ctx;

	c->measured += end - start;
	return 0;
}

static int add_run(void *ctx, uint64_t start, uint64_t end)
{
	struct capture *c = ctx;

	if (c->run_count == c->run_room) {
		size_t room = c->run_room ? 2 * c->run_room : 1024;
		struct run *grown = reallocarray(c->runs, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		c->runs = grown;
		c->run_room = room;
	}
	c->runs[c->run_count++] = (struct run){start, end, c->scanned};
	return 0;
}

/* Writable memory, and of what cannot be written (relocated tables, what a program has protected) the pages that are the process's own. */
static int scan(struct capture *c, const struct maps *maps,
		int (*fn)(void *ctx, uint64_t start, uint64_t end))
{
	int err = 0;

	for (size_t i = 0; !err && i < maps_count(maps); i++) {
		c->scanned = maps_at(maps, i);
		if (!c->scanned->read || is_special(c->scanned))
			continue;
		err = resident_scan(c->resident, c->scanned->start, c->scanned->end,
				    !c->scanned->write, fn, c);
		mind_pause(c);
	}
	return err;
}

/*
 * Memory that has been touched already: the kernel would have to find it page by page while the target waits. In huge pages, which takes a tenth
 * of the time.
 */
static void *map_touched(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, size, MADV_HUGEPAGE);
	/* Linux 5.14; where it fails the pause is longer. */
	madvise(memory, size, MADV_POPULATE_WRITE);
	return memory;
}

static int reserve_memory(struct capture *c)
{
	struct maps *maps = NULL;
	char why[VERDICT_REASON_MAX];
	uint64_t left = 0;
	int err = maps_read(c->target->pid, &maps);

	if (!err)
		err = scan(c, maps, measure_run);
	maps_free(maps);
	if (err)
		return refuse(c, err, "its memory cannot be looked at");
	c->image->data_size = c->measured + c->measured / 8 + SLACK;
	if (!machine_memory_left(&left) && left / 4 * 3 < c->image->data_size) {
		snprintf(why, sizeof(why),
			 "a copy of its %llu MiB does not fit into the %llu MiB that this machine "
			 "has left",
			 (unsigned long long)(c->measured >> 20), (unsigned long long)(left >> 20));
		return refuse(c, -ENOMEM, why);
	}
	c->image->data = map_touched(c->image->data_size);
	if (!c->image->data)
		return refuse(c, -ENOMEM, "no memory for a copy of it");
	if (live_table_reserve(&c->live, reader_live_blocks(c->trace)))
		return refuse(c, -ENOMEM, "no memory for its live blocks");
	return 0;
}

/* ---- while it stands still ---------------------------------------------------------------- */

/* Resizes under way: their blocks are out of the map, and count as live until the outcome is known. */
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

static void *read_live(void *arg)
{
	struct capture *c = arg;
	const struct memleakbpf *skel = c->trace->skel;
	struct thread_state *thread = calloc(1, sizeof(*thread));

	for (size_t i = 0; thread && i < stop_thread_count(c->stop); i++) {
		uint32_t tid = (uint32_t)stop_thread_at(c->stop, i)->tid;

		if (!bpf_map_lookup_elem(bpf_map__fd(skel->maps.threads), &tid, thread))
			add_resized(c, thread);
	}
	free(thread);
	c->live_err = live_table_read(&c->live, bpf_map__fd(skel->maps.live), c->target->id);
	c->live_ns = trace_now_ns() - c->stopped_ns;
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	const struct run *x = a, *y = b;
	uint64_t size_x = x->end - x->start, size_y = y->end - y->start;

	if (size_x != size_y)
		return size_x < size_y ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void add_region(struct capture *c, const struct run *run, uint64_t start, const char *data,
		       size_t size)
{
	if (!size)
		return;
	c->image->regions[c->image->region_count++] =
		(struct heap_region){.start = start,
				     .size = size,
				     .words = (const uint64_t *)data,
				     .mapping = run->mapping};
}

/* One run, piece by piece. A page that cannot be read after all is left out. Returns the bytes of the copy that are used. */
static size_t read_run(struct capture *c, const struct run *run, char *to)
{
	static const uint64_t page = 4096;
	uint64_t begin = run->start, at = run->start;
	size_t used = 0;

	while (at < run->end) {
		uint64_t wanted = run->end - at < PIECE ? run->end - at : PIECE;
		size_t got = resident_read(c->resident, at, to + used, wanted) & ~(page - 1);

		at += got;
		used += got;
		mind_pause(c);
		if (got == wanted)
			continue;
		add_region(c, run, begin, to + used - (at - begin), at - begin);
		c->snapshot->verdict.unread_bytes += page;
		at += page;
		begin = at;
	}
	add_region(c, run, begin, to + used - (at - begin), at - begin);
	return used;
}

static int read_memory(struct capture *c)
{
	size_t used = 0, regions;
	char *data = c->image->data;
	int err = maps_read_watched(c->target->pid, mind_pause, c, &c->image->maps);

	if (!err)
		err = scan(c, c->image->maps, add_run);
	if (err)
		return refuse(c, err, "its memory cannot be looked at");
	/* Small things first: what hangs over the limit is then the heap's bulk and not the roots. */
	if (c->run_count)
		qsort(c->runs, c->run_count, sizeof(*c->runs), by_size);
	/* Each unreadable page may split a run; more than a few are not expected, and beyond them the rest is unread. */
	regions = c->run_count + c->measured / 4096 + 16;
	c->image->regions = calloc(regions, sizeof(*c->image->regions));
	if (!c->image->regions)
		return refuse(c, -ENOMEM, "no memory for a copy of it");
	for (size_t i = 0; i < c->run_count; i++) {
		const struct run *run = &c->runs[i];
		uint64_t size = run->end - run->start;

		if (size > c->image->data_size - used ||
		    c->image->region_count + size / 4096 + 1 > regions)
			c->snapshot->verdict.unread_bytes += size;
		else
			used += read_run(c, run, data + used);
	}
	c->snapshot->verdict.read_bytes = used;
	return 0;
}

/* Between the last event that we have handled and the stop it may have become another program. */
static bool is_still_the_target(const struct capture *c)
{
	uint32_t tgid = (uint32_t)c->target->pid;
	struct target_info info;

	return !bpf_map_lookup_elem(bpf_map__fd(c->trace->skel->maps.targets), &tgid, &info) &&
	       info.id == c->target->id;
}

static int take_threads(struct capture *c)
{
	size_t n = stop_thread_count(c->stop);

	c->image->threads = calloc(n + 1, sizeof(*c->image->threads));
	if (!c->image->threads)
		return refuse(c, -ENOMEM, "no memory for its registers");
	for (size_t i = 0; i < n; i++) {
		const struct stop_thread *from = stop_thread_at(c->stop, i);
		struct heap_thread *to = &c->image->threads[c->image->thread_count];

		if (!from->words)
			continue;
		to->words = malloc(from->word_count * sizeof(*to->words));
		if (!to->words)
			return refuse(c, -ENOMEM, "no memory for its registers");
		memcpy(to->words, from->words, from->word_count * sizeof(*to->words));
		to->word_count = from->word_count;
		to->tid = from->tid;
		to->sp = from->sp;
		to->tls = from->tls;
		c->image->thread_count++;
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

static int copy_stopped(struct capture *c)
{
	int err;

	if (!is_still_the_target(c))
		return refuse(c, -ESRCH, "it has become another program, or has ended");
	err = take_counters(c);
	if (err)
		return refuse(c, err, "no memory for its counters");
	c->live_started = !pthread_create(&c->live_reader, NULL, read_live, c);
	if (!c->live_started)
		return refuse(c, -EAGAIN, "no thread to read its live blocks");
	err = read_memory(c);
	c->memory_ns = trace_now_ns() - c->stopped_ns;
	/* The table is what the verdict is about: if the pause is over before it has been read, blocks come and go under it. */
	if (!late(c)) {
		const struct timespec until = {.tv_sec = (time_t)(c->deadline_ns / 1000000000),
					       .tv_nsec = (long)(c->deadline_ns % 1000000000)};

		c->live_started =
			pthread_clockjoin_np(c->live_reader, NULL, CLOCK_MONOTONIC, &until) != 0;
	}
	if (c->live_started)
		c->snapshot->verdict.approximate = true;
	return err;
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
		return refuse(c, c->live_err, "its live blocks cannot be read from the kernel");
	by_slot = reader_stacks_by_slot(c->trace, s, &slots);
	if (reader_clock(c->trace, &clock))
		clock.tick_ns = 0; /* no ages on this kernel */
	c->image->blocks = calloc(c->live.count + 1, sizeof(*c->image->blocks));
	if (!by_slot || !c->image->blocks) {
		free(by_slot);
		return refuse(c, -ENOMEM, "no memory for its live blocks");
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
		block->age_ms =
			age_ns / 1000000 < UINT32_MAX ? (uint32_t)(age_ns / 1000000) : UINT32_MAX;
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
	char why[STOP_REASON_MAX];
	bool held = c->target->hold != NULL;
	uint64_t started, reserved;
	int err = resident_open(c->target->pid, &c->resident);

	/* Its file in /proc is readable for its owner alone, ptrace or not. */
	if (err == -EACCES)
		return refuse(c, err,
			      "/proc/PID/pagemap may not be read: it is another user's, and "
			      "CAP_DAC_READ_SEARCH is missing");
	if (err)
		return refuse(c, err, "its memory cannot be looked at");
	c->image = heap_image_new();
	if (!c->image)
		return refuse(c, -ENOMEM, "no memory");
	started = trace_now_ns();
	err = reserve_memory(c);
	if (err)
		return err;
	reserved = trace_now_ns();
	if (held) {
		/* It is at its end: nothing waits for it but that. */
		c->stop = TAKE_PTR(c->target->hold);
		c->deadline_ns = trace_now_ns() + HELD_NS;
	} else {
		err = stop_begin(c->target->pid, max_pause_ns / STOP_SHARE, &c->stop, why);
		if (err)
			return refuse(c, err, why);
		c->deadline_ns = stop_start_ns(c->stop) + max_pause_ns;
	}
	c->stopped_ns = trace_now_ns();
	stop_run_first(!held);
	err = copy_stopped(c);
	c->pause_ns = stop_end(c->stop);
	stop_run_first(false);
	if (c->live_started)
		pthread_join(c->live_reader, NULL);
	c->snapshot->verdict.pause_ns = c->pause_ns;
	log_debug("pause of %d: after %.1f ms to get ready, %.1f ms to stop %zu threads, %.1f ms "
		  "to copy %zu MiB, %.1f ms to "
		  "copy %zu live blocks",
		  (int)c->target->pid, (double)(reserved - started) / 1e6,
		  (double)(c->stopped_ns - stop_start_ns(c->stop)) / 1e6,
		  stop_thread_count(c->stop), (double)c->memory_ns / 1e6,
		  (size_t)(c->snapshot->verdict.read_bytes >> 20), (double)c->live_ns / 1e6,
		  c->live.count);
	if (!err)
		err = take_threads(c);
	if (!err)
		err = take_blocks(c);
	if (err)
		return err;
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
		err = refuse(&c, -ESRCH, "it has ended, and its memory with it");
	else
		err = capture(&c, max_pause_ns);
	stop_free(c.stop);
	resident_close(c.resident);
	live_table_release(&c.live);
	free(c.runs);
	if (err)
		heap_image_free(c.image);
	else
		*image = c.image;
	*out = c.snapshot;
	return 0;
}
