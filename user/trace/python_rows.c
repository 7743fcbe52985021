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

/* Once for each file: a build may start it a thousand times. */
static void python_rows_say(const struct target *target, const struct object *object,
			    struct known_python *python, const char *refusal)
{
	uint32_t version = python->runtime.version;
	char number[32] = "";

	if (version)
		snprintf(number, sizeof(number), " %u.%u.%u", version >> 24, version >> 16 & 255,
			 version >> 8 & 255);
	if (!python->said)
		log_info("process %d (%s): no frames of Python (%s%s): %s", target->pid,
			 target->comm, object_name(object), number, refusal);
	python->said = true;
}

static void python_rows_begin(struct trace *trace, struct target *target,
			      const struct image_range *range, struct known_python *python,
			      const char *refusal)
{
	uint32_t version = python->runtime.version;
	struct sharer *sharer;
	struct python_row row;
	uint64_t vaddr;

	target->python = python;
	if (refusal) {
		python_rows_say(target, range->object, python, refusal);
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

/* Whose thread-specific data is found where it is looked for; before 2.34 the file has the version's name. */
static bool python_rows_is_glibc(const char *name)
{
	return !strcmp(name, "libc.so.6") || !strncmp(name, "libc-2.", 7);
}

static bool python_rows_is_musl(const char *name)
{
	return !strncmp(name, "ld-musl-", 8) || !strncmp(name, "libc.musl-", 10);
}

void python_rows_look(struct trace *trace, struct target *target)
{
	const struct image_range *found = NULL;
	struct known_python *python = NULL;
	bool glibc = false, musl = false;
	const char *refusal;

	for (size_t i = 0; !target->python && i < image_range_count(target->image); i++) {
		const struct image_range *range = image_range_at(target->image, i);
		const struct known_object *known =
			range->object ? known_object_get(trace, range->object) : NULL;

		if (!known)
			continue;
		glibc |= python_rows_is_glibc(object_name(range->object));
		musl |= python_rows_is_musl(object_name(range->object));
		if (known->python && !found) {
			python = known->python;
			found = range;
		}
	}
	if (!found)
		return;
	refusal = python_rows_refusal(trace, python);
	if (!refusal && musl && !glibc)
		refusal = "with another C library than glibc that is not done yet";
	/* The program is mapped before its C library is. */
	if (refusal || glibc)
		python_rows_begin(trace, target, found, python, refusal);
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
