// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/python/python_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/runtime/python/cpython_code_end.h"
#include "user/runtime/python/python_stack.h"
#include "user/runtime/python/target_python.h"
#include "user/runtime/runtime_rows.h"

static const char *python_rows_refusal(const struct runtimes *runtimes,
				       const struct known_python *python)
{
	if (python->refusal[0])
		return python->refusal;
	if (runtimes->host.old || !runtimes->host.task_storage)
		return PYTHON_OLD_KERNEL;
	return NULL;
}

/* Once for each file: a build may start it a thousand times. */
static void python_rows_say(const struct runtime_target *target, const struct object *object,
			    struct known_python *python, const char *refusal)
{
	char version[PYTHON_VERSION_TEXT];

	python_version_text(python->runtime.version, version);
	if (!python->said)
		log_info("process %d (%s): no frames of Python (%s%s): %s", target->pid,
			 target->comm, object_name(object), version, refusal);
	python->said = true;
}

static struct target_python *python_of(const struct runtime_target *target)
{
	return target->states[RUNTIME_PYTHON];
}

/* NULL: there is no memory. */
static struct target_python *python_get(struct runtime_target *target)
{
	if (!target->states[RUNTIME_PYTHON])
		target->states[RUNTIME_PYTHON] = calloc(1, sizeof(struct target_python));
	return target->states[RUNTIME_PYTHON];
}

/* The programs are to follow it no more; a forked child may have its parent's row. */
static void python_rows_end(struct runtimes *runtimes, struct runtime_target *target)
{
	struct target_python *python = python_of(target);

	python->known = NULL;
	python->followed = false;
	runtime_rows_end(runtimes, target, RUNTIME_PYTHON);
}

static void python_rows_begin(struct runtimes *runtimes, struct runtime_target *target,
			      const struct object *object)
{
	struct target_python *python = python_of(target);
	const struct python_row row = python_row_at(&python->known->runtime, python->bias);
	char version[PYTHON_VERSION_TEXT];
	int err;

	/* The kernel refuses what follows it, which has been said. */
	if (runtimes->host.load(runtimes->host.ctx, RUNTIME_PYTHON))
		return;
	python_version_text(python->known->runtime.version, version);
	err = runtime_rows_put(runtimes, target, RUNTIME_PYTHON, &row);
	if (err) {
		log_errno(err, "cannot enter the Python of process %d in a BPF map", target->pid);
		python_rows_end(runtimes, target);
		return;
	}
	python->followed = true;
	log_debug("process %d (%s): frames of Python%s (%s)", target->pid, target->comm, version,
		  object_name(object));
}

/* Where an interpreter is mapped. */
struct python_place {
	struct known_python *python;
	struct object *object;
	uint64_t bias;
	const char *refusal; /* why its frames are not shown; NULL: they are */
};

static bool python_place_at(const struct runtimes *runtimes, const struct image_range *range,
			    struct python_place *place)
{
	const struct runtime_host *host = &runtimes->host;
	const struct runtime_object *known =
		range->object ? host->object(host->ctx, range->object, false) : NULL;
	uint64_t vaddr;

	if (!known || !known->known[RUNTIME_PYTHON] ||
	    object_code_vaddr(range->object, range->offset, &vaddr))
		return false;
	*place = (struct python_place){
		.python = known->known[RUNTIME_PYTHON],
		.object = range->object,
		.bias = range->start - vaddr,
		.refusal = python_rows_refusal(runtimes, known->known[RUNTIME_PYTHON]),
	};
	return true;
}

static bool python_place_is_known(const struct runtime_target *target,
				  const struct python_place *place)
{
	const struct target_python *python = python_of(target);

	return python && python->known == place->python && python->bias == place->bias;
}

/*
 * Chooses the best of the interpreters in the image: one that is followed before one that is not.
 * Among equals it takes the one that is known of the target, or else the first. Returns how many
 * different ones there are.
 */
static size_t python_places(const struct runtimes *runtimes, const struct runtime_target *target,
			    const struct image *image, struct python_place *best)
{
	struct python_place place, last = {0};
	size_t count = 0;

	*best = (struct python_place){0};
	for (size_t i = 0; i < image_range_count(image); i++) {
		bool better;

		if (!python_place_at(runtimes, image_range_at(image, i), &place))
			continue;
		if (!count || place.python != last.python || place.bias != last.bias)
			count++;
		last = place;
		better = best->refusal ? !place.refusal || python_place_is_known(target, &place)
				       : !place.refusal && python_place_is_known(target, &place);
		if (!best->python || better)
			*best = place;
	}
	return count;
}

/*
 * Where the target has its interpreter; best->python: NULL: nowhere. What it has closed stays in the
 * image until something executable is mapped over it, so that of several the maps tell which are
 * there. The image in which it was found, to be freed; NULL: the target's own.
 */
static struct image *python_rows_find(struct runtimes *runtimes,
				      const struct runtime_target *target,
				      struct python_place *best)
{
	const struct runtime_host *host = &runtimes->host;
	struct image *now;

	for (size_t i = 0; i < image_range_count(target->image); i++) {
		struct object *object = image_range_at(target->image, i)->object;

		if (object)
			host->object(host->ctx, object, true);
	}
	if (python_places(runtimes, target, target->image, best) < 2)
		return NULL;
	now = image_clone(target->image, target->pid);
	if (now && !image_refresh(now))
		python_places(runtimes, target, now, best);
	return now;
}

static void python_rows_change(struct runtimes *runtimes, struct runtime_target *target,
			       const struct python_place *place)
{
	enum runtime_libc libc = runtime_libc_of(target->image);
	struct target_python *python;
	const char *refusal = place->refusal;

	/* The program is mapped before its C library is. */
	if (!refusal && libc == RUNTIME_LIBC_NONE)
		return;
	python = python_get(target);
	if (!python)
		return;
	if (!refusal && libc == RUNTIME_LIBC_OTHER)
		refusal = RUNTIME_OTHER_LIBC;
	if (refusal) {
		python_rows_end(runtimes, target);
		python_rows_say(target, place->object, place->python, refusal);
	}
	python->known = place->python;
	python->bias = place->bias;
	python->code_ends = false;
	if (!refusal)
		python_rows_begin(runtimes, target, place->object);
}

static void python_look(struct runtimes *runtimes, struct runtime_target *target)
{
	struct python_place place;
	struct image *now;

	if (!target->image)
		return;
	now = python_rows_find(runtimes, target, &place);
	if (place.python && !python_place_is_known(target, &place))
		python_rows_change(runtimes, target, &place);
	/* It has closed the library that it was in. */
	else if (!place.python && python_of(target) && python_of(target)->known)
		python_rows_end(runtimes, target);
	image_free(now);
}

/* ---- which code objects end ------------------------------------------------------------------ */

int python_find_code_end(const struct runtime_object *known, struct object *object,
			 struct provider **out)
{
	const struct known_python *python = known->known[RUNTIME_PYTHON];

	return python && !python->refusal[0] ? code_end_find(object, &python->runtime, out)
					     : -ENOENT;
}

bool python_wants_code_ends(const struct runtime_target *target,
			    const struct runtime_object *object)
{
	const struct target_python *python = python_of(target);

	return python && python->followed && !python->code_ends &&
	       python->known == object->known[RUNTIME_PYTHON];
}

void python_tell_code_ends(struct runtimes *runtimes, struct runtime_target *target, bool told)
{
	struct target_python *python = python_of(target);
	int fd = runtimes->host.rows[RUNTIME_PYTHON];
	struct python_row row;

	if (!python || python->code_ends == told)
		return;
	python->code_ends = told;
	if (bpf_map_lookup_elem(fd, &target->id, &row))
		return;
	row.tells_code_ends = told;
	bpf_map_update_elem(fd, &target->id, &row, BPF_EXIST);
	/* Whose threads have the row. */
	runtimes->host.changed(runtimes->host.ctx);
	log_debug("process %d (%s): the ends of Python's code objects are %stold", target->pid,
		  target->comm, told ? "" : "no longer ");
}

/* ---- the language ---------------------------------------------------------------------------- */

/* Is it CPython? Without memory, no. */
static void *python_know(struct object *object)
{
	struct known_python *python = calloc(1, sizeof(*python));
	int err = python ? python_find(object, &python->runtime, python->refusal) : -ENOMEM;

	if (err && err != -ENOTSUP) {
		free(python);
		return NULL;
	}
	python->object_id = object_id(object);
	return python;
}

static void python_event(struct runtimes *runtimes, struct runtime_target *target,
			 enum runtime_event_kind kind, const struct event_header *header)
{
	struct target_python *python = python_get(target);

	(void)kind;
	if (python)
		python_names_add_code(runtimes, &python->names, (const void *)header);
}

static const char *const python_reasons[] = {
	[PYTHON_UNREADABLE] = "a frame of it is in no memory",
	[PYTHON_NO_CODE] = "what a frame has for its code is none",
	[PYTHON_ELSEWHERE] = "a frame's instruction is not in its code",
	[PYTHON_NO_STATE] = "the thread's state is in no memory",
};

static void python_failed(const struct runtime_target *target,
			  const struct runtime_failed_event *event)
{
	char number[32] = "";

	if (event->failure >= ARRAY_SIZE(python_reasons) || !python_reasons[event->failure])
		return;
	if (event->failure != PYTHON_NO_STATE)
		snprintf(number, sizeof(number), "number %u, ", event->number);
	log_info("process %d (%s): stacks without frames of Python: %s (%sat 0x%llx); its "
		 "C functions are shown",
		 target->pid, target->comm, python_reasons[event->failure], number,
		 (unsigned long long)event->address);
}

static bool python_doctor(const struct image *image, struct object *object, enum runtime runtime,
			  char text[static RUNTIME_DOCTOR_TEXT])
{
	char reason[REASON_MAX], version[PYTHON_VERSION_TEXT];
	struct python_runtime python;
	int err = python_find(object, &python, reason);
	enum runtime_libc libc = runtime_libc_of(image);

	(void)runtime; /* one that tells nothing by its symbols, too */
	if (err && err != -ENOTSUP)
		return false;
	if (!err && libc != RUNTIME_LIBC_GLIBC) {
		snprintf(reason, sizeof(reason), "%s",
			 libc == RUNTIME_LIBC_NONE ? RUNTIME_NO_LIBC : RUNTIME_OTHER_LIBC);
		err = -ENOTSUP;
	}
	python_version_text(python.version, version);
	snprintf(text, RUNTIME_DOCTOR_TEXT, "Python%s: %s%s", version,
		 err ? "no frames of it, stacks have C functions only: "
		     : "stacks have its functions, with file and line (Linux 5.15 and later)",
		 err ? reason : "");
	return true;
}

static void python_free(struct runtimes *runtimes, void *state)
{
	struct target_python *python = state;

	python_names_clear(runtimes, &python->names);
	free(python);
}

const struct runtime_ops python_ops = {
	.runtime = RUNTIME_PYTHON,
	.name = "Python",
	.mark = "_PyRuntime",
	.know = python_know,
	.look = python_look,
	.event = python_event,
	.weave = python_stack_weave,
	.failed = python_failed,
	.doctor = python_doctor,
	.free = python_free,
};
