// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/php_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/trace/runtime_rows.h"
#include "user/trace/target_php.h"

static void php_rows_end(struct trace *trace, struct target *target)
{
	target_php_free(target->php);
	target->php = NULL;
	php_rows_drop(trace, target->id);
	targets_changed(trace);
}

static int php_rows_enter(struct trace *trace, struct target *target,
			  char reason[static REASON_MAX])
{
	struct target_php *php = target->php;
	int err = php_find(php->object, &php->runtime, reason);
	struct php_row row = php->runtime.row;

	if (err)
		return err;
	row.current += php->bias;
	row.code = php->start;
	row.code_end = php->end;
	/* Before the row, and for good. */
	__atomic_store_n(&trace->skel->bss->shared.has_php, 1, __ATOMIC_RELEASE);
	if (bpf_map_update_elem(bpf_map__fd(trace->skel->maps.php_rows), &target->id, &row,
				BPF_ANY)) {
		err = -errno;
		return refuse(reason, err, "it cannot be entered in a BPF map: %s", strerror(-err));
	}
	log_debug("process %d (%s): frames of PHP %s (%s)", target->pid, target->comm,
		  php->runtime.version, object_name(php->object));
	php->entered = target->has_runtime = true;
	targets_changed(trace);
	return 0;
}

static bool php_rows_begin(struct target *target, const struct image_range *range, uint64_t bias)
{
	target->php = calloc(1, sizeof(*target->php));
	if (!target->php)
		return false;
	object_ref(range->object);
	target->php->object = range->object;
	target->php->bias = bias;
	target->php->start = range->start;
	target->php->end = range->end;
	target->php->offset = range->offset;
	return true;
}

void php_rows_look(struct trace *trace, struct target *target)
{
	char reason[REASON_MAX] = "";
	const char *refusal = runtime_rows_refusal(trace, NULL);
	const struct image_range *range = NULL;
	uint64_t bias = 0;
	int err = 0;

	if (target->image && !target_has_ended(target))
		range = runtime_rows_find(trace, target, RUNTIME_PHP, &bias);
	if (target->php &&
	    (!range || range->object != target->php->object || bias != target->php->bias))
		php_rows_end(trace, target);
	if (!range || target->php || !php_rows_begin(target, range, bias))
		return;
	if (!refusal) {
		err = php_rows_enter(trace, target, reason);
		refusal = *reason ? reason : strerror(-err);
	}
	if (!target->php->entered)
		log_info("process %d (%s): no frames of PHP%s%s (%s): %s", target->pid,
			 target->comm, target->php->runtime.version ? " " : "",
			 target->php->runtime.version ?: "", object_name(range->object), refusal);
}

void php_rows_drop(struct trace *trace, uint32_t target_id)
{
	bpf_map_delete_elem(bpf_map__fd(trace->skel->maps.php_rows), &target_id);
}

void php_rows_failed(const struct trace *trace, const struct runtime_failed_event *event)
{
	static const char *const reasons[] = {
		[PHP_UNREADABLE] = "what a frame leads to is in no memory",
		[PHP_NO_CODE] = "what a frame runs is no function of PHP's",
		[PHP_NO_NAME] = "a function's name is no string",
	};
	const struct target *target = target_by_id(trace, event->header.target_id);

	if (target && event->failure < ARRAY_SIZE(reasons) && reasons[event->failure])
		log_info("process %d (%s): stacks without frames of PHP: %s (0x%llx); its C "
			 "functions are shown",
			 target->pid, target->comm, reasons[event->failure],
			 (unsigned long long)event->address);
}
