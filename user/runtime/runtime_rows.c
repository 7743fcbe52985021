// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/runtime_rows.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/base/log.h"

const struct image_range *runtime_rows_find(const struct runtimes *runtimes,
					    const struct runtime_target *target,
					    enum runtime runtime, uint64_t *bias)
{
	const struct runtime_host *host = &runtimes->host;

	if (!target->image || target->ended)
		return NULL;
	for (size_t i = 0; i < image_range_count(target->image); i++) {
		const struct image_range *range = image_range_at(target->image, i);
		const struct runtime_object *known =
			range->object ? host->object(host->ctx, range->object, true) : NULL;
		uint64_t vaddr;

		if (!known || known->runtime != runtime ||
		    object_code_vaddr(range->object, range->offset, &vaddr))
			continue;
		*bias = range->start - vaddr;
		return range;
	}
	return NULL;
}

const char *runtime_rows_refusal(const struct runtimes *runtimes, const char *by_frame_pointers)
{
#if !defined(__x86_64__)
	return "that is done for x86-64 only";
#endif
	if (runtimes->host.old || !runtimes->host.task_storage)
		return "this kernel is too old (5.15 can)";
	return runtimes->host.frame_pointers ? by_frame_pointers : NULL;
}

int runtime_rows_put(struct runtimes *runtimes, struct runtime_target *target, enum runtime runtime,
		     const void *row)
{
	const struct runtime_host *host = &runtimes->host;

	if (bpf_map_update_elem(host->rows[runtime], &target->id, row, BPF_ANY))
		return -errno;
	target->followed = true;
	host->changed(host->ctx);
	return 0;
}

int runtime_rows_enter(struct runtimes *runtimes, struct runtime_target *target,
		       enum runtime runtime, const void *row, char reason[static REASON_MAX])
{
	int err = runtimes->host.load(runtimes->host.ctx, runtime);

	if (err)
		return refuse(reason, err, RUNTIME_ROWS_REFUSED);
	err = runtime_rows_put(runtimes, target, runtime, row);
	return err ? refuse(reason, err, "it cannot be entered in a BPF map: %s", strerror(-err))
		   : 0;
}

void runtime_rows_end(struct runtimes *runtimes, struct runtime_target *target,
		      enum runtime runtime)
{
	bpf_map_delete_elem(runtimes->host.rows[runtime], &target->id);
	runtimes->host.changed(runtimes->host.ctx);
}

void runtime_rows_failed(const struct runtime_target *target, const struct runtime_ops *language,
			 const struct runtime_failed_event *event)
{
	const struct runtime_failures *failures = &language->failures;

	if (event->failure >= failures->count || !failures->reasons[event->failure])
		return;
	if (failures->apart)
		log_info("process %d (%s): stacks without frames of %s: %s (0x%llx); its C "
			 "functions are shown",
			 target->pid, target->comm, language->name,
			 failures->reasons[event->failure], (unsigned long long)event->address);
	else
		log_info("process %d (%s): frames of %s without a name: %s (0x%llx)", target->pid,
			 target->comm, language->name, failures->reasons[event->failure],
			 (unsigned long long)event->address);
}
