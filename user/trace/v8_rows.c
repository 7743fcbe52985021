// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/v8/v8_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/runtime/v8/v8_engine.h"
#include "user/trace/known_objects.h"
#include "user/trace/later.h"
#include "user/trace/runtime_rows.h"
#include "user/trace/skeleton.h"
#include "user/runtime/v8/target_v8.h"

static void v8_rows_end(struct trace *trace, struct target *target)
{
	target_v8_free(target->v8);
	target->v8 = NULL;
	v8_rows_drop(trace, target->id);
	targets_changed(trace);
}

/* What the object says of itself, which is the same in all processes that map it. 0, or an error with the reason. */
static int v8_rows_describe(struct trace *trace, struct object *object, struct target_v8 *out,
			    char reason[static REASON_MAX])
{
	struct known_object *known = known_object_get(trace, object);
	struct known_v8 *v8 = known ? known->v8 : NULL;
	int err;

	if (!known)
		return -ENOMEM;
	if (!v8) {
		v8 = calloc(1, sizeof(*v8));
		if (!v8)
			return -ENOMEM;
		err = v8_row_of(object, &v8->row, &v8->version, v8->refusal);
		/* That may go another time. */
		if (err == -ENOMEM) {
			free(v8);
			return err;
		}
		if (err && !*v8->refusal)
			snprintf(v8->refusal, sizeof(v8->refusal), "%s", strerror(-err));
		v8_opcodes_of(object, v8->version, &v8->opcodes);
		known->v8 = v8;
	}
	out->row = v8->row;
	out->opcodes = v8->opcodes;
	out->version = v8->version;
	return *v8->refusal ? refuse(reason, -ENOTSUP, "%s", v8->refusal) : 0;
}

static int v8_rows_enter(struct trace *trace, struct target *target, struct object *object,
			 char reason[static REASON_MAX])
{
	struct target_v8 *v8 = target->v8;
	int err = v8_rows_describe(trace, object, v8, reason);

	if (err)
		return err;
	err = later_runtimes(trace, TARGET_V8);
	if (err)
		return refuse(reason, err, LATER_REFUSED);
	if (bpf_map_update_elem(bpf_map__fd(trace->skel->maps.v8_rows), &target->id, &v8->row,
				BPF_ANY)) {
		err = -errno;
		return refuse(reason, err, "it cannot be entered in a BPF map: %s", strerror(-err));
	}
	log_debug("process %d (%s): frames of JavaScript (%s)", target->pid, target->comm,
		  object_name(object));
	v8->entered = target->has_runtime = true;
	targets_changed(trace);
	return 0;
}

void v8_rows_look(struct trace *trace, struct target *target)
{
	char reason[REASON_MAX] = "";
	const char *refusal = runtime_rows_refusal(trace, "--stack fp: they are not looked up");
	const struct image_range *range = NULL;
	struct object *object;
	uint64_t bias = 0;
	int err = 0;

	if (target->image && !target_has_ended(target))
		range = runtime_rows_find(trace, target, RUNTIME_V8, &bias);
	object = range ? range->object : NULL;
	if (target->v8 && (object != target->v8->object || bias != target->v8->bias))
		v8_rows_end(trace, target);
	if (!object || target->v8)
		return;
	target->v8 = calloc(1, sizeof(*target->v8));
	if (!target->v8)
		return;
	object_ref(object);
	target->v8->object = object;
	target->v8->bias = bias;
	if (!refusal) {
		err = v8_rows_enter(trace, target, object, reason);
		refusal = *reason ? reason : strerror(-err);
	}
	if (target->v8->entered)
		return;
	target->v8->refused = true;
	log_info("process %d (%s): no frames of JavaScript (%s): %s", target->pid, target->comm,
		 object_name(object), refusal);
}

void v8_rows_drop(struct trace *trace, uint32_t target_id)
{
	bpf_map_delete_elem(bpf_map__fd(trace->skel->maps.v8_rows), &target_id);
}

void v8_rows_failed(const struct trace *trace, const struct runtime_failed_event *event)
{
	static const char *const reasons[] = {
		[V8_UNREADABLE] = "what a function leads to is in no memory",
		[V8_NO_SHARED] = "a function does not lead to what it is",
		[V8_NO_PLACE] = "a function does not say where it is",
	};
	runtime_rows_failed(trace, "JavaScript", event, reasons, ARRAY_SIZE(reasons));
}
