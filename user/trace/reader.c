// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* From the kernel's counters to snapshots, and clearing out what ended targets leave there. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/trace/internal.h"
#include "user/trace/misses.h"
#include "user/trace/sampling.h"

/* About 150 ns a block: 40 ms. */
#define AGES_MAX_BLOCKS 262144
/* Between two walks, in durations of a walk. */
#define AGES_REST 20

/* Rows that are not a multiple of a page are padded at the end by the kernel as well. */
static size_t array_bytes(const struct bpf_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t row = (bpf_map__value_size(map) + 7) & ~(size_t)7;
	size_t bytes = row * bpf_map__max_entries(map);

	return (bytes + page - 1) & ~(page - 1);
}

static int map_array(const struct bpf_map *map, void **out)
{
	void *memory = mmap(NULL, array_bytes(map), PROT_READ | PROT_WRITE, MAP_SHARED,
			    bpf_map__fd(map), 0);

	if (memory == MAP_FAILED)
		return log_errno(errno, "cannot map the BPF array %s", bpf_map__name(map));
	*out = memory;
	return 0;
}

/* Slots that have ever been used. */
static uint32_t slot_count(const struct trace *trace)
{
	uint32_t n = __atomic_load_n(&trace->skel->bss->shared.next_slot, __ATOMIC_ACQUIRE);

	return n < trace->options.max_stacks ? n : trace->options.max_stacks;
}

/*
 * The slot of a target's allocations that have no stack: behind those of all stacks (bpf/stack.h).
 */
static uint32_t bare_slot(const struct trace *trace, uint32_t target_id)
{
	return trace->options.max_stacks + target_id % ABI_TARGET_SLOTS;
}

static bool have_bare_slots(const struct trace *trace)
{
	return __atomic_load_n(&trace->skel->bss->shared.bare_slots, __ATOMIC_ACQUIRE);
}

/* No slot in use has this number or a higher one. */
static uint32_t slot_end(const struct trace *trace)
{
	return have_bare_slots(trace) ? bare_slot(trace, 0) + ABI_TARGET_SLOTS : slot_count(trace);
}

static int run_program(const struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	return bpf_prog_test_run_opts(bpf_program__fd(program), &opts);
}

/* Runs an iterator program over the whole live map, in the kernel. */
static int walk_live(struct trace *trace, struct bpf_program *program)
{
	union bpf_iter_link_info info = {.map.map_fd =
						 (uint32_t)bpf_map__fd(trace->skel->maps.live)};
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	struct bpf_link *link = bpf_program__attach_iter(program, &opts);
	char buffer[64];
	ssize_t n;
	int fd, err = 0;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0) {
		err = fd;
		goto out;
	}
	/*
	 * The programs print nothing; reading to the end is what runs them. The kernel may ask to
	 * be called again.
	 */
	do {
		n = read(fd, buffer, sizeof(buffer));
	} while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	err = n < 0 ? -errno : 0;
	close(fd);
out:
	bpf_link__destroy(link);
	return err;
}

int reader_clock(struct trace *trace, struct live_clock *out)
{
	/* Spoils the ages, which are only good right after find_ages(). */
	int err = trace->options.old ? walk_live(trace, trace->skel->progs.old_live_ages)
				     : run_program(trace->skel->progs.live_clock_read);

	*out = trace->skel->bss->shared.clock;
	return err;
}

/* Has the kernel look at every live block: ages are in no counter. */
static int find_ages(struct trace *trace)
{
	uint64_t start = monotonic_ns();
	struct live_clock clock;
	int err = trace->options.old ? 0 : reader_clock(trace, &clock);

	memset(trace->slot_ages, 0, slot_end(trace) * sizeof(*trace->slot_ages));
	if (!err)
		err = trace->options.old ? walk_live(trace, trace->skel->progs.old_live_ages)
					 : run_program(trace->skel->progs.live_ages);
	trace->ages_end_ns = monotonic_ns();
	trace->ages_ns = trace->ages_end_ns - start;
	return err;
}

int reader_map_arrays(struct trace *trace)
{
	struct memleakbpf *skel = trace->skel;
	struct live_clock clock;
	int err = map_array(skel->maps.counters, (void **)&trace->counters);

	err = err ?: map_array(skel->maps.slot_infos, (void **)&trace->slot_infos);
	err = err ?: map_array(skel->maps.slot_ages, (void **)&trace->slot_ages);
	err = err ?: map_array(skel->maps.target_stats, (void **)&trace->stats);
	/* Ages count from this reading. Where it is not to be had, there will be none. */
	if (!err)
		reader_clock(trace, &clock);
	return err;
}

static void unmap_array(const struct bpf_map *map, void *memory)
{
	if (memory)
		munmap(memory, array_bytes(map));
}

void reader_unmap_arrays(struct trace *trace)
{
	struct memleakbpf *skel = trace->skel;

	if (!skel)
		return;
	unmap_array(skel->maps.counters, trace->counters);
	unmap_array(skel->maps.slot_infos, trace->slot_infos);
	unmap_array(skel->maps.slot_ages, trace->slot_ages);
	unmap_array(skel->maps.target_stats, trace->stats);
}

/* Counts have 16 fractional bits under sampling. */
static uint64_t whole(uint64_t count)
{
	return (count + SAMPLE_ONE / 2) / SAMPLE_ONE;
}

static void fill_stack(struct stack *stack, const struct trace *trace, uint32_t slot, uint64_t now,
		       bool ages)
{
	const struct stack_counters *c = &trace->counters[slot];
	const struct slot_info *info = &trace->slot_infos[slot];

	stack->id = info->stack_id;
	stack->index = slot;
	stack->end = info->end;
	stack->truncated = info->end == STACK_END_TRUNCATED;
	/*
	 * Frees first: read the other way round, a block freed in between could make live negative.
	 */
	stack->free.bytes = __atomic_load_n(&c->free_bytes, __ATOMIC_ACQUIRE);
	stack->free.count = __atomic_load_n(&c->free_count, __ATOMIC_ACQUIRE);
	stack->alloc.bytes = __atomic_load_n(&c->alloc_bytes, __ATOMIC_ACQUIRE);
	stack->alloc.count = __atomic_load_n(&c->alloc_count, __ATOMIC_ACQUIRE);
	stack->live.bytes = stack->alloc.bytes - stack->free.bytes;
	stack->live.count = stack->alloc.count - stack->free.count;
	if (trace->options.sample_bytes) {
		stack->error_bytes = sampling_error(__atomic_load_n(&c->variance, __ATOMIC_ACQUIRE),
						    trace->options.sample_bytes);
		stack->live.count = whole(stack->live.count);
		stack->alloc.count = whole(stack->alloc.count);
		stack->free.count = whole(stack->free.count);
	}
	stack->older = stack->live;
	if (ages) {
		const struct slot_age *age = &trace->slot_ages[slot];

		if (trace->options.older_ns)
			stack->older =
				(struct amount){age->older_bytes, trace->options.sample_bytes
									  ? whole(age->older_count)
									  : age->older_count};
		if (age->oldest_ns && age->oldest_ns < now)
			stack->oldest_ns = now - age->oldest_ns;
	}
}

/* A stack that user space has finished counts under its own id. */
static bool take_final_id(struct stack *stack, const struct trace *trace, uint32_t target_id)
{
	const struct stack_entry *entry;

	/* There the kernel side knows less: events.c. */
	if (stack->end != STACK_END_NO_MAPPING && !trace->options.old)
		return false;
	entry = stack_table_find(trace->stacks, target_id, stack->id);
	if (!entry || !entry->same_as)
		return false;
	stack->id = entry->same_as;
	stack->end = entry->same_end;
	stack->truncated = stack->end == STACK_END_TRUNCATED;
	return true;
}

static int by_id(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Several slots may turn out to belong to one stack. */
static void merge_stacks(struct snapshot *snapshot)
{
	struct stack *to = snapshot->stacks;

	qsort(snapshot->stacks, snapshot->stack_count, sizeof(*snapshot->stacks), by_id);
	for (size_t i = 1; i < snapshot->stack_count; i++) {
		const struct stack *from = &snapshot->stacks[i];

		if (from->id != to->id) {
			*++to = *from;
			continue;
		}
		amount_add(&to->live, &from->live);
		amount_add(&to->alloc, &from->alloc);
		amount_add(&to->free, &from->free);
		amount_add(&to->older, &from->older);
		to->error_bytes = hypot(to->error_bytes, from->error_bytes);
		if (from->oldest_ns > to->oldest_ns)
			to->oldest_ns = from->oldest_ns;
	}
	snapshot->stack_count = (size_t)(to - snapshot->stacks) + 1;
}

/* The next entry of the snapshot, if that slot belongs to the target and has anything in it. */
static bool add_stack(struct snapshot *snapshot, const struct trace *trace, uint32_t target_id,
		      uint32_t slot, uint64_t now, bool ages)
{
	struct stack *stack = &snapshot->stacks[snapshot->stack_count];

	if (trace->slot_infos[slot].target_id != target_id)
		return false;
	fill_stack(stack, trace, slot, now, ages);
	if (!stack->alloc.count)
		return false;
	snapshot->stack_count++;
	return take_final_id(stack, trace, target_id);
}

static int fill_stacks(struct snapshot *snapshot, struct trace *trace, uint32_t target_id,
		       uint64_t now, bool ages)
{
	uint32_t slots = slot_count(trace), n = 0;
	bool finished = false;

	for (uint32_t i = 0; i < slots; i++)
		n += trace->slot_infos[i].target_id == target_id;
	snapshot->stacks = calloc(n + 1, sizeof(*snapshot->stacks));
	if (!snapshot->stacks)
		return -ENOMEM;
	for (uint32_t i = 0; i < slots && snapshot->stack_count < n; i++)
		finished |= add_stack(snapshot, trace, target_id, i, now, ages);
	if (have_bare_slots(trace))
		add_stack(snapshot, trace, target_id, bare_slot(trace, target_id), now, ages);
	if (finished)
		merge_stacks(snapshot);
	return 0;
}

uint32_t *reader_stacks_by_slot(const struct trace *trace, const struct snapshot *snapshot,
				uint32_t *slots)
{
	uint32_t *by_slot;

	*slots = slot_end(trace);
	by_slot = malloc((*slots + 1ull) * sizeof(*by_slot));
	if (!by_slot)
		return NULL;
	memset(by_slot, 0xff, (*slots + 1ull) * sizeof(*by_slot));
	for (size_t i = 0; i < snapshot->stack_count; i++)
		by_slot[snapshot->stacks[i].index] = (uint32_t)i;
	for (uint32_t slot = 0; slot < *slots; slot++) {
		struct stack wanted = {.id = trace->slot_infos[slot].stack_id,
				       .end = trace->slot_infos[slot].end};
		const struct stack *found;

		if (by_slot[slot] != UINT32_MAX ||
		    trace->slot_infos[slot].target_id != snapshot->target_id)
			continue;
		/* One of several slots of the same stack: then the snapshot's stacks are sorted. */
		take_final_id(&wanted, trace, snapshot->target_id);
		found = bsearch(&wanted, snapshot->stacks, snapshot->stack_count,
				sizeof(*snapshot->stacks), by_id);
		if (found)
			by_slot[slot] = (uint32_t)(found - snapshot->stacks);
	}
	return by_slot;
}

static void fill_losses(struct snapshot *snapshot, const struct trace *trace, uint32_t target_id)
{
	const struct target_stats *stats = &trace->stats[target_id % ABI_TARGET_SLOTS];

	misses_update(trace);
	snapshot->unknown_frees = stats->unknown_frees;
	for (int i = 0; i < LOST_CAUSES; i++) {
		snapshot->lost_anywhere[i] = trace->skel->bss->shared.lost[i];
		snapshot->lost[i] = stats->lost[i] + snapshot->lost_anywhere[i];
	}
}

/*
 * The link-time address of a range's first byte. A segment need not begin where its page does: any
 * byte of it will do.
 */
static bool range_vaddr(const struct image_range *range, uint64_t *vaddr)
{
	static const uint64_t page = 4096;
	uint64_t into[] = {0, page - 1};

	for (size_t i = 0; i < ARRAY_SIZE(into); i++) {
		if (object_offset_to_vaddr(range->object, range->offset + into[i], vaddr))
			continue;
		*vaddr -= into[i];
		return true;
	}
	return false;
}

/* Without memory they are unknown. */
static struct module_maps *copy_maps(const struct image *image)
{
	size_t count = image_range_count(image), n = 0;
	_cleanup_free_ struct module_map *items = calloc(count ? count : 1, sizeof(*items));

	for (size_t i = 0; items && i < count; i++) {
		const struct image_range *range = image_range_at(image, i);
		struct module_map *map = &items[n];

		if (!range->object || !range_vaddr(range, &map->vaddr))
			continue;
		map->start = range->start;
		map->end = range->end;
		map->offset = range->offset;
		map->path = object_path(range->object);
		map->build_id = object_build_id(range->object, &map->build_id_len);
		n++;
	}
	return items && n ? module_maps_new(items, n) : NULL;
}

uint64_t reader_live_blocks(const struct trace *trace)
{
	uint32_t slots = slot_count(trace);
	uint64_t n = 0;

	for (uint32_t i = 0; i < slots; i++) {
		n += trace->counters[i].alloc_count;
		n -= trace->counters[i].free_count;
	}
	return trace->options.sample_bytes ? n / SAMPLE_ONE : n;
}

/*
 * A report reads stacks, not allocations: a walk that would take longer than all the rest, or that
 * would take more than a twentieth of our time (many children that end one after the other), is
 * made only when --older asks for it.
 */
static bool want_ages(const struct trace *trace, uint64_t now)
{
	if (!trace->options.ages || trace->options.older_ns)
		return trace->options.ages;
	return reader_live_blocks(trace) <= AGES_MAX_BLOCKS &&
	       now - trace->ages_end_ns >= AGES_REST * trace->ages_ns;
}

int reader_snapshot(struct trace *trace, struct target *target, bool ages, struct snapshot **out)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	uint64_t now = monotonic_ns();
	int err = 0;

	if (!s)
		return -ENOMEM;
	s->time_ns = clock_ns(CLOCK_REALTIME);
	s->elapsed_ns = now - target->start_ns;
	s->interval_ns = target->snapshot_ns ? now - target->snapshot_ns : 0;
	target->snapshot_ns = now;
	s->sample_bytes = trace->options.sample_bytes;
	s->target_id = target->id;
	s->pid = target->pid;
	memcpy(s->comm, target->comm, sizeof(s->comm));
	/* Without memory it is unknown. */
	s->cmdline = target->cmdline ? text_list_copy(target->cmdline) : NULL;
	s->maps = copy_maps(target->image);
	s->exited = target->exited;
	s->execed = target->ended && !target->exited;
	s->final = target->ended;
	s->children_late = target->late;
	if (ages) {
		err = find_ages(trace);
		if (err)
			log_debug("no ages: cannot walk the live map: %s", strerror(-err));
		ages = !err;
	}
	err = fill_stacks(s, trace, target->id, now, ages);
	if (err) {
		snapshot_free(s);
		return log_errno(err, "no memory for a snapshot");
	}
	snapshot_total(s);
	fill_losses(s, trace, target->id);
	if (bad_frees_read(trace, s))
		log_error("no memory for the list of bad frees");
	*out = s;
	return 0;
}

int trace_snapshot(struct trace *trace, struct target *target, struct snapshot **out)
{
	return reader_snapshot(trace, target, want_ages(trace, monotonic_ns()), out);
}

int trace_name_stack(struct trace *trace, uint32_t target_id, uint64_t stack_id,
		     const struct frame *const **frames, size_t *count)
{
	struct stack_entry *entry = stack_table_find(trace->stacks, target_id, stack_id);
	int err;

	if (!entry)
		return 0; /* id 0, or its frames were lost: shown as a stack without frames */
	err = stack_entry_name(entry, trace->symbolizer);
	if (err)
		return err;
	*frames = entry->frames;
	*count = entry->frame_count;
	return 0;
}

int trace_name_data(struct trace *trace, struct target *target, const struct mapping *file,
		    uint64_t address, const char **name, uint64_t *offset, uint64_t *vaddr)
{
	struct object *object;
	uint64_t at;
	int err = object_cache_get(trace->objects, target->pid, file, &object);

	*name = NULL;
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	/* All of an object is moved by the same distance, .bss too, which is in no file. */
	err = object_offset_to_vaddr(object, file->offset, &at);
	if (!err) {
		*vaddr = address - file->start + at;
		err = symbolizer_name_data(trace->symbolizer, object, *vaddr, target->pid, name,
					   offset);
	}
	object_unref(object);
	return err;
}

static bool slot_ended(const struct trace *trace, uint32_t slot)
{
	uint32_t id = trace->slot_infos[slot].target_id;

	return id && trace->stats[id % ABI_TARGET_SLOTS].swept_id == id;
}

static void release_bare_slot(struct trace *trace, uint32_t target_id)
{
	uint32_t slot = bare_slot(trace, target_id);

	if (!have_bare_slots(trace) || trace->slot_infos[slot].target_id != target_id)
		return;
	memset(&trace->counters[slot], 0, sizeof(trace->counters[slot]));
	__atomic_store_n(&trace->slot_infos[slot].target_id, 0, __ATOMIC_RELEASE);
}

static void release_slots(struct trace *trace)
{
	int stacks_fd = bpf_map__fd(trace->skel->maps.stacks);
	int free_fd = bpf_map__fd(trace->skel->maps.free_slots);
	uint32_t slots = slot_count(trace);

	for (uint32_t i = 0; i < slots; i++) {
		struct slot_info *info = &trace->slot_infos[i];
		struct stack_key key = {.stack_id = info->stack_id, .target_id = info->target_id};

		if (!slot_ended(trace, i))
			continue;
		bpf_map_delete_elem(stacks_fd, &key);
		memset(&trace->counters[i], 0, sizeof(trace->counters[i]));
		__atomic_store_n(&info->target_id, 0, __ATOMIC_RELEASE);
		bpf_map_update_elem(free_fd, NULL, &i, BPF_ANY);
	}
}

void reader_reclaim(struct trace *trace)
{
	struct target *target;
	int err;

	if (!trace->ended)
		return;
	for (target = trace->ended; target; target = target->next_ended)
		trace->stats[target->id % ABI_TARGET_SLOTS].swept_id = target->id;
	err = walk_live(trace, trace->skel->progs.live_sweep);
	if (err)
		log_debug("cannot clear the live map: %s", strerror(-err));
	release_slots(trace);
	while (trace->ended) {
		target = trace->ended;
		if (!target->forgotten)
			unwind_publisher_drop(trace->unwind, target->id);
		trace->ended = target->next_ended;
		release_bare_slot(trace, target->id);
		memset(&trace->stats[target->id % ABI_TARGET_SLOTS], 0, sizeof(*trace->stats));
		stack_table_remove_target(trace->stacks, target->id);
		target_free(trace, target);
	}
	trace->ended_count = 0;
}
