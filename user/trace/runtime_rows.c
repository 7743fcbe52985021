// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/runtime_rows.h"

#include "user/base/log.h"
#include "user/trace/known_objects.h"

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
