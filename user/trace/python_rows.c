// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/python_rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/target/cpython.h"
#include "user/trace/known_objects.h"

static const char *python_rows_refusal(const struct trace *trace, const struct known_python *python)
{
	if (python->refusal[0])
		return python->refusal;
#if !defined(__x86_64__)
	return PYTHON_OTHER_MACHINE;
#endif
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

static void python_rows_begin(struct trace *trace, struct target *target,
			      const struct image_range *range, const struct known_python *python)
{
	const struct python_row row = python_row_at(&python->runtime, target->python_bias);
	char version[PYTHON_VERSION_TEXT];

	if (bpf_map_update_elem(bpf_map__fd(trace->skel->maps.python_rows), &target->id, &row,
				BPF_ANY)) {
		log_errno(errno, "cannot enter the Python of process %d in a BPF map", target->pid);
		return;
	}
	target->has_python = true;
	/* Whose threads look for the row then. */
	targets_changed(trace);
	python_version_text(python->runtime.version, version);
	log_debug("process %d (%s): frames of Python%s (%s)", target->pid, target->comm, version,
		  object_name(range->object));
}

/* Where the target maps an interpreter: the one that is known of it, or else the first. NULL: nowhere. */
static const struct image_range *python_rows_find(struct trace *trace, const struct target *target,
						  struct known_python **python)
{
	const struct image_range *found = NULL;

	for (size_t i = 0; i < image_range_count(target->image); i++) {
		const struct image_range *range = image_range_at(target->image, i);
		const struct known_object *known =
			range->object ? known_object_get(trace, range->object) : NULL;

		if (!known || !known->python || (found && known->python != target->python))
			continue;
		found = range;
		*python = known->python;
		if (*python == target->python)
			break;
	}
	return found;
}

/* It has closed the library that it was in, and something else is mapped there. */
static void python_rows_end(struct trace *trace, struct target *target)
{
	target->python = NULL;
	python_rows_drop(trace, target->id);
	targets_changed(trace);
}

void python_rows_look(struct trace *trace, struct target *target)
{
	struct known_python *python = NULL;
	const struct image_range *range = python_rows_find(trace, target, &python);
	enum python_libc libc;
	const char *refusal;
	uint64_t vaddr;

	if (!range && target->python)
		python_rows_end(trace, target);
	if (!range || object_code_vaddr(range->object, range->offset, &vaddr))
		return;
	if (target->python == python && target->python_bias == range->start - vaddr)
		return;
	refusal = python_rows_refusal(trace, python);
	libc = python_libc_of(target->image);
	/* The program is mapped before its C library is. */
	if (!refusal && libc == PYTHON_LIBC_NONE)
		return;
	if (!refusal && libc == PYTHON_LIBC_OTHER)
		refusal = PYTHON_OTHER_LIBC;
	target->python = python;
	target->python_bias = range->start - vaddr;
	if (refusal)
		python_rows_say(target, range->object, python, refusal);
	else
		python_rows_begin(trace, target, range, python);
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

	if (!target || event->failure >= ARRAY_SIZE(reasons) || !reasons[event->failure])
		return;
	log_info("process %d (%s): stacks without frames of Python: %s (number %u, at 0x%llx); its "
		 "C functions are shown",
		 target->pid, target->comm, reasons[event->failure], event->depth,
		 (unsigned long long)event->frame);
}
