// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/runtime_rows.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/runtime/python/cpython.h"
#include "user/trace/known_objects.h"
#include "user/trace/later.h"

const struct image_range *runtime_rows_find(struct trace *trace, const struct target *target,
					    enum runtime runtime, uint64_t *bias)
{
	for (size_t i = 0; i < image_range_count(target->image); i++) {
		const struct image_range *range = image_range_at(target->image, i);
		const struct known_object *known =
			range->object ? known_object_get(trace, range->object) : NULL;
		uint64_t vaddr;

		if (!known || known->runtime != runtime ||
		    object_code_vaddr(range->object, range->offset, &vaddr))
			continue;
		*bias = range->start - vaddr;
		return range;
	}
	return NULL;
}

const char *runtime_rows_refusal(const struct trace *trace, const char *by_frame_pointers)
{
#if !defined(__x86_64__)
	return "that is done for x86-64 only";
#endif
	if (trace->options.old || !trace->options.task_storage)
		return "this kernel is too old (5.15 can)";
	return trace->options.frame_pointers ? by_frame_pointers : NULL;
}

static void runtime_rows_begin(struct trace *trace, struct target *target,
			       const struct runtime_language *language,
			       const struct image_range *range, uint64_t bias)
{
	const char *refusal = runtime_rows_refusal(trace, NULL);
	char reason[REASON_MAX] = "";
	enum python_libc libc =
		language->by_libc ? python_libc_of(target->image) : PYTHON_LIBC_GLIBC;
	/* The program is mapped before its C library is. */
	struct runtime_mapped *mapped = libc == PYTHON_LIBC_NONE ? NULL : language->begin(target);
	int err;

	if (!mapped)
		return;
	object_ref(range->object);
	mapped->object = range->object;
	mapped->bias = bias;
	mapped->start = range->start;
	mapped->end = range->end;
	mapped->offset = range->offset;
	if (!refusal && libc == PYTHON_LIBC_OTHER)
		refusal = PYTHON_OTHER_LIBC;
	if (!refusal) {
		err = language->enter(trace, language, target, reason);
		refusal = *reason ? reason : strerror(-err);
	}
	if (!mapped->entered)
		log_info("process %d (%s): no frames of %s%s%s (%s): %s", target->pid, target->comm,
			 language->name, mapped->version && *mapped->version ? " " : "",
			 mapped->version ?: "", object_name(range->object), refusal);
}

void runtime_rows_look(struct trace *trace, struct target *target,
		       const struct runtime_language *language, struct runtime_mapped *mapped)
{
	const struct image_range *range = NULL;
	uint64_t bias = 0;

	if (target->image && !target_has_ended(target))
		range = runtime_rows_find(trace, target, language->runtime, &bias);
	if (mapped && (!range || range->object != mapped->object || bias != mapped->bias)) {
		language->end(trace, target);
		targets_changed(trace);
		mapped = NULL;
	}
	if (range && !mapped)
		runtime_rows_begin(trace, target, language, range, bias);
}

int runtime_rows_enter(struct trace *trace, struct target *target,
		       const struct runtime_language *language, struct runtime_mapped *mapped,
		       const struct bpf_map *map, const void *row, char reason[static REASON_MAX])
{
	int err = later_runtimes(trace, language->flag);

	if (err)
		return refuse(reason, err, LATER_REFUSED);
	if (bpf_map_update_elem(bpf_map__fd(map), &target->id, row, BPF_ANY)) {
		err = -errno;
		return refuse(reason, err, "it cannot be entered in a BPF map: %s", strerror(-err));
	}
	log_debug("process %d (%s): frames of %s %s (%s)", target->pid, target->comm,
		  language->name, mapped->version, object_name(mapped->object));
	mapped->entered = target->has_runtime = true;
	targets_changed(trace);
	return 0;
}

void runtime_rows_failed(const struct trace *trace, const char *language,
			 const struct runtime_failed_event *event, const char *const reasons[],
			 size_t count)
{
	const struct target *target = target_by_id(trace, event->header.target_id);

	if (target && event->failure < count && reasons[event->failure])
		log_info("process %d (%s): frames of %s without a name: %s (0x%llx)", target->pid,
			 target->comm, language, reasons[event->failure],
			 (unsigned long long)event->address);
}

void runtime_rows_left_out(const struct trace *trace, const char *language,
			   const struct runtime_failed_event *event, const char *const reasons[],
			   size_t count)
{
	const struct target *target = target_by_id(trace, event->header.target_id);

	if (target && event->failure < count && reasons[event->failure])
		log_info("process %d (%s): stacks without frames of %s: %s (0x%llx); its C "
			 "functions are shown",
			 target->pid, target->comm, language, reasons[event->failure],
			 (unsigned long long)event->address);
}

void runtime_rows_not_followed(struct trace *trace, struct target *target)
{
	for (size_t i = 0; i < image_range_count(target->image); i++) {
		struct object *object = image_range_at(target->image, i)->object;
		const struct known_object *known = object ? known_object_get(trace, object) : NULL;
		const char *language, *instead;

		if (!known || target->not_followed & 1u << known->runtime)
			continue;
		language = runtime_not_followed(known->runtime, &instead);
		if (!language)
			continue;
		target->not_followed |= 1u << known->runtime;
		log_info("process %d (%s): no frames of %s (%s): %s", target->pid, target->comm,
			 language, object_name(object), instead);
	}
}
