// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/thread_locals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/freeze/tls.h"

/* So many files are looked at. */
#define OBJECTS_MAX 4096

const struct thread_locals_limits thread_locals_usual = {
	.looking_ns = 5 * NS_PER_S,
	.naming_ns = 5 * NS_PER_S,
};

/* An object of the process that has such variables. */
struct local_object {
	struct object *object; /* a reference */
	struct tls_place place;
};

struct thread_locals {
	const struct memory_image *memory;
	const struct class_files *files;
	uint64_t entry;
	const struct thread_locals_limits *limits;
	uint64_t spent_ns; /* on naming */
	bool late;	   /* it has been said */
	bool found;	   /* all of them have been looked for */
	struct local_object *objects;
	size_t count, room;
};

struct thread_locals *thread_locals_new(const struct memory_image *memory,
					const struct class_files *files, uint64_t entry,
					const struct thread_locals_limits *limits)
{
	struct thread_locals *locals = calloc(1, sizeof(*locals));

	if (locals)
		*locals = (struct thread_locals){
			.memory = memory, .files = files, .entry = entry, .limits = limits};
	return locals;
}

void thread_locals_free(struct thread_locals *locals)
{
	if (!locals)
		return;
	for (size_t i = 0; i < locals->count; i++)
		object_unref(locals->objects[i].object);
	free(locals->objects);
	free(locals);
}

static bool thread_locals_same_file(const struct mapping *a, const struct mapping *b)
{
	return a && b && a->ino == b->ino && a->dev == b->dev;
}

static bool thread_locals_is_glibc(const struct maps *maps)
{
	for (size_t i = 0; i < maps_count(maps); i++) {
		const char *slash = strrchr(maps_at(maps, i)->path, '/');

		if (slash && !strcmp(slash + 1, "libc.so.6"))
			return true;
	}
	return false;
}

/* An object's layout is read once: its relocations may be tens of MiB. */
static int thread_locals_read_layout(const struct thread_locals *l, struct local_object *found)
{
	for (size_t i = 0; i < l->count; i++) {
		if (l->objects[i].object == found->object) {
			found->place.layout = l->objects[i].place.layout;
			return 0;
		}
	}
	return tls_layout_read(found->object, &found->place.layout);
}

/* By the first mapping of its file. What cannot be read has no variables that are known. */
static int thread_locals_look_at(struct thread_locals *l, const struct mapping *m, bool glibc)
{
	struct local_object found = {0};
	uint64_t vaddr;

	if (l->files->object(l->files->ctx, m, &found.object))
		return 0;
	if (thread_locals_read_layout(l, &found) ||
	    object_offset_to_vaddr(found.object, m->offset, &vaddr)) {
		object_unref(found.object);
		return 0;
	}
	if (!RESERVE_ITEM(l->objects, l->count, l->room, 16)) {
		object_unref(found.object);
		return -ENOMEM;
	}
	found.place.is_program = thread_locals_same_file(m, maps_find(l->memory->maps, l->entry));
	tls_place_find(&found.place, l->memory, m->start - vaddr, glibc);
	l->objects[l->count++] = found;
	return 0;
}

static int thread_locals_find(struct thread_locals *l)
{
	const struct maps *maps = l->memory->maps;
	bool glibc = thread_locals_is_glibc(maps);
	uint64_t deadline = monotonic_ns() + l->limits->looking_ns;
	int err = 0;

	l->found = true;
	for (size_t i = 0; !err && i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);

		if (!m->ino || m->shared || (i && thread_locals_same_file(m, maps_at(maps, i - 1))))
			continue;
		if (l->count == OBJECTS_MAX || monotonic_ns() >= deadline) {
			log_info("files are not looked at for thread-local variables any more, "
				 "there "
				 "are too many: those of %s and what comes behind it are not known",
				 m->path);
			break;
		}
		err = thread_locals_look_at(l, m, glibc);
	}
	return err;
}

/* -ETIME: it is later than the deadline. */
static int thread_locals_name_in(struct thread_locals *l, const struct local_object *o,
				 uint64_t address, uint64_t deadline, struct thread_variable *out)
{
	const struct memory_thread *thread;
	uint64_t offset;
	int err = tls_find_thread(&o->place, l->memory, address, deadline, &thread, &offset);

	if (err)
		return err;
	out->tid = thread->tid;
	out->module = object_name(o->object);
	err = symbolizer_name_tls(l->files->symbolizer, o->object, offset, l->files->pid,
				  &out->name, &out->offset);
	if (!out->name)
		out->offset = offset;
	return err;
}

static int thread_locals_give_up(struct thread_locals *l)
{
	if (!l->late)
		log_info("thread-local variables are not looked for any more: there are %zu "
			 "threads, and %zu files that have such variables; what they hold is shown "
			 "without their names",
			 l->memory->thread_count, l->count);
	l->late = true;
	return -ENOENT;
}

int thread_locals_name(struct thread_locals *l, uint64_t address, struct thread_variable *out)
{
	uint64_t start, left;
	int err = 0;

	if (!l->memory->maps || !l->files->object || !l->files->symbolizer)
		return -ENOENT;
	if (!l->found)
		err = thread_locals_find(l);
	if (err)
		return err;
	if (l->late)
		return -ENOENT;
	start = monotonic_ns();
	left = l->spent_ns < l->limits->naming_ns ? l->limits->naming_ns - l->spent_ns : 0;
	err = -ENOENT;
	for (size_t i = 0; err == -ENOENT && i < l->count; i++)
		err = thread_locals_name_in(l, &l->objects[i], address, start + left, out);
	l->spent_ns += monotonic_ns() - start;
	return err == -ETIME ? thread_locals_give_up(l) : err;
}
