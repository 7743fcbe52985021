// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/held_by.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/heap/dead_memory.h"

/* Steps of a path: a list may be a million long. */
#define FIRST_STEPS 5

static const char *held_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* A path may hold anything; a line of what holds a block is one line. */
static void held_put_file(FILE *out, const char *path)
{
	static const struct text_rules rules = {.harmful = "?"};

	text_put(out, held_base_name(path), &rules);
}

/*
 * gcc numbers the static variables of functions ("cache.0"), clang begins with the function's name
 * ("fill.cache"): of the first the number says nothing. C++'s are demangled, with their function.
 */
static int held_length_without_number(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot > name && dot[1] && strspn(dot + 1, "0123456789") == strlen(dot + 1)
		       ? (int)(dot - name)
		       : (int)strlen(name);
}

/*
 * What is being named: the very place, or the whole of which it is a part.
 */
struct held_place {
	FILE *out;
	uint64_t address;
	bool whole, frames; /* `frames`: the function in whose stack frame it is is wanted */
	uint64_t key;	    /* of a variable that has a name: where it begins */
};

static void held_put_variable(FILE *out, const char *name, uint64_t offset, const char *path)
{
	fprintf(out, "%.*s", held_length_without_number(name), name);
	if (offset)
		fprintf(out, "+0x%" PRIx64, offset);
	fputs(" (", out);
	held_put_file(out, path);
	fputc(')', out);
}

/* A variable of an object; name is NULL where it has no symbol. */
struct held_variable {
	const struct mapping *file;
	const char *name;
	uint64_t offset, vaddr;
};

/* An anonymous mapping right behind a file's is the rest of its data (.bss). */
static bool held_find_variable(const struct held_by *h, const struct mapping *m, uint64_t address,
			       struct held_variable *out)
{
	const struct maps *maps = h->image->memory->maps;
	const struct mapping *file = m;
	const struct mapping *first = NULL;

	if (!m->ino && m->start) {
		file = maps_find(maps, m->start - 1);
		if (m->apart || *m->path || !file || !file->ino || file->end != m->start)
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
	return first &&
	       !h->names.data(h->names.ctx, first, address, &out->name, &out->offset, &out->vaddr);
}

/* By the variable's name; without a symbol by the address that `nm` would show. */
static bool held_put_static(const struct held_by *h, struct held_place *p, const struct mapping *m)
{
	struct held_variable v;

	if (!held_find_variable(h, m, p->address, &v))
		return false;
	if (v.name) {
		p->key = p->address - v.offset;
		held_put_variable(p->out, v.name, p->whole ? 0 : v.offset, v.file->path);
	} else {
		fputs("data of ", p->out);
		held_put_file(p->out, v.file->path);
		if (!p->whole)
			fprintf(p->out, "+0x%" PRIx64, v.vaddr);
	}
	return true;
}

/*
 * Of a C++ object a pointer into its virtual table, behind the two words with which that begins (Itanium C++ ABI
 * 2.5.2); of an interpreter's object one to its type (CPython's has it second, or fourth behind what the collector
 * keeps).
 */
void held_by_put_type(const struct held_by *h, FILE *out, const struct heap_block *b)
{
	for (uint64_t at = b->address; at < b->address + 32 && at < b->address + b->size; at += 8) {
		const struct mapping *m = NULL;
		struct held_variable v;
		uint64_t word;

		if (memory_image_word(h->image->memory, at, &word))
			m = maps_find(h->image->memory->maps, word);
		if (!m || m->exec || !held_find_variable(h, m, word, &v) || !v.name ||
		    v.offset != (at == b->address && m->ino && !m->write ? 16 : 0))
			continue;
		fputs(", a pointer to ", out);
		held_put_variable(out, v.name, v.offset, v.file->path);
		fputs(" in it", out);
		return;
	}
}

static void held_put_block(const struct held_by *h, FILE *out, uint32_t block)
{
	char human[FORMAT_BYTES_MAX];

	fprintf(out, "a block of %s", format_bytes(human, heap_block_at(h->image, block).size));
	h->names.block(h->names.ctx, out, block);
}

/*
 * The thread on whose stack the address is: the nearest one below, for several stacks may lie in a
 * mapping.
 */
static const struct memory_thread *held_thread_on(const struct held_by *h, const struct mapping *m,
						  uint64_t address)
{
	const struct memory_thread *best = NULL;

	for (size_t i = 0; i < h->image->memory->thread_count; i++) {
		const struct memory_thread *t = &h->image->memory->threads[i];

		if (t->sp >= m->start && t->sp < m->end && t->sp <= address + STACK_RED_ZONE &&
		    (!best || t->sp > best->sp))
			best = t;
	}
	return best;
}

/*
 * The thread whose thread-local data it is: that lies around the thread pointer, mostly below it.
 */
static const struct memory_thread *held_thread_with(const struct held_by *h,
						    const struct mapping *m, uint64_t address)
{
	for (size_t i = 0; i < h->image->memory->thread_count; i++) {
		const struct memory_thread *t = &h->image->memory->threads[i];

		if (t->tls >= m->start && t->tls < m->end &&
		    address >= (t->tls & ~4095ull) - 4096 && address < t->tls + 4096)
			return t;
	}
	return NULL;
}

/* 0, or why there is none: as held_names.frame(). */
static int held_put_frame(const struct held_by *h, FILE *out, const struct memory_thread *thread,
			  uint64_t address)
{
	char where[FRAME_WHERE_MAX];
	const struct frame *frame;
	int err;

	if (!h->names.frame)
		return -ENOENT;
	err = h->names.frame(h->names.ctx, thread, address, &frame);
	if (err)
		return err;
	fputs(frame->function, out);
	if (frame->file && frame->line)
		fprintf(out, " at %s:%" PRIu32, held_base_name(frame->file), frame->line);
	if (*frame_where(frame, where))
		fprintf(out, " (%s)", where);
	fprintf(out, ", on the stack of thread %d", (int)thread->tid);
	return 0;
}

static bool held_put_thread_variable(const struct held_by *h, FILE *out, uint64_t address,
				     bool whole)
{
	struct thread_variable v;

	if (!h->names.thread_variable || h->names.thread_variable(h->names.ctx, address, &v))
		return false;
	if (v.name) {
		held_put_variable(out, v.name, whole ? 0 : v.offset, v.module);
		fprintf(out, ", thread-local data of thread %d", (int)v.tid);
	} else {
		fprintf(out, "thread-local data of thread %d (", (int)v.tid);
		held_put_file(out, v.module);
		fputc(')', out);
	}
	return true;
}

static void held_put_memory(struct held_place *p, const struct mapping *m)
{
	FILE *out = p->out;

	fprintf(out, "memory at 0x%" PRIx64, p->whole && m ? m->start : p->address);
	if (!m || !*m->path)
		return;
	fputs(" of ", out);
	held_put_file(out, m->path);
}

/* Something of a thread's own? */
static bool held_put_of_thread(const struct held_by *h, struct held_place *p,
			       const struct mapping *m)
{
	const uint64_t address = p->address;
	const struct memory_thread *on = held_thread_on(h, m, address),
				   *with = held_thread_with(h, m, address);
	int err = on && p->frames ? held_put_frame(h, p->out, on, address) : -ENOENT;

	if (!err || ((with || !m->ino) && held_put_thread_variable(h, p->out, address, p->whole)))
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
		fprintf(p->out, "thread-local data of thread %d", (int)with->tid);
	else if (on && p->whole)
		fprintf(p->out, "the stack of thread %d", (int)on->tid);
	else if (on)
		fprintf(p->out, "the stack of thread %d, 0x%" PRIx64 " %s its stack pointer",
			(int)on->tid, address < on->sp ? on->sp - address : address - on->sp,
			address < on->sp ? "below" : "above");
	return on || with;
}

static void held_put_place(const struct held_by *h, struct held_place *p)
{
	const struct mapping *m;

	if (p->address == REACH_IN_HAND) {
		fputs("a thread that may have been allocating or freeing it at that moment",
		      p->out);
		return;
	}
	if (p->address & REACH_REGISTER) {
		fprintf(p->out, "%s of thread %d", p->whole ? "registers" : "a register",
			(int)h->image->memory->threads[(uint32_t)p->address].tid);
		return;
	}
	m = h->image->memory->maps ? maps_find(h->image->memory->maps, p->address) : NULL;
	if (m && (held_put_of_thread(h, p, m) || held_put_static(h, p, m)))
		return;
	if (!m || strcmp(m->path, "[heap]"))
		held_put_memory(p, m);
	else if (p->whole)
		fputs(h->names.heap, p->out);
	else
		fprintf(p->out, "%s, at 0x%" PRIx64, h->names.heap, p->address);
}

void held_by_put_root(const struct held_by *h, FILE *out, uint64_t address)
{
	struct held_place place = {.out = out, .address = address, .frames = true};

	held_put_place(h, &place);
}

uint64_t held_by_put_whole(const struct held_by *h, FILE *out, uint64_t address, bool frames)
{
	struct held_place place = {.out = out, .address = address, .whole = true, .frames = frames};

	held_put_place(h, &place);
	return place.key;
}

bool held_by_is_thread_variable(const struct held_by *h, uint64_t address)
{
	struct thread_variable v;

	return h->names.thread_variable && !h->names.thread_variable(h->names.ctx, address, &v);
}

/* From the block to the root; *from is the root's word. NULL when out of memory. */
static uint32_t *held_find_path(const struct held_by *h, uint32_t block, size_t *count,
				uint64_t *from)
{
	const struct reach *reach = h->reach;
	uint32_t *steps = NULL;
	size_t room = 0;

	*count = 0;
	*from = 0;
	for (uint32_t at = block; at != UINT32_MAX && *count < h->image->block_count;) {
		if (!RESERVE_ITEM(steps, *count, room, 64)) {
			free(steps);
			return NULL;
		}
		steps[(*count)++] = at;
		*from = reach_holder(reach, at);
		if (*from & REACH_REGISTER || reach_is_root_inside(reach, *from))
			break;
		at = reach_find(reach, *from);
		/* Something that leads to it is lost. */
		if (at != UINT32_MAX && reach_holder(reach, at) == 0)
			break;
	}
	return steps;
}

/* From the root to the block, a line each. */
static void held_put_path(const struct held_by *h, FILE *out, const struct reach *reach,
			  const uint32_t *steps, size_t count, uint64_t from)
{
	/*
	 * What a library that was opened late has for a thread lies in a block of its own: it is
	 * the variable that is of interest.
	 */
	if (count > 1 &&
	    held_put_thread_variable(h, out, reach_holder(reach, steps[count - 2]), false))
		count--;
	else
		held_by_put_root(h, out, from);
	for (size_t i = count; i-- > 1;) {
		if (count - 1 - i == FIRST_STEPS && i > 2) {
			fprintf(out, "\n… %zu more blocks …", i - 1);
			i = 1;
		}
		fputc('\n', out);
		held_put_block(h, out, steps[i]);
	}
}

int held_by_put(const struct held_by *h, FILE *out, uint32_t block)
{
	size_t count;
	uint64_t from;
	uint32_t *steps = held_find_path(h, block, &count, &from);

	if (!steps)
		return -ENOMEM;
	held_put_path(h, out, h->reach, steps, count, from);
	free(steps);
	return 0;
}
