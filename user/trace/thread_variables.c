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

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/freeze/tls.h"
#include "user/heap/held_by.h"
#include "user/process/proc.h"
#include "user/symbol/symbol.h"
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
	uint64_t deadline_ns;
};

static void thread_variables_begin(struct tls_search *s, struct target *target,
				   const struct memory_image *memory, uint64_t deadline_ns)
{
	char path[64];

	*s = (struct tls_search){.target = target, .memory = memory, .deadline_ns = deadline_ns};
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
	const struct memory_thread *thread;
	uint64_t offset;
	int err = tls_find_thread(p, s->memory, address, s->deadline_ns, &thread, &offset);

	if (err)
		return err;
	out->tid = thread->tid;
	out->module = object_name(object);
	err = symbolizer_name_tls(trace->symbolizer, object, offset, s->target->pid, &out->name,
				  &out->offset);
	if (!out->name)
		out->offset = offset;
	return err;
}

/* As trace_name_tls(); -ETIME: it is later than the deadline. */
static int thread_variables_find(struct trace *trace, const struct tls_search *s, uint64_t address,
				 struct thread_variable *out)
{
	const struct image *image = s->target->image;
	const struct object *before = NULL;
	int err = -ENOENT;

	for (size_t i = 0; err == -ENOENT && i < image_range_count(image); i++) {
		const struct image_range *range = image_range_at(image, i);
		struct tls_place p;

		/* An object's ranges lie together. */
		if (!range->object || range->object == before)
			continue;
		before = range->object;
		/* To read what a file says takes its time as well. */
		if (monotonic_ns() >= s->deadline_ns)
			return -ETIME;
		err = thread_variables_look_at(trace, s, range, &p);
		err = err ? err
			  : thread_variables_name_in(trace, s, range->object, &p, address, out);
	}
	return err;
}

/* At every verdict it is so: said once. */
static int thread_variables_give_up(struct target *target, const struct memory_image *memory,
				    struct trace_tls_time *time)
{
	time->over = true;
	if (!target->variables_told)
		log_info("process %d (%s): thread-local variables are not looked for any more: "
			 "there are %zu threads, and %zu pieces of code; what such variables hold "
			 "is shown without their names",
			 target->pid, target->comm, memory->thread_count,
			 image_range_count(target->image));
	target->variables_told = true;
	return -ENOENT;
}

int trace_name_tls(struct trace *trace, struct target *target, const struct memory_image *memory,
		   struct trace_tls_time *time, uint64_t address, struct thread_variable *out)
{
	uint64_t start = monotonic_ns(), spent;
	struct tls_search search;
	int err;

	if (time->over)
		return -ENOENT;
	thread_variables_begin(&search, target, memory, start + time->left_ns);
	err = thread_variables_find(trace, &search, address, out);
	spent = monotonic_ns() - start;
	time->left_ns = spent < time->left_ns ? time->left_ns - spent : 0;
	return err == -ETIME ? thread_variables_give_up(target, memory, time) : err;
}
