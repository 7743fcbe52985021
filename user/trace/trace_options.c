// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How a trace is made on this kernel, by what was asked for. */
#include <errno.h>

#include "user/base/log.h"
#include "user/kernel/privilege.h"
#include "user/probe/plan.h"
#include "user/trace/trace.h"

/*
 * Children cannot be held: by what the kernel has answered. Where it lets us load nothing at all, the
 * attempt says why, and nothing is known of children.
 */
static void trace_options_without_hold(struct features *features, const struct attach_plan *plan)
{
	enum feature lacks = plan->hold ? FEATURE_TASK_WORK : FEATURE_UPROBE_SLEEPS;

	if (!features_have(features, FEATURE_BPF) || features_have(features, lacks))
		return;
	log_info("this kernel cannot hold new processes until their probes are in (%s%s): children "
		 "are traced from when they are seen",
		 features_why(features, lacks),
		 features_error(features, lacks) == -ENOENT ? "; 6.18 has it" : "");
}

static void trace_options_plan(struct trace_options *options, const struct attach_plan *plan,
			       struct features *features)
{
	options->attach = plan->possible ? plan->best : ATTACH_SINGLE;
	options->find_vma = plan->find_vma;
	options->task_storage = plan->task_storage;
	options->managed_later = plan->task_storage && plan->tail_calls;
	options->loops = plan->loops;
	options->typed_reads = plan->typed_reads;
	options->old = plan->old;
	options->frame_pointers |= plan->old;
	options->hold_at_end &= plan->hold;
	options->wait_loaded &= plan->hold;
	if (options->children == CHILDREN_EXACT && !(plan->hold && plan->hold_new)) {
		trace_options_without_hold(features, plan);
		options->children = CHILDREN_LATE;
	}
	if (options->children == CHILDREN_SYSTEMWIDE)
		log_info("--children exact-systemwide: until this ends, every process of the "
			 "machine pays a trap (0.5 to 4 us) for each call of a traced function; "
			 "valgrind and the like die of SIGTRAP if they are started meanwhile");
	/* They are looked at by copies of what the kernel keeps. */
	options->sleepers = !plan->old && !plan->typed_reads;
	/* It has not been seen to work there. */
	options->copies &= !plan->old;
	/* An addition that tells the sum is of 5.12, as is the storage of tasks. */
	if (plan->old)
		options->figures = (struct figures_kept){0};
	if (!options->loops)
		options->check_frees = 0;
}

/*
 * What a target tells is taken where nobody has asked for how functions are traced, or for what only
 * they can show.
 */
static enum trace_usdt trace_options_usdt(const struct trace_options *options,
					  enum attach_mode wanted)
{
	const struct provider_options *o = &options->providers;

	if (wanted == ATTACH_USDT)
		return TRACE_USDT_ONLY;
	if (wanted != ATTACH_AUTO || options->gate || options->check_frees || o->object ||
	    o->custom_count || o->mmap || (o->prefixes && *o->prefixes))
		return TRACE_USDT_NEVER;
	return TRACE_USDT_FOUND;
}

int trace_options_choose(struct trace_options *options, enum attach_mode wanted)
{
	static const char *const without[ATTACH_MODES] = {
		[ATTACH_SESSION] = "this kernel has no uprobe sessions (6.13 has); use "
				   "--attach multi, single or auto",
		[ATTACH_MULTI] = "this kernel has no multi-uprobe links that filter by "
				 "process (6.10 has); use --attach single or auto",
		[ATTACH_SINGLE] = "this kernel has no uprobes",
	};
	struct features *features = features_new();
	struct attach_plan plan;

	if (!features)
		return -ENOMEM;
	attach_plan(features, wanted, &plan);
	trace_options_plan(options, &plan, features);
	features_free(features);
	options->usdt = trace_options_usdt(options, wanted);
	if (options->usdt == TRACE_USDT_ONLY && options->typed_reads) {
		log_error(
			"--attach usdt: this kernel lets no program copy what the registers are in "
			"(lockdown=confidentiality)");
		return -EOPNOTSUPP;
	}
	if (options->scope_count && (plan.old || !plan.task_storage)) {
		log_error("--scope: this kernel cannot (5.15 can)");
		return -EOPNOTSUPP;
	}
	/* When none works the attempt says why. */
	if (wanted >= ATTACH_MODES || !plan.possible || plan.best == wanted)
		return 0;
	log_error("--attach %s: %s", attach_mode_name(wanted),
		  wanted == ATTACH_SINGLE && !privilege_admin()
			  ? "needs CAP_SYS_ADMIN on this kernel; run as root (sudo), or use "
			    "--attach auto"
			  : without[wanted]);
	return -EOPNOTSUPP;
}
