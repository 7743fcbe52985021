// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/target_patches.h"

#include <errno.h>

#include "user/patch/guarded.h"
#include "user/patch/patches.h"
#include "user/process/proc.h"
#include "user/trace/detach.h"
#include "user/trace/skeleton.h"
#include "user/trace/target_mappings.h"

int target_patches_prepare(struct trace *trace)
{
	const struct patch_options options = {
		.attach = trace->options.attach,
		.gate = trace->options.gate,
		.gate_only = trace->options.gate_only,
		.old = trace->options.old,
		.sample_bytes = trace->options.sample_bytes,
		.guard = trace->options.guard,
	};
	int err = patches_new(&options, &trace->patches);

	if (!err)
		trace->options.gate = patches_want_gate(trace->patches);
	return err;
}

static void patches_detach(void *ctx, struct attachment *attachment)
{
	trace_detach(ctx, attachment);
}

/* Further libraries may have been mapped meanwhile: records of them are still to be handled. */
static void patches_mapped(void *ctx, uint32_t id)
{
	struct target *target = target_by_id(ctx, id);

	if (target)
		target_publish(ctx, target);
}

void target_patches_start(struct trace *trace)
{
	const struct patch_kernel kernel = {
		.programs = &trace->programs,
		.guard_rows = bpf_map__fd(trace->skel->maps.guard_rows),
		.guard_saids = bpf_map__fd(trace->skel->maps.guard_saids),
		.guard_fault = bpf_program__fd(trace->skel->progs.guard_fault),
		.rights = trace->skel->bss->guard_rights,
		.span = &trace->skel->bss->guard_span,
		.blocks = trace->guard_blocks,
		.ctx = trace,
		.detach = patches_detach,
		.mapped = patches_mapped,
	};

	patches_use(trace->patches, &kernel);
}

int trace_gate_suits(const struct trace *trace, const struct target *target,
		     char reason[static REASON_MAX])
{
	if (target->tells)
		return refuse(reason, -EOPNOTSUPP, "it tells of its memory itself (--attach usdt)");
	if (!trace->lifts_filters && proc_has_filter(target->pid))
		return refuse(
			reason, -EPERM,
			"a seccomp filter watches its system calls, and what lifting it takes "
			"has been given up: start with --gate");
	return 0;
}

int trace_set_gate(struct trace *trace, bool wanted, char reason[static REASON_MAX])
{
	int err = patches_set_gate(trace->patches, wanted, reason);

	trace->options.gate = patches_want_gate(trace->patches);
	return err;
}

void target_patches_look(struct trace *trace)
{
	struct target *target, *next;

	if (!trace->options.guard.period)
		return;
	HASH_ITER (hh, trace->targets, target, next) {
		if (target->stage == TARGET_TRACED)
			guarded_look(trace->patches, target_patched(target));
	}
}

void target_patches_release_swept(const struct trace *trace)
{
	for (const struct target *target = trace->ended; target; target = target->next_ended)
		guarded_release(trace->patches, target->id);
}
