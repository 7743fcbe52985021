// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/patch/patches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/kernel/feature_machine.h"
#include "user/patch/guarded.h"
#include "user/patch/patches_internal.h"
#include "user/probe/attach.h"

/* Listening to page faults of others, with maps that take memory as they fill, is of 6.1. */
#define GUARD_KERNEL 6, 1

/* 0, or -errno with the reason why there are none. */
static int patches_try_gate(struct patches *patches, char reason[static REASON_MAX])
{
	int err;

	if (patches->options.old)
		return refuse(reason, -EOPNOTSUPP,
			      "kernels before 5.15 hand no cookie to a probe's program, which the "
			      "gate needs");
	err = gate_nop_choose(&patches->nop);
	return err ? refuse(reason, err, "no probes in memory of a process (%s: %s)",
			    patches->nop.step, strerror(-err))
		   : 0;
}

/* What the gate's probes sit on, if there are to be gates. 0 or -errno, logged. */
static int patches_prepare_gate(struct patches *patches)
{
	char reason[REASON_MAX];
	int err = patches->options.gate ? patches_try_gate(patches, reason) : 0;

	if (!err)
		return 0;
	if (patches->options.gate_only) {
		log_error("--attach gate: %s", reason);
		return err;
	}
	log_info("probes, and not the gate: %s", reason);
	patches->options.gate = false;
	return 0;
}

/* Can there be guards? 0, also where none are asked for; or -errno, logged. */
static int patches_prepare_guards(struct patches *patches)
{
	struct machine machine;
	int err;

	if (!patches->options.guard.period)
		return 0;
	machine_read(&machine);
	if (patches->options.old || !machine_kernel_at_least(&machine, GUARD_KERNEL)) {
		log_error("--guard cannot be had here: Linux 6.1 can, and this is %s",
			  machine.release);
		return -EOPNOTSUPP;
	}
	err = gate_nop_choose(&patches->nop);
	if (err)
		log_error("--guard cannot be had here: no probes in memory of a process (%s: %s)",
			  patches->nop.step, strerror(-err));
	return err;
}

int patches_new(const struct patch_options *options, struct patches **out)
{
	struct patches *patches = calloc(1, sizeof(*patches));
	int err;

	if (!patches)
		return log_errno(ENOMEM, "cannot put code into processes");
	patches->options = *options;
	err = patches_prepare_gate(patches);
	err = err ?: patches_prepare_guards(patches);
	if (err) {
		free(patches);
		return err;
	}
	*out = patches;
	return 0;
}

void patches_use(struct patches *patches, const struct patch_kernel *kernel)
{
	patches->kernel = *kernel;
}

void patches_free(struct patches *patches)
{
	if (patches)
		guarded_free_reasons(patches);
	free(patches);
}

bool patches_want_gate(const struct patches *patches)
{
	return patches->options.gate;
}

int patches_set_gate(struct patches *patches, bool wanted, char reason[static REASON_MAX])
{
	int err = wanted ? patches_try_gate(patches, reason) : 0;

	if (!err && wanted && !patches->kernel.programs->gate)
		err = refuse(reason, -EOPNOTSUPP,
			     "it does not go with the options that were given");
	if (!err)
		patches->options.gate = wanted;
	return err;
}

void patches_set_level(struct patches *patches, unsigned level)
{
	patches->level = level;
}

struct patched *patched_new(void)
{
	return calloc(1, sizeof(struct patched));
}

void patched_free(struct patched *patched)
{
	free(patched);
}

void patched_is(struct patched *patched, const struct patch_process *process)
{
	patched->process = *process;
}

void patched_go_on(struct patched *patched)
{
	if (patched)
		gate_hold_end(&patched->hold);
}
