// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/patch/gated.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/gate/gate.h"
#include "user/patch/gated_functions.h"
#include "user/patch/patches_internal.h"
#include "user/patch/turn.h"
#include "user/probe/attach.h"
#include "user/probe/probe.h"
#include "user/process/object.h"
#include "user/target/image.h"
#include "user/target/provider.h"

struct gated {
	struct gate *gate;
	struct attachment *attachment;
};

/* ---- probes ------------------------------------------------------------------------------- */

static int gated_attach(const struct patches *patches, const struct gated_functions *functions,
			struct gated *gated, char reason[static REASON_MAX])
{
	const struct attach_programs *programs = patches->kernel.programs;
	const struct bpf_program *const by_event[] = {
		[GATE_ALLOCATED] = programs->gate_alloc,
		[GATE_FREED] = programs->gate_free,
		[GATE_RESIZED] = programs->gate_free,
		[GATE_KEPT] = programs->gate_kept,
	};
	const struct gate_site *sites;
	_cleanup_free_ struct told_probe *probes = NULL;
	size_t count;
	int err;

	sites = gate_sites(gated->gate, &count);
	probes = calloc(count + 1, sizeof(*probes));
	if (!probes)
		return refuse(reason, -ENOMEM, "no memory");
	for (size_t i = 0; i < count; i++) {
		uint64_t pc = functions->pcs[sites[i].function];
		uint8_t op = sites[i].event == GATE_RESIZED ? OP_REALLOC : OP_NONE;

		probes[i] = (struct told_probe){.program = by_event[sites[i].event],
						.offset = sites[i].offset,
						.cookie = told_cookie(op, pc).value};
	}
	err = attach_told(patches->options.attach, programs, probes, count, gate_path(gated->gate),
			  &gated->attachment);
	return err ? refuse(reason, err, "no probes can be put into its memory: %s", strerror(-err))
		   : 0;
}

/* ---- all of it ---------------------------------------------------------------------------- */

static int gated_open(struct patches *patches, struct patched *patched,
		      const struct gated_functions *functions, struct gated *gated,
		      char reason[static REASON_MAX])
{
	const struct gate_request request = {
		.pid = patched->process.pid,
		.functions = functions->items,
		.count = functions->count,
		.text = functions->text.bytes,
		.text_address = functions->text.address,
		.text_size = functions->text.size,
		.mean = patches->options.sample_bytes,
		.level = patches->level,
		.hold = patched->process.waits ? &patched->hold : NULL,
		.nop = &patches->nop,
	};
	int err = gate_open(&request, &gated->gate, reason);

	err = err ?: gated_attach(patches, functions, gated, reason);
	/*
	 * It goes on from there, and further libraries may have been mapped: records of them are
	 * still to be handled.
	 */
	if (!err && request.hold && !image_fill(patched->process.image))
		patches->kernel.mapped(patches->kernel.ctx, patched->process.id);
	return err ?: gate_start(gated->gate, reason);
}

static void gated_take_down(struct patches *patches, const struct patched *patched,
			    struct gated *gated, bool gone)
{
	char reason[REASON_MAX] = "";
	int err;

	err = gate_close(gated->gate, gone, reason);
	if (err && err != -ESRCH)
		log_warn("process %d (%s): the gate's jumps stay in it, and do nothing but cost a "
			 "few ns a call: %s",
			 patched->process.pid, patched->process.comm, reason);
	patches->kernel.detach(patches->kernel.ctx, gated->attachment);
	free(gated);
}

static int gated_try_new(struct patches *patches, struct patched *patched,
			 const struct probe_set *set, struct gated **out,
			 char reason[static REASON_MAX])
{
	struct gated *gated = calloc(1, sizeof(*gated));
	struct gated_functions functions = {0};
	int err = gated ? 0 : refuse(reason, -ENOMEM, "no memory");

	err = err ?: gated_functions_find(patched, set, &functions, reason);
	err = err ?: gated_open(patches, patched, &functions, gated, reason);
	gated_functions_free(&functions);
	if (err) {
		gated_take_down(patches, patched, gated, false);
		return err;
	}
	log_debug("process %d (%s): a gate before %s; %s stood still for %.2f ms",
		  patched->process.pid, patched->process.comm, object_name(set->provider->object),
		  gate_held_ns(gated->gate) ? "it waited, and" : "a thread",
		  (double)gate_pause_ns(gated->gate) / 1e6);
	*out = gated;
	return 0;
}

int gated_new(struct patches *patches, struct patched *patched, const struct probe_set *set,
	      struct gated **out, char reason[static REASON_MAX])
{
	uint64_t until = turn_patience();
	int err;

	do {
		TURN turn = turn_begin(patches, patched);

		err = gated_try_new(patches, patched, set, out, reason);
	} while (turn_again(patched, err, until));
	return err;
}

void gated_set_level(const struct gated *gated, unsigned level)
{
	/* One that has ended meanwhile, for one; where it fails samples go on as they are. */
	if (gate_set_level(gated->gate, level))
		log_debug("a gate keeps its rate: %s", strerror(errno));
}

uint64_t gated_dropped(const struct gated *gated)
{
	return gate_dropped(gated->gate);
}

uint64_t gated_held_ns(const struct gated *gated)
{
	return gate_held_ns(gated->gate);
}

void gated_free(struct patches *patches, const struct patched *patched, struct gated *gated,
		bool gone)
{
	TURN turn = gated && !gone ? turn_begin(patches, patched) : -1;

	if (gated)
		gated_take_down(patches, patched, gated, gone);
}
