// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Whose thread-local variable an address is: each thread has a block of them for each object that
 * has any.
 */
#include "user/trace/thread_variables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/freeze/tls.h"
#include "user/process/proc.h"
#include "user/trace/target.h"

#if defined(__x86_64__)
#define VECTOR_OFFSET 8 /* glibc's tcbhead_t.dtv */
#else
#define VECTOR_OFFSET 0
#endif

/* What an object's file says: read once, for each verdict asks about several places. */
struct known_layout {
	uint64_t id; /* object_id(): the key */
	bool any;
	struct tls_layout layout;
	UT_hash_handle hh;
};

void thread_variables_free(struct trace *trace)
{
	struct known_layout *known, *next;

	HASH_ITER (hh, trace->layouts, known, next) {
		HASH_DEL(trace->layouts, known);
		free(known);
	}
}

/* As tls_layout_read(). */
static int thread_variables_layout_of(struct trace *trace, const struct object *object,
				      struct tls_layout *out)
{
	uint64_t id = object_id(object);
	struct known_layout *known;

	HASH_FIND(hh, trace->layouts, &id, sizeof(id), known);
	if (!known) {
		known = calloc(1, sizeof(*known));
		if (!known)
			return -ENOMEM;
		known->id = id;
		known->any = !tls_layout_read(object, &known->layout);
		HASH_ADD(hh, trace->layouts, id, sizeof(known->id), known);
		if (!known->hh.tbl) {
			free(known);
			return -ENOMEM;
		}
	}
	*out = known->layout;
	return known->any ? 0 : -ENOENT;
}

/* An object of the target with thread-local variables. */
struct tls_object {
	struct object *object;
	struct tls_layout layout;
	bool is_program;
	uint64_t distance, module; /* 0: not known */
};

struct tls_search {
	struct target *target;
	const struct memory_image *memory;
	struct stat program;
	bool glibc; /* its vector of blocks is known */
};

static void thread_variables_begin(struct tls_search *s, struct target *target,
				   const struct memory_image *memory)
{
	char path[64];

	*s = (struct tls_search){.target = target, .memory = memory};
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)proc_memory_id(target->pid));
	if (stat(path, &s->program))
		s->program = (struct stat){0};
	for (size_t i = 0; i < image_range_count(target->image); i++) {
		const struct object *object = image_range_at(target->image, i)->object;

		s->glibc |= object && !strcmp(object_name(object), "libc.so.6");
	}
}

/* What the dynamic linker has written into a word of the object. */
static bool thread_variables_read_word(const struct tls_search *s, const struct image_range *range,
				       const struct tls_word *word, uint64_t *value)
{
	uint64_t vaddr;

	if (!word->known || object_offset_to_vaddr(range->object, range->offset, &vaddr) ||
	    !memory_image_word(s->memory, range->start - vaddr + word->vaddr, value))
		return false;
	*value -= word->addend;
	return true;
}

static int thread_variables_look_at(struct trace *trace, const struct tls_search *s,
				    const struct image_range *range, struct tls_object *out)
{
	struct object *object = range->object;
	int err = thread_variables_layout_of(trace, object, &out->layout);

	if (err)
		return err;
	out->object = object;
	out->is_program = s->program.st_ino && object_ino(object) == s->program.st_ino &&
			  object_dev(object) == s->program.st_dev;
	if (!thread_variables_read_word(s, range, &out->layout.distance, &out->distance))
		out->distance = 0;
	if (!s->glibc || !thread_variables_read_word(s, range, &out->layout.module, &out->module))
		out->module = 0;
	return 0;
}

/* Where the thread's block of that object begins; 0: not known. */
static uint64_t thread_variables_block_of(const struct tls_search *s, const struct tls_object *p,
					  const struct memory_thread *thread)
{
	uint64_t vector, room, block;

	if (!thread->tls)
		return 0;
	if (p->is_program)
		return tls_block_of_program(&p->layout, thread->tls);
	if (p->distance)
		return thread->tls + p->distance;
	/*
	 * glibc's dtv_t: 16 bytes each, the first has a counter, and how many there are stands
	 * before it. Number 1 is the program's.
	 */
	if (p->module < 2 || !memory_image_word(s->memory, thread->tls + VECTOR_OFFSET, &vector) ||
	    !memory_image_word(s->memory, vector - 16, &room) || p->module > room ||
	    !memory_image_word(s->memory, vector + 16 * p->module, &block))
		return 0;
	return block;
}

static int thread_variables_name_in(struct trace *trace, const struct tls_search *s,
				    const struct tls_object *p, uint64_t address,
				    struct thread_variable *out)
{
	for (size_t i = 0; i < s->memory->thread_count; i++) {
		const struct memory_thread *thread = &s->memory->threads[i];
		uint64_t block = thread_variables_block_of(s, p, thread);
		int err;

		if (!block || address < block || address - block >= p->layout.size)
			continue;
		out->tid = thread->tid;
		out->module = object_name(p->object);
		err = symbolizer_name_tls(trace->symbolizer, p->object, address - block,
					  s->target->pid, &out->name, &out->offset);
		if (!out->name)
			out->offset = address - block;
		return err;
	}
	return -ENOENT;
}

int trace_name_tls(struct trace *trace, struct target *target, const struct memory_image *memory,
		   uint64_t address, struct thread_variable *out)
{
	const struct object *before = NULL;
	struct tls_search search;
	int err = -ENOENT;

	thread_variables_begin(&search, target, memory);
	for (size_t i = 0; err == -ENOENT && i < image_range_count(target->image); i++) {
		const struct image_range *range = image_range_at(target->image, i);
		struct tls_object p;

		/* An object's ranges lie together. */
		if (!range->object || range->object == before)
			continue;
		before = range->object;
		err = thread_variables_look_at(trace, &search, range, &p);
		err = err ? err : thread_variables_name_in(trace, &search, &p, address, out);
	}
	return err;
}
