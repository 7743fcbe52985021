// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/python_rows.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/target/cpython.h"
#include "user/trace/known_objects.h"
#include "user/trace/sharers.h"

/* For the programs; of processes that are in the kernel's table already. */
static void python_rows_mark(const struct trace *trace, const struct target *target, pid_t pid)
{
	int fd = bpf_map__fd(trace->skel->maps.targets);
	uint32_t tgid = (uint32_t)pid;
	struct target_info info;

	if (bpf_map_lookup_elem(fd, &tgid, &info) || info.id != target->id ||
	    info.flags & TARGET_PYTHON)
		return;
	info.flags |= TARGET_PYTHON;
	bpf_map_update_elem(fd, &tgid, &info, BPF_EXIST);
}

static const char *python_rows_refusal(const struct trace *trace, const struct known_python *python)
{
	if (python->refusal[0])
		return python->refusal;
#if !defined(__x86_64__)
	return "on this machine that is not done yet";
#endif
	if (trace->options.old || !trace->options.task_storage)
		return "that takes Linux 5.15";
	return NULL;
}

static void python_rows_begin(struct trace *trace, struct target *target,
			      const struct image_range *range, const struct known_python *python)
{
	uint32_t version = python->runtime.version;
	const char *refusal = python_rows_refusal(trace, python);
	struct sharer *sharer;
	struct python_row row;
	uint64_t vaddr;

	target->python = python;
	if (refusal) {
		log_info("process %d (%s): no frames of Python (%s %u.%u.%u): %s", target->pid,
			 target->comm, object_name(range->object), version >> 24,
			 version >> 16 & 255, version >> 8 & 255, refusal);
		return;
	}
	if (object_offset_to_vaddr(range->object, range->offset, &vaddr))
		return;
	row = python_row_at(&python->runtime, range->start - vaddr);
	if (bpf_map_update_elem(bpf_map__fd(trace->skel->maps.python_rows), &target->id, &row,
				BPF_ANY)) {
		log_errno(errno, "cannot enter the Python of process %d in a BPF map", target->pid);
		return;
	}
	target->has_python = trace->has_python = true;
	python_rows_mark(trace, target, target->pid);
	for (sharer = target->sharers; sharer; sharer = sharer->next)
		python_rows_mark(trace, target, sharer->pid);
	targets_changed(trace);
	log_debug("process %d (%s): frames of Python %u.%u.%u (%s)", target->pid, target->comm,
		  version >> 24, version >> 16 & 255, version >> 8 & 255,
		  object_name(range->object));
}

/* Whose thread-specific data is found where it is looked for. */
static bool python_rows_is_glibc(const struct object *object)
{
	return !strcmp(object_name(object), "libc.so.6");
}

void python_rows_look(struct trace *trace, struct target *target)
{
	const struct image_range *found = NULL;
	const struct known_python *python = NULL;
	bool glibc = false;

	for (size_t i = 0; !target->python && i < image_range_count(target->image); i++) {
		const struct image_range *range = image_range_at(target->image, i);
		const struct known_object *known =
			range->object ? known_object_get(trace, range->object) : NULL;

		if (!known)
			continue;
		glibc |= python_rows_is_glibc(range->object);
		if (known->python && !found) {
			python = known->python;
			found = range;
		}
	}
	/* The program is mapped before its C library is. */
	if (found && (glibc || python->refusal[0]))
		python_rows_begin(trace, target, found, python);
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
	};
	const struct target *target = target_by_id(trace, event->header.target_id);

	if (!target || event->failure >= ARRAY_SIZE(reasons) || !reasons[event->failure])
		return;
	log_info("process %d (%s): stacks without frames of Python: %s (number %u, at 0x%llx); its "
		 "C functions are shown",
		 target->pid, target->comm, reasons[event->failure], event->depth,
		 (unsigned long long)event->frame);
}
