// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/python/python_rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/runtime/python/cpython.h"
#include "user/trace/known_objects.h"
#include "user/trace/later.h"
#include "user/trace/skeleton.h"

static const char *python_rows_refusal(const struct trace *trace, const struct known_python *python)
{
	if (python->refusal[0])
		return python->refusal;
	if (trace->options.old || !trace->options.task_storage)
		return PYTHON_OLD_KERNEL;
	return NULL;
}

/* Once for each file: a build may start it a thousand times. */
static void python_rows_say(const struct target *target, const struct object *object,
			    struct known_python *python, const char *refusal)
{
	char version[PYTHON_VERSION_TEXT];

	python_version_text(python->runtime.version, version);
	if (!python->said)
		log_info("process %d (%s): no frames of Python (%s%s): %s", target->pid,
			 target->comm, object_name(object), version, refusal);
	python->said = true;
}

/* The programs are to follow it no more; a forked child may have its parent's row. */
static void python_rows_end(struct trace *trace, struct target *target)
{
	target->python = NULL;
	target->python_followed = false;
	python_rows_drop(trace, target->id);
	targets_changed(trace);
}

static void python_rows_begin(struct trace *trace, struct target *target,
			      const struct object *object, const struct known_python *python)
{
	const struct python_row row = python_row_at(&python->runtime, target->python_bias);
	char version[PYTHON_VERSION_TEXT];

	/* The kernel refuses what follows it, which has been said. */
	if (later_runtimes(trace, TARGET_PYTHON))
		return;
	if (bpf_map_update_elem(bpf_map__fd(trace->skel->maps.python_rows), &target->id, &row,
				BPF_ANY)) {
		log_errno(errno, "cannot enter the Python of process %d in a BPF map", target->pid);
		python_rows_end(trace, target);
		return;
	}
	target->has_runtime = target->python_followed = true;
	/* Whose threads look for the row then. */
	targets_changed(trace);
	python_version_text(python->runtime.version, version);
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

static bool python_place_at(const struct trace *trace, const struct image_range *range,
			    struct python_place *place)
{
	const struct known_object *known =
		range->object ? known_object_find(trace, range->object) : NULL;
	uint64_t vaddr;

	if (!known || !known->python || object_code_vaddr(range->object, range->offset, &vaddr))
		return false;
	*place = (struct python_place){
		.python = known->python,
		.object = range->object,
		.bias = range->start - vaddr,
		.refusal = python_rows_refusal(trace, known->python),
	};
	return true;
}

static bool python_place_is_known(const struct target *target, const struct python_place *place)
{
	return target->python == place->python && target->python_bias == place->bias;
}

/*
 * The best of the interpreters in the image: one that is followed rather than another, and then the one
 * that is known of the target, or else the first. How many different ones there are.
 */
static size_t python_places(const struct trace *trace, const struct target *target,
			    const struct image *image, struct python_place *best)
{
	struct python_place place, last = {0};
	size_t count = 0;

	*best = (struct python_place){0};
	for (size_t i = 0; i < image_range_count(image); i++) {
		bool better;

		if (!python_place_at(trace, image_range_at(image, i), &place))
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
static struct image *python_rows_find(struct trace *trace, const struct target *target,
				      struct python_place *best)
{
	struct image *now;

	for (size_t i = 0; i < image_range_count(target->image); i++) {
		struct object *object = image_range_at(target->image, i)->object;

		if (object)
			known_object_get(trace, object);
	}
	if (python_places(trace, target, target->image, best) < 2)
		return NULL;
	now = image_clone(target->image, target->pid);
	if (now && !image_refresh(now))
		python_places(trace, target, now, best);
	return now;
}

static void python_rows_change(struct trace *trace, struct target *target,
			       const struct python_place *place)
{
	enum python_libc libc = python_libc_of(target->image);
	const char *refusal = place->refusal;

	/* The program is mapped before its C library is. */
	if (!refusal && libc == PYTHON_LIBC_NONE)
		return;
	if (!refusal && libc == PYTHON_LIBC_OTHER)
		refusal = PYTHON_OTHER_LIBC;
	if (refusal) {
		python_rows_end(trace, target);
		python_rows_say(target, place->object, place->python, refusal);
	}
	target->python = place->python;
	target->python_bias = place->bias;
	target->code_ends = false;
	if (!refusal)
		python_rows_begin(trace, target, place->object, place->python);
}

void python_rows_look(struct trace *trace, struct target *target)
{
	struct python_place place;
	struct image *now = python_rows_find(trace, target, &place);

	if (place.python && !python_place_is_known(target, &place))
		python_rows_change(trace, target, &place);
	/* It has closed the library that it was in. */
	else if (!place.python && target->python)
		python_rows_end(trace, target);
	image_free(now);
}

void python_rows_drop(struct trace *trace, uint32_t target_id)
{
	bpf_map_delete_elem(bpf_map__fd(trace->skel->maps.python_rows), &target_id);
}

void python_rows_failed(const struct trace *trace, const struct python_failed_event *event)
{
	static const char *const reasons[] = {
		[PYTHON_UNREADABLE] = "a frame of it is in no memory",
		[PYTHON_NO_CODE] = "what a frame has for its code is none",
		[PYTHON_ELSEWHERE] = "a frame's instruction is not in its code",
		[PYTHON_NO_STATE] = "the thread's state is in no memory",
	};
	const struct target *target = target_by_id(trace, event->header.target_id);
	char number[32] = "";

	if (!target || event->failure >= ARRAY_SIZE(reasons) || !reasons[event->failure])
		return;
	if (event->failure != PYTHON_NO_STATE)
		snprintf(number, sizeof(number), "number %u, ", event->number);
	log_info("process %d (%s): stacks without frames of Python: %s (%sat 0x%llx); its "
		 "C functions are shown",
		 target->pid, target->comm, reasons[event->failure], number,
		 (unsigned long long)event->address);
}
