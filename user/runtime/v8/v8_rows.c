// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/v8/v8_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/runtime/v8/v8_engine.h"
#include "user/runtime/runtime_rows.h"
#include "user/runtime/v8/target_v8.h"
#include "user/runtime/v8/v8_names.h"
#include "user/runtime/v8/v8_stack.h"

/* An object that is V8. */
struct known_v8 {
	struct v8_row row;
	struct v8_opcodes opcodes;
	const struct v8_version *version; /* NULL: it is not known */
	char refusal[REASON_MAX];	  /* why its frames are not known; empty: they are */
};

/* What the object says of itself, which is the same in all processes that map it. 0, or an error with the reason. */
static int v8_rows_describe(const struct runtime_host *host, struct object *object,
			    struct target_v8 *out, char reason[static REASON_MAX])
{
	struct runtime_object *known = host->object(host->ctx, object, true);
	struct known_v8 *v8 = known ? known->known[RUNTIME_V8] : NULL;
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
		known->known[RUNTIME_V8] = v8;
	}
	out->row = v8->row;
	out->opcodes = v8->opcodes;
	out->version = v8->version;
	return *v8->refusal ? refuse(reason, -ENOTSUP, "%s", v8->refusal) : 0;
}

static int v8_rows_enter(struct runtimes *runtimes, struct runtime_target *target,
			 struct object *object, char reason[static REASON_MAX])
{
	struct target_v8 *v8 = target->states[RUNTIME_V8];
	int err = v8_rows_describe(&runtimes->host, object, v8, reason);

	err = err ?: runtime_rows_enter(runtimes, target, RUNTIME_V8, &v8->row, reason);
	if (err)
		return err;
	log_debug("process %d (%s): frames of JavaScript (%s)", target->pid, target->comm,
		  object_name(object));
	v8->entered = true;
	return 0;
}

static void v8_look(struct runtimes *runtimes, struct runtime_target *target)
{
	char reason[REASON_MAX] = "";
	const char *refusal = runtime_rows_refusal(runtimes, "--stack fp: they are not looked up");
	uint64_t bias = 0;
	const struct image_range *range = runtime_rows_find(runtimes, target, RUNTIME_V8, &bias);
	struct object *object = range ? range->object : NULL;
	struct target_v8 *v8 = target->states[RUNTIME_V8];
	int err = 0;

	if (v8 && (object != v8->object || bias != v8->bias)) {
		target_v8_free(v8);
		target->states[RUNTIME_V8] = v8 = NULL;
		runtime_rows_end(runtimes, target, RUNTIME_V8);
	}
	if (!object || v8)
		return;
	v8 = target->states[RUNTIME_V8] = calloc(1, sizeof(*v8));
	if (!v8)
		return;
	object_ref(object);
	v8->object = object;
	v8->bias = bias;
	if (!refusal) {
		err = v8_rows_enter(runtimes, target, object, reason);
		refusal = *reason ? reason : strerror(-err);
	}
	if (!v8->entered)
		log_info("process %d (%s): no frames of JavaScript (%s): %s", target->pid,
			 target->comm, object_name(object), refusal);
}

static void v8_event(struct runtimes *runtimes, struct runtime_target *target,
		     enum runtime_event_kind kind, const struct event_header *header)
{
	if (kind == RUNTIME_MORE)
		v8_stack_add(target, (const void *)header);
	else
		v8_names_add(runtimes, target, (const void *)header);
}

static void v8_add_lost(const void *state, uint64_t lost[LOST_CAUSES])
{
	lost[LOST_V8] += ((const struct target_v8 *)state)->unnamed;
}

static bool v8_doctor(const struct image *image, struct object *object, enum runtime runtime,
		      char text[static RUNTIME_DOCTOR_TEXT])
{
	char reason[REASON_MAX] = "";
	const struct v8_version *version;
	struct v8_row row;
	int err;

	(void)image;
	if (runtime != RUNTIME_V8)
		return false;
	err = v8_row_of(object, &row, &version, reason);
	snprintf(text, RUNTIME_DOCTOR_TEXT, "JavaScript: %s%s",
		 err ? "no frames of it: "
		     : "stacks have its functions, with script and line (x86-64, Linux 5.15 and "
		       "later)",
		 err && !*reason ? strerror(-err) : reason);
	return true;
}

static void v8_free(struct runtimes *runtimes, void *state)
{
	(void)runtimes;
	target_v8_free(state);
}

static const char *const v8_reasons[] = {
	[V8_UNREADABLE] = "what a function leads to is in no memory",
	[V8_NO_SHARED] = "a function does not lead to what it is",
	[V8_NO_PLACE] = "a function does not say where it is",
};

const struct runtime_ops v8_ops = {
	.runtime = RUNTIME_V8,
	.name = "JavaScript",
	.mark = "v8dbg_", /* constants for debuggers */
	.mark_begins = true,
	.failures = {v8_reasons, ARRAY_SIZE(v8_reasons)},
	.look = v8_look,
	.event = v8_event,
	.weave = v8_stack_weave,
	.add_lost = v8_add_lost,
	.doctor = v8_doctor,
	.free = v8_free,
};
