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

static int thread_variables_look_at(struct trace *trace, const struct tls_search *s,
				    const struct image_range *range, struct tls_place *out)
{
	struct object *object = range->object;
	uint64_t vaddr;
	int err = thread_variables_layout_of(trace, object, &out->layout);

	err = err ?: object_code_vaddr(object, range->offset, &vaddr);
	if (err)
		return err;
	out->is_program = s->program.st_ino && object_ino(object) == s->program.st_ino &&
			  object_dev(object) == s->program.st_dev;
	tls_place_find(out, s->memory, range->start - vaddr, s->glibc);
	return 0;
}

static int thread_variables_name_in(struct trace *trace, const struct tls_search *s,
				    struct object *object, const struct tls_place *p,
				    uint64_t address, struct thread_variable *out)
{
	for (size_t i = 0; i < s->memory->thread_count; i++) {
		const struct memory_thread *thread = &s->memory->threads[i];
		uint64_t block = tls_block_of(p, s->memory, thread);
		int err;

		if (!block || address < block || address - block >= p->layout.size)
			continue;
		out->tid = thread->tid;
		out->module = object_name(object);
		err = symbolizer_name_tls(trace->symbolizer, object, address - block,
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
		struct tls_place p;

		/* An object's ranges lie together. */
		if (!range->object || range->object == before)
			continue;
		before = range->object;
		err = thread_variables_look_at(trace, &search, range, &p);
		err = err ? err
			  : thread_variables_name_in(trace, &search, range->object, &p, address,
						     out);
	}
	return err;
}
