// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/holder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/text.h"
#include "user/heap/dead_memory.h"
#include "user/base/parse.h"
#include "user/base/util.h"

/* Stacks that get a path: each costs a walk and the names of the stacks on it. */
#define PATHS 16

/* Steps of a path: a list may be a million long. */
#define FIRST_STEPS 5
#define STEPS_MAX   100000000

struct describer {
	struct trace *trace;
	struct target *target;
	struct snapshot *snapshot;
	const struct heap_image *image;
	const struct reach *reach;
};

static const char *holder_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* A path may hold anything; a line of what holds a block is one line. */
static void holder_put_file(FILE *out, const char *path)
{
	static const struct text_rules rules = {.harms = TEXT_C0, .harmful = "?"};

	text_put(out, holder_base_name(path), &rules);
}

/* The function that asked for it: the first frame that is no allocation function's own. */
static const char *holder_allocator_of(struct describer *d, uint32_t stack)
{
	const struct frame *const *frames = NULL;
	size_t frame, count = 0;

	if (stack >= d->snapshot->stack_count ||
	    trace_name_stack(d->trace, d->snapshot->target_id, d->snapshot->stacks[stack].id,
			     &frames, &count))
		return NULL;
	frame = frames_allocating(frames, count, ALLOCATING_NEW);
	return frame ? frames[frame]->function : NULL;
}

/*
 * gcc numbers the static variables of functions ("cache.0"), clang begins with the function's name
 * ("fill.cache"): of the first the number says nothing. C++'s are demangled, with their function.
 */
static int holder_length_without_number(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot > name && dot[1] && strspn(dot + 1, "0123456789") == strlen(dot + 1)
		       ? (int)(dot - name)
		       : (int)strlen(name);
}

static void holder_put_variable(FILE *out, const char *name, uint64_t offset, const char *path)
{
	fprintf(out, "%.*s", holder_length_without_number(name), name);
	if (offset)
		fprintf(out, "+0x%" PRIx64, offset);
	fputs(" (", out);
	holder_put_file(out, path);
	fputc(')', out);
}

/* A variable of an object; name is NULL where it has no symbol. */
struct holder_variable {
	const struct mapping *file;
	const char *name;
	uint64_t offset, vaddr;
};

/* An anonymous mapping right behind a file's is the rest of its data (.bss). */
static bool holder_find_variable(const struct describer *d, const struct mapping *m,
				 uint64_t address, struct holder_variable *out)
{
	const struct maps *maps = d->image->memory->maps;
	const struct mapping *file = m;
	const struct mapping *first = NULL;

	if (!m->ino && m->start) {
		file = maps_find(maps, m->start - 1);
		if (*m->path || !file || !file->ino || file->end != m->start)
			return false;
	}
	if (!file->ino || file->shared)
		return false;
	for (size_t i = 0; !first && i < maps_count(maps); i++) {
		const struct mapping *other = maps_at(maps, i);

		if (other->ino == file->ino && other->dev == file->dev)
			first = other;
	}
	out->file = file;
	return first && !trace_name_data(d->trace, d->target, first, address, &out->name,
					 &out->offset, &out->vaddr);
}

/* By the variable's name; without a symbol by the address that `nm` would show. */
static bool holder_put_static(const struct describer *d, FILE *out, const struct mapping *m,
			      uint64_t address)
{
	struct holder_variable v;

	if (!holder_find_variable(d, m, address, &v))
		return false;
	if (v.name) {
		holder_put_variable(out, v.name, v.offset, v.file->path);
	} else {
		fputs("data of ", out);
		holder_put_file(out, v.file->path);
		fprintf(out, "+0x%" PRIx64, v.vaddr);
	}
	return true;
}

/*
 * From before the attach: nobody knows who asked for it. What it is may be told by its first words: of a C++
 * object a pointer into its virtual table, behind the two words with which that begins (Itanium C++ ABI 2.5.2); of
 * an interpreter's object one to its type (CPython's has it second, or fourth behind what the collector keeps).
 */
static void holder_put_old(const struct describer *d, FILE *out, const struct heap_block *b)
{
	fputs(" from before the attach", out);
	for (uint64_t at = b->address; at < b->address + 32 && at < b->address + b->size; at += 8) {
		const struct mapping *m = NULL;
		struct holder_variable v;
		uint64_t word;

		if (memory_image_word(d->image->memory, at, &word))
			m = maps_find(d->image->memory->maps, word);
		if (!m || m->exec || !holder_find_variable(d, m, word, &v) || !v.name ||
		    v.offset != (at == b->address && m->ino && !m->write ? 16 : 0))
			continue;
		fputs(", a pointer to ", out);
		holder_put_variable(out, v.name, v.offset, v.file->path);
		fputs(" in it", out);
		return;
	}
}

static void holder_put_block(struct describer *d, FILE *out, uint32_t block)
{
	const struct heap_block *b = &d->image->blocks[block];
	const char *name = holder_allocator_of(d, b->stack);
	char human[FORMAT_BYTES_MAX];

	fprintf(out, "a block of %s", format_bytes(human, b->size));
	if (b->stack == HEAP_OLD)
		holder_put_old(d, out, b);
	else if (name)
		fprintf(out, " from %s", name);
}

/*
 * The thread on whose stack the address is: the nearest one below, for several stacks may lie in a
 * mapping.
 */
static const struct memory_thread *holder_thread_on(const struct describer *d,
						    const struct mapping *m, uint64_t address)
{
	const struct memory_thread *best = NULL;

	for (size_t i = 0; i < d->image->memory->thread_count; i++) {
		const struct memory_thread *t = &d->image->memory->threads[i];

		if (t->sp >= m->start && t->sp < m->end && t->sp <= address + STACK_RED_ZONE &&
		    (!best || t->sp > best->sp))
			best = t;
	}
	return best;
}

/*
 * The thread whose thread-local data it is: that lies around the thread pointer, mostly below it.
 */
static const struct memory_thread *holder_thread_with(const struct describer *d,
						      const struct mapping *m, uint64_t address)
{
	for (size_t i = 0; i < d->image->memory->thread_count; i++) {
		const struct memory_thread *t = &d->image->memory->threads[i];

		if (t->tls >= m->start && t->tls < m->end &&
		    address >= (t->tls & ~4095ull) - 4096 && address < t->tls + 4096)
			return t;
	}
	return NULL;
}

/* 0, or why there is none: as trace_name_frame(). */
static int holder_put_frame(const struct describer *d, FILE *out,
			    const struct memory_thread *thread, uint64_t address)
{
	const struct frame *frame;
	int err;

	/* What was read while it ran is not of the registers' moment. */
	if (d->snapshot->verdict.approximate)
		return -ENOENT;
	err = trace_name_frame(d->trace, d->target, d->image->memory, thread, address, &frame);
	if (err)
		return err;
	fputs(frame->function, out);
	if (frame->file && frame->line)
		fprintf(out, " at %s:%" PRIu32, holder_base_name(frame->file), frame->line);
	if (frame->module)
		fprintf(out, " (%s)", frame->module);
	fprintf(out, ", on the stack of thread %d", (int)thread->tid);
	return 0;
}

static bool holder_put_thread_variable(const struct describer *d, FILE *out, uint64_t address)
{
	struct thread_variable v;

	if (trace_name_tls(d->trace, d->target, d->image->memory, address, &v))
		return false;
	if (v.name) {
		holder_put_variable(out, v.name, v.offset, v.module);
		fprintf(out, ", thread-local data of thread %d", (int)v.tid);
	} else {
		fprintf(out, "thread-local data of thread %d (", (int)v.tid);
		holder_put_file(out, v.module);
		fputc(')', out);
	}
	return true;
}

static void holder_put_memory(FILE *out, const struct mapping *m, uint64_t address)
{
	fprintf(out, "memory at 0x%" PRIx64, address);
	if (!m || !*m->path)
		return;
	fputs(" of ", out);
	holder_put_file(out, m->path);
}

/* Something of a thread's own? */
static bool holder_put_of_thread(const struct describer *d, FILE *out, const struct mapping *m,
				 uint64_t address)
{
	const struct memory_thread *on = holder_thread_on(d, m, address),
				   *with = holder_thread_with(d, m, address);
	int err = on ? holder_put_frame(d, out, on, address) : -ENOENT;

	if (!err || ((with || !m->ino) && holder_put_thread_variable(d, out, address)))
		return true;
	/*
	 * Where in a mapping the stack ends and thread-local data begins is known only when the
	 * walk has come to the stack's end.
	 */
	if (on && err == -ERANGE && address < on->tls && on->tls < m->end)
		with = on;
	else if (on && with && address < with->tls)
		with = NULL;
	if (with)
		fprintf(out, "thread-local data of thread %d", (int)with->tid);
	else if (on)
		fprintf(out, "the stack of thread %d, 0x%" PRIx64 " %s its stack pointer",
			(int)on->tid, address < on->sp ? on->sp - address : address - on->sp,
			address < on->sp ? "below" : "above");
	return on || with;
}

static void holder_put_root(const struct describer *d, FILE *out, uint64_t address)
{
	const struct mapping *m;

	if (address & REACH_REGISTER) {
		fprintf(out, "a register of thread %d",
			(int)d->image->memory->threads[(uint32_t)address].tid);
		return;
	}
	m = d->image->memory->maps ? maps_find(d->image->memory->maps, address) : NULL;
	if (m &&
	    (holder_put_of_thread(d, out, m, address) || holder_put_static(d, out, m, address)))
		return;
	if (m && !strcmp(m->path, "[heap]"))
		fprintf(out, "heap from before the attach, at 0x%" PRIx64, address);
	else
		holder_put_memory(out, m, address);
}

/* From the block to the root; *from is the root's word. NULL when out of memory. */
static uint32_t *holder_find_path(const struct reach *reach, uint32_t block, size_t *count,
				  uint64_t *from)
{
	uint32_t *steps = NULL;
	size_t room = 0;

	*count = 0;
	*from = 0;
	for (uint32_t at = block; at != UINT32_MAX && *count < STEPS_MAX;) {
		if (!RESERVE_ITEM(steps, *count, room, 64)) {
			free(steps);
			return NULL;
		}
		steps[(*count)++] = at;
		*from = reach_holder(reach, at);
		at = *from & REACH_REGISTER ? UINT32_MAX : reach_find(reach, *from);
		/* A word on a stack that lies in a block is a root all the same. */
		if (at != UINT32_MAX && reach_holder(reach, at) == 0)
			break;
	}
	return steps;
}

/* From the root to the block, a line each. */
static void holder_put_path(struct describer *d, FILE *out, const struct reach *reach,
			    const uint32_t *steps, size_t count, uint64_t from)
{
	/*
	 * What a library that was opened late has for a thread lies in a block of its own: it is
	 * the variable that is of interest.
	 */
	if (count > 1 && holder_put_thread_variable(d, out, reach_holder(reach, steps[count - 2])))
		count--;
	else
		holder_put_root(d, out, from);
	for (size_t i = count; i-- > 1;) {
		if (count - 1 - i == FIRST_STEPS && i > 2) {
			fprintf(out, "\n… %zu more blocks …", i - 1);
			i = 1;
		}
		fputc('\n', out);
		holder_put_block(d, out, steps[i]);
	}
}

static int holder_put_holders(struct describer *d, FILE *out, uint32_t block)
{
	size_t count;
	uint64_t from;
	uint32_t *steps = holder_find_path(d->reach, block, &count, &from);

	if (!steps)
		return -ENOMEM;
	holder_put_path(d, out, d->reach, steps, count, from);
	free(steps);
	return 0;
}

static int holder_describe_one(struct describer *d, struct stack *stack, uint32_t block)
{
	size_t len = 0;
	FILE *out = open_memstream(&stack->held_by, &len);
	int err = out ? holder_put_holders(d, out, block) : -ENOMEM;

	if (out && close_memstream(out))
		err = -ENOMEM;
	return err;
}

static void holder_take_contents(const struct describer *d, struct stack *stack, size_t index,
				 uint32_t contents)
{
	const struct heap_block *block = &d->image->blocks[index];
	uint64_t size = heap_block_end(d->image, index) - block->address;
	size_t n = size < contents ? (size_t)size : contents;

	stack->contents = calloc(n + 1, 1);
	for (size_t i = 0; stack->contents && i < n; i++) {
		uint64_t at = block->address + i, word;

		if (!memory_image_word(d->image->memory, at & ~7ull, &word))
			break;
		stack->contents[stack->contents_len++] = (char)(word >> at % 8 * 8);
	}
}

static bool holder_wants(const struct describer *d, size_t block, bool lost)
{
	enum verdict_class class = reach_class(d->reach, block);

	if (d->image->blocks[block].stack >= d->snapshot->stack_count)
		return false;
	return lost ? class == VERDICT_DEFINITE || class == VERDICT_INDIRECT
		    : class == VERDICT_REACHABLE;
}

/*
 * For each stack one block of the wanted kind, or UINT32_MAX: of those that are as old as their average or
 * older the youngest. The latest one may still be in the hands of the function that makes it, and then what is
 * found are its registers and its stack, and not what keeps them all.
 */
static uint32_t *holder_typical(const struct describer *d, bool lost)
{
	size_t n = d->snapshot->stack_count;
	uint32_t *blocks = malloc((n + 1) * sizeof(*blocks));
	_cleanup_free_ struct {
		uint64_t age_ms, count;
	} *sums = calloc(n + 1, sizeof(*sums));

	if (!blocks || !sums) {
		free(blocks);
		return NULL;
	}
	memset(blocks, 0xff, (n + 1) * sizeof(*blocks));
	for (size_t i = 0; i < d->image->block_count; i++) {
		const struct heap_block *b = &d->image->blocks[i];

		if (!holder_wants(d, i, lost))
			continue;
		sums[b->stack].age_ms += b->age_ms;
		sums[b->stack].count++;
	}
	for (size_t i = 0; i < d->image->block_count; i++) {
		const struct heap_block *b = &d->image->blocks[i];

		if (!holder_wants(d, i, lost) ||
		    b->age_ms < sums[b->stack].age_ms / sums[b->stack].count)
			continue;
		if (blocks[b->stack] == UINT32_MAX ||
		    b->age_ms < d->image->blocks[blocks[b->stack]].age_ms)
			blocks[b->stack] = (uint32_t)i;
	}
	return blocks;
}

/*
 * The stack with most reachable bytes among those that have no path yet; NULL when there is none.
 */
static struct stack *holder_next_held(struct snapshot *s, const uint32_t *blocks)
{
	struct stack *best = NULL;

	for (size_t i = 0; i < s->stack_count; i++) {
		struct stack *stack = &s->stacks[i];

		if (!stack->held_by && blocks[i] != UINT32_MAX &&
		    (!best || stack->verdict[VERDICT_REACHABLE].bytes >
				      best->verdict[VERDICT_REACHABLE].bytes))
			best = stack;
	}
	return best;
}

int holder_describe(struct trace *trace, struct target *target, struct snapshot *snapshot,
		    const struct heap_image *image, const struct reach *reach, uint32_t contents)
{
	struct describer d = {.trace = trace,
			      .target = target,
			      .snapshot = snapshot,
			      .image = image,
			      .reach = reach};
	_cleanup_free_ uint32_t *held = holder_typical(&d, false);
	_cleanup_free_ uint32_t *lost = contents ? holder_typical(&d, true) : NULL;
	int err = held && (lost || !contents) ? 0 : -ENOMEM;

	for (int i = 0; !err && i < PATHS; i++) {
		struct stack *stack = holder_next_held(snapshot, held);

		if (!stack)
			break;
		err = holder_describe_one(&d, stack, held[stack - snapshot->stacks]);
	}
	for (size_t i = 0; !err && lost && i < snapshot->stack_count; i++) {
		if (lost[i] != UINT32_MAX)
			holder_take_contents(&d, &snapshot->stacks[i], lost[i], contents);
	}
	return err;
}
