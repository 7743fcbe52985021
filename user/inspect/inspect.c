// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/inspect.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "user/analysis/inspection_order.h"
#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/heap/dead_memory.h"
#include "user/heap/kind_fields.h"
#include "user/heap/reach.h"
#include "user/inspect/classes.h"
#include "user/inspect/hanging.h"
#include "user/inspect/holders.h"
#include "user/inspect/keepers.h"
#include "user/inspect/losses.h"
#include "user/inspect/libc_version.h"
#include "user/inspect/linked_heaps.h"
#include "user/inspect/managed_books.h"
#include "user/inspect/memory_parts.h"
#include "user/inspect/origins.h"

/* An inspection under way. */
struct inspect_run {
	const struct inspect_source *source;
	const struct inspect_options *options;
	struct heap_image *image;
	struct inventory inventory;
	struct keeping keeping;
	struct reach *reach;
	struct class_process process;
	struct class_files files;
	struct symbolizer *own_names; /* NULL: they are the tracer's */
	struct block_classes *classes;
	struct hanging_kinds kinds;
	struct fields *fields;
	struct inspection *out;
};

static void inspect_say_who(struct inspect_run *run, struct inspect_source *source)
{
	struct inspection *out = run->out;

	out->time_ns = source->time_ns;
	out->pid = source->pid;
	memcpy(out->comm, source->comm, sizeof(out->comm));
	out->cmdline = TAKE_PTR(source->cmdline);
	out->core = TAKE_PTR(source->core);
	out->rss_anon = source->rss_anon;
	out->swap = source->swap;
	out->shmem = source->shmem;
	out->verdict.pause_ns = source->pause_ns;
	out->verdict.read_bytes = source->read_bytes;
	out->verdict.unread_bytes = source->unread_bytes;
	out->verdict.approximate = source->approximate;
	out->unknown_threads = source->unknown_threads;
	out->no_registers = source->no_registers;
}

/*
 * Blocks that were traced and no walker has come by: of allocators that nobody here reads. What a block has
 * around it is not known.
 */
static void inspect_count_others(struct inspect_run *run)
{
	const struct heap_image *image = run->image;
	struct inventory_allocator *others = NULL;

	for (size_t i = 0; i < image->block_count; i++) {
		uint64_t start = heap_block_address(image, i), end = heap_block_end(image, i);

		if (run->inventory.seen[i])
			continue;
		others = others ?: inventory_add_allocator(&run->inventory, "traced, of others");
		if (!others)
			return;
		inventory_count(&run->inventory, others, image->memory, INVENTORY_IN_USE, start,
				end, end - start);
	}
}

/* What the allocators' books say: the blocks, what is free, and how much of it is there. */
static int inspect_walk(struct inspect_run *run)
{
	size_t regions = run->image->memory->region_count;
	int err;

	run->inventory.covered = calloc(regions + 1, sizeof(*run->inventory.covered));
	run->inventory.seen = calloc(run->image->block_count + 1, sizeof(*run->inventory.seen));
	if (!run->inventory.covered || !run->inventory.seen)
		return -ENOMEM;
	run->inventory.keeping = &run->keeping;
	run->image->inventory = &run->inventory;
	err = managed_books_read(run->image, &run->files, run->out);
	err = err ?: dead_memory_find(run->image);
	if (!err)
		inspect_count_others(run);
	libc_version_find(run->source, run->image->memory->maps, &run->inventory);
	if (!err)
		linked_heaps_find(run->source, run->image);
	keeping_finish(&run->keeping);
	return err ?: heap_image_take_old(run->image);
}

/* Where nobody has any of the process's files. 0 or -ENOMEM. */
static int inspect_own_names(struct inspect_run *run)
{
	const struct symbolizer_options names = {.debuginfod = run->options->debuginfod};

	run->files.symbolizer = run->own_names = symbolizer_new(&names);
	return run->own_names ? 0 : -ENOMEM;
}

/* The names of the process's files: of a core with pid 0. */
static int inspect_open_names(struct inspect_run *run)
{
	const struct inspect_traced *traced = run->options->traced;

	run->process = (struct class_process){
		.objects = run->source->objects,
		.pid = run->out->core ? 0 : run->source->pid,
		.root_fd = -1,
	};
	run->files = (struct class_files){
		.ctx = &run->process,
		.object = class_process_object,
		.symbolizer = traced ? traced->symbolizer : NULL,
		.pid = run->process.pid,
		.types = run->options->types,
	};
	return run->files.symbolizer ? 0 : inspect_own_names(run);
}

/* The groups become the inspection's; which block is in which stays. */
static int inspect_group(struct inspect_run *run)
{
	struct inspection *out = run->out;
	int err = block_classes_find(run->image, &run->files, &run->classes);

	if (err)
		return err;
	out->groups = TAKE_PTR(run->classes->groups);
	out->group_count = run->classes->group_count;
	run->classes->group_count = 0;
	if (!run->own_names)
		return 0;
	/*
	 * Debug information has been unpacked for the types: tens of MiB, in pieces, just when reachability
	 * needs most. What is named from here on needs symbols alone.
	 */
	symbolizer_forget_files(run->own_names);
	malloc_trim(0);
	return 0;
}

/* Who keeps the free memory, and what would give it back. */
static int inspect_charge(struct inspect_run *run)
{
	int err = hanging_kinds_init(&run->kinds, &run->classes->group, run->out);

	err = err
		      ?: keepers_find(run->image, &run->inventory, &run->kinds,
				      run->options->traced, run->out);
	keeping_release(&run->keeping);
	return err ?: helps_find(&run->inventory, run->out);
}

/* Follows pointers, those first that are fields of their blocks' kinds. */
static int inspect_reach(struct inspect_run *run, struct reach_options how)
{
	const struct fields_kinds kinds = {&run->kinds, hanging_kind, run->out->group_count};
	int err = fields_new(run->image, &kinds, &run->fields);

	how.is_weak = fields_is_weak;
	how.weak_ctx = run->fields;
	return err ?: reach_new(run->image, &how, &run->reach);
}

static int inspect_judge(struct inspect_run *run)
{
	const struct inspect_traced *traced = run->options->traced;
	const struct reach_options how = {.heuristics = run->options->heuristics,
					  .tagged = run->options->tagged,
					  .is_new_array = traced ? traced->is_new_array : NULL,
					  .ctx = traced ? traced->ctx : NULL,
					  .heads = run->classes->heads};
	struct verdict *v = &run->out->verdict;
	int err = inspect_reach(run, how);

	if (err)
		return err;
	for (size_t i = 0; i < run->image->block_count; i++) {
		const struct amount one = {heap_block_at(run->image, i).size, 1};
		enum verdict_class class = reach_class(run->reach, i);

		amount_add(&v->classes[class], &one);
		amount_add(&run->out->groups[packed_get(&run->classes->group, i)].verdict[class],
			   &one);
	}
	v->unknown_bytes = reach_unknown_bytes(run->reach);
	reach_unjoined(run->reach, &v->unjoined);
	v->state = VERDICT_TAKEN;
	return traced && traced->judged ? traced->judged(traced->ctx, run->reach) : 0;
}

static int inspect_name_frame(void *ctx, const struct memory_thread *thread, uint64_t address,
			      const struct frame **out)
{
	const struct inspect_run *run = ctx;
	const struct inspect_stacks stacks = {
		.memory = run->image->memory,
		.objects = run->source->objects,
		.symbolizer = run->files.symbolizer,
		.pid = run->files.pid,
	};

	/* What was read while it ran is not of the registers' moment. */
	if (run->source->approximate)
		return -ENOENT;
	return run->options->frame(run->options->frame_ctx, &stacks, thread, address, out);
}

static int inspect_find_holders(struct inspect_run *run)
{
	const struct holders_names names = {
		.files = &run->files,
		.locals = thread_locals_new(run->image->memory, &run->files, run->source->entry,
					    &thread_locals_usual),
		.frame = run->options->frame ? inspect_name_frame : NULL,
		.frame_ctx = run,
	};
	int err = -ENOMEM;

	if (names.locals)
		err = holders_find(run->image, run->reach, &run->kinds, &names,
				   run->options->traced, run->out);
	thread_locals_free(names.locals);
	return err;
}

/* What there is to say of the groups, for people: what is lost, what holds the rest. */
static int inspect_explain(struct inspect_run *run)
{
	const struct inspect_traced *traced = run->options->traced;
	const struct packed *group_of = &run->classes->group;
	int err = losses_find(run->image, run->reach, group_of, run->out);

	reach_settle(run->reach);
	if (!err && traced)
		err = origins_find(run->image, run->reach, group_of, traced, run->out);
	if (!err && run->options->contents)
		err = losses_take_contents(run->image, run->reach, group_of, run->options->contents,
					   run->out);
	return err ?: inspect_find_holders(run);
}

static int inspect_steps(struct inspect_run *run)
{
	uint64_t start = monotonic_ns(), walked, grouped;
	int err = inspect_open_names(run);

	err = err ?: inspect_walk(run);
	walked = monotonic_ns();
	err = err ?: memory_parts_find(run->image, run->source, run->out);
	err = err ?: inspect_group(run);
	err = err ?: inspect_charge(run);
	grouped = monotonic_ns();
	err = err ?: inspect_judge(run);
	err = err ?: inspect_explain(run);
	err = err ?: inspection_sort(run->out, INSPECTION_BY_BYTES);
	log_debug("inspection of %d: %zu blocks; %.1f ms to walk through the allocators' books, "
		  "%.1f ms to put alike blocks together, %.1f ms to follow pointers",
		  (int)run->source->pid, run->image->block_count,
		  (double)(walked - start) / NS_PER_MS, (double)(grouped - walked) / NS_PER_MS,
		  (double)(monotonic_ns() - grouped) / NS_PER_MS);
	return err;
}

static uint64_t inspect_own_peak(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss << 10;
}

int inspect(struct inspect_source *source, const struct inspect_options *options,
	    struct inspection **out)
{
	struct inspect_run run = {.source = source, .options = options};
	uint64_t start = monotonic_ns();
	int err = -ENOMEM;

	run.out = calloc(1, sizeof(*run.out));
	run.image = options->traced ? options->traced->image : heap_image_new(source->memory);
	if (run.image && !options->traced)
		source->memory = NULL;
	if (run.out && run.image) {
		run.out->traced = options->traced != NULL;
		inspect_say_who(&run, source);
		err = inspect_steps(&run);
		run.out->verdict.total_ns = monotonic_ns() - start;
		run.out->tool_bytes = inspect_own_peak();
	}
	block_classes_free(run.classes);
	fields_free(run.fields);
	hanging_kinds_release(&run.kinds);
	keeping_release(&run.keeping);
	free(run.inventory.covered);
	free(run.inventory.seen);
	reach_free(run.reach);
	symbolizer_free(run.own_names);
	if (options->traced)
		run.image->inventory = NULL;
	else
		heap_image_free(run.image);
	inspect_source_release(source);
	if (err)
		inspection_free(run.out);
	else
		*out = run.out;
	return err;
}
