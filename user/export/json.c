// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * -f json: one object a line per snapshot. The keys are a contract (docs/memleakbpf.1, JSON); a
 * value that is not known has no key.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>

#include "user/base/clock.h"
#include "user/export/compare.h"
#include "user/export/json_parts.h"
#include "user/export/render.h"
#include "user/export/survey_output.h"

static void put_target(struct json to, const struct snapshot *s)
{
	char comm[sizeof(s->comm) + 1];
	struct json_object *cmdline;

	json_put(to, "pid", json_object_new_int64(s->pid));
	if (s->processes) {
		json_put_number(to, "processes", s->processes);
		json_put_number(to, "processes_ended", s->ended);
	}
	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(s->comm), s->comm);
	if (*comm)
		json_put_string(to, "comm", comm);
	if (!s->cmdline)
		return;
	cmdline = json_object_new_array();
	for (char *const *arg = s->cmdline; *arg; arg++)
		json_append(cmdline, json_new_string(*arg), to.failed);
	json_put(to, "cmdline", cmdline);
}

static void put_ends(struct json to, const struct snapshot *s)
{
	struct json list = {json_object_new_object(), to.failed};
	struct stack_ends ends;

	snapshot_ends(s, &ends);
	for (size_t i = 0; i <= STACK_ENDS; i++) {
		struct json end = {json_object_new_object(), to.failed};

		json_put_number(end, "stacks", ends.stacks[i]);
		json_put_number(end, "allocs", ends.allocs[i]);
		json_put(list, snapshot_end_name(i), end.object);
	}
	json_put(to, "ends", list.object);
}

static void put_verdict(struct json to, const struct verdict *v)
{
	struct json verdict = {json_object_new_object(), to.failed};

	if (v->state == VERDICT_REFUSED) {
		json_put_string(verdict, "refused", v->reason);
		json_put(to, "verdict", verdict.object);
		return;
	}
	json_put_classes(verdict, v->classes);
	json_put_fine_ms(verdict, "pause_ms", v->pause_ns);
	json_put_fine_ms(verdict, "total_ms", v->total_ns);
	json_put_bool(verdict, "approximate", v->approximate);
	json_put_number(verdict, "read_bytes", v->read_bytes);
	json_put_number(verdict, "unknown_bytes", v->unknown_bytes);
	json_put_number(verdict, "unread_bytes", v->unread_bytes);
	json_put(to, "verdict", verdict.object);
}

static struct json_object *new_snapshot(const struct exporter *e, const struct snapshot *s,
					const struct stack *const *shown, size_t shown_count,
					bool *failed)
{
	struct json to = {json_object_new_object(), failed};
	struct json_object *stacks = json_object_new_array();

	json_put_number(to, "version", 1);
	json_put_time(to, s->time_ns);
	json_put_number(to, "elapsed_ms", s->elapsed_ns / NS_PER_MS);
	if (s->interval_ns)
		json_put_number(to, "interval_ms", s->interval_ns / NS_PER_MS);
	put_target(to, s);
	json_put_bool(to, "final", s->final);
	json_put_bool(to, "exited", s->exited);
	if (s->execed)
		json_put_bool(to, "execed", true);
	if (s->children_late)
		json_put_bool(to, "attached_late", true);
	json_put_number(to, "sample_bytes", s->sample_bytes);
	json_put_amount(to, "live", &s->live);
	json_put_amount(to, "alloc", &s->alloc);
	json_put_amount(to, "free", &s->free);
	json_put_growth(to, s->delta_bytes, s->delta_count, s->interval_ns);
	json_put_number(to, "unknown_frees", s->unknown_frees);
	json_put_lost(to, s->lost);
	if (e->options.verbose)
		put_ends(to, s);
	if (s->verdict.state != VERDICT_NOT_ASKED)
		put_verdict(to, &s->verdict);
	if (s->frees_checked)
		json_put_bad_frees(to, &e->options, s);
	if (s->suppressed)
		json_put_suppressed(to, s);
	if (e->options.show_older)
		json_put_number(to, "older_ms", e->options.older_ns / NS_PER_MS);
	json_put_number(to, "stack_count", s->stack_count);
	for (size_t i = 0; i < shown_count; i++)
		json_append(stacks, json_new_stack(&e->options, s, shown[i], failed), failed);
	json_put(to, "stacks", stacks);
	return to.object;
}

static int json_snapshot(struct exporter *e, const struct snapshot *s,
			 const struct stack *const *shown, size_t shown_count)
{
	bool failed = false;
	struct json_object *object = new_snapshot(e, s, shown, shown_count, &failed);
	int err = failed ? -ENOMEM : json_write_line(e->out, object);

	json_object_put(object);
	return err;
}

const struct exporter_format format_json = {
	.name = "json",
	.help = "one JSON object a line per snapshot",
	.history = true,
	.open = exporter_new,
	.snapshot = json_snapshot,
	.close = exporter_close,
	.show_survey = survey_write_json,
	.compare = compare_json,
	.findings = EXPORT_OBJECT,
};
