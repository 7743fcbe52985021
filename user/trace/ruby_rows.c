// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/ruby_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/freeze/tls.h"
#include "user/target/cpython.h"
#include "user/trace/runtime_rows.h"
#include "user/trace/target_ruby.h"

static void ruby_rows_end(struct trace *trace, struct target *target)
{
	target_ruby_free(target->ruby);
	target->ruby = NULL;
	ruby_rows_drop(trace, target->id);
	targets_changed(trace);
}

/* The number of the object's thread-local variables. */
static int ruby_find_module(struct target_ruby *ruby, struct ruby_row *row,
			    char reason[static REASON_MAX])
{
	struct tls_layout tls;

	if (tls_layout_read(ruby->object, &tls))
		return refuse(reason, -ENOTSUP, "it has no thread-local variables");
	if (tls.module.known)
		row->module_slot = ruby->bias + tls.module.vaddr;
	else if (!tls.distance.known)
		row->module = 1; /* a program's own */
	else
		return refuse(reason, -ENOTSUP,
			      "where it has its thread-local variables is not known");
	return 0;
}

static int ruby_rows_enter(struct trace *trace, struct target *target,
			   char reason[static REASON_MAX])
{
	struct target_ruby *ruby = target->ruby;
	struct ruby_row row;
	int err = ruby_find(ruby->object, &ruby->runtime, reason);

	row = ruby->runtime.row;
	row.code = ruby->start;
	row.code_end = ruby->end;
	err = err ?: ruby_find_module(ruby, &row, reason);
	if (err)
		return err;
	/* Before the row, and for good. */
	__atomic_store_n(&trace->skel->bss->shared.has_ruby, 1, __ATOMIC_RELEASE);
	if (bpf_map_update_elem(bpf_map__fd(trace->skel->maps.ruby_rows), &target->id, &row,
				BPF_ANY)) {
		err = -errno;
		return refuse(reason, err, "it cannot be entered in a BPF map: %s", strerror(-err));
	}
	log_debug("process %d (%s): frames of Ruby %s (%s)", target->pid, target->comm,
		  ruby->runtime.version, object_name(ruby->object));
	ruby->entered = target->has_runtime = true;
	targets_changed(trace);
	return 0;
}

static bool ruby_rows_begin(struct target *target, const struct image_range *range, uint64_t bias)
{
	target->ruby = calloc(1, sizeof(*target->ruby));
	if (!target->ruby)
		return false;
	object_ref(range->object);
	target->ruby->object = range->object;
	target->ruby->bias = bias;
	target->ruby->start = range->start;
	target->ruby->end = range->end;
	target->ruby->offset = range->offset;
	return true;
}

void ruby_rows_look(struct trace *trace, struct target *target)
{
	char reason[REASON_MAX] = "";
	const char *refusal = runtime_rows_refusal(trace, NULL);
	const struct image_range *range = NULL;
	enum python_libc libc;
	uint64_t bias = 0;
	int err = 0;

	if (target->image && !target_has_ended(target))
		range = runtime_rows_find(trace, target, RUNTIME_RUBY, &bias);
	if (target->ruby &&
	    (!range || range->object != target->ruby->object || bias != target->ruby->bias))
		ruby_rows_end(trace, target);
	if (!range || target->ruby)
		return;
	/* The program is mapped before its C library is. */
	libc = python_libc_of(target->image);
	if (libc == PYTHON_LIBC_NONE || !ruby_rows_begin(target, range, bias))
		return;
	if (!refusal && libc == PYTHON_LIBC_OTHER)
		refusal = PYTHON_OTHER_LIBC;
	if (!refusal) {
		err = ruby_rows_enter(trace, target, reason);
		refusal = *reason ? reason : strerror(-err);
	}
	if (!target->ruby->entered)
		log_info("process %d (%s): no frames of Ruby%s%s (%s): %s", target->pid,
			 target->comm, *target->ruby->runtime.version ? " " : "",
			 target->ruby->runtime.version, object_name(range->object), refusal);
}

void ruby_rows_drop(struct trace *trace, uint32_t target_id)
{
	bpf_map_delete_elem(bpf_map__fd(trace->skel->maps.ruby_rows), &target_id);
}

void ruby_rows_failed(const struct trace *trace, const struct runtime_failed_event *event)
{
	static const char *const reasons[] = {
		[RUBY_UNREADABLE] = "what a frame leads to is in no memory",
		[RUBY_NO_CODE] = "what a frame runs is no code of Ruby's",
		[RUBY_ELSEWHERE] = "a frame's instruction is not in its code",
		[RUBY_NO_STACK] = "the thread's frames are not on its stack",
	};
	const struct target *target = target_by_id(trace, event->header.target_id);

	if (target && event->failure < ARRAY_SIZE(reasons) && reasons[event->failure])
		log_info("process %d (%s): stacks without frames of Ruby: %s (0x%llx); its C "
			 "functions are shown",
			 target->pid, target->comm, reasons[event->failure],
			 (unsigned long long)event->address);
}
