// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * -f json: one object a line per snapshot. The keys are a contract (docs/memleakbpf.1, JSON); a
 * value that is not known has no key.
 */
#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/export/compare.h"
#include "user/export/json_parts.h"
#include "user/export/render.h"
#include "user/export/scopes_shown.h"

static void json_put_target(struct json *to, const struct snapshot *s)
{
	char comm[sizeof(s->comm) + 1];

	json_signed(to, "pid", s->pid);
	if (s->processes) {
		json_number(to, "processes", s->processes);
		json_number(to, "processes_ended", s->ended);
	}
	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(s->comm), s->comm);
	json_text(to, "comm", *comm ? comm : NULL);
	if (!s->cmdline)
		return;
	json_array(to, "cmdline");
	for (char *const *arg = s->cmdline; *arg; arg++)
		json_text(to, NULL, *arg);
	json_end(to);
}

static void json_put_ends(struct json *to, const struct snapshot *s)
{
	struct stack_ends ends;

	snapshot_ends(s, &ends);
	json_object(to, "ends");
	for (size_t i = 0; i <= STACK_ENDS; i++) {
		json_object(to, snapshot_end_name(i));
		json_number(to, "stacks", ends.stacks[i]);
		json_number(to, "allocs", ends.allocs[i]);
		json_end(to);
	}
	json_end(to);
}

static void json_put_verdict(struct json *to, const struct verdict *v)
{
	json_object(to, "verdict");
	if (v->state == VERDICT_REFUSED) {
		json_text(to, "refused", v->reason);
	} else {
		json_put_classes(to, v->classes);
		if (verdict_has_before(v)) {
			json_object(to, "before_attach");
			json_put_classes(to, v->before);
			json_end(to);
		}
		json_put_unjoined(to, &v->unjoined);
		json_put_fine_ms(to, "pause_ms", v->pause_ns);
		json_put_fine_ms(to, "total_ms", v->total_ns);
		json_bool(to, "approximate", v->approximate);
		json_number(to, "read_bytes", v->read_bytes);
		json_number(to, "unknown_bytes", v->unknown_bytes);
		json_number(to, "unread_bytes", v->unread_bytes);
	}
	json_end(to);
}

/* What live blocks do not tell; nothing where that is no more than is usual. */
static void json_put_untraced(struct json *to, const struct growth *growth)
{
	if (growth->space) {
		json_number(to, "address_space_growth_bytes", growth->space);
		json_number(to, "resident_growth_bytes", growth->space_resident);
	}
	if (!growth->untraced)
		return;
	json_number(to, "untraced_growth_bytes", growth->untraced);
	json_number(to, "anon_growth_bytes", growth->anon);
	if (growth->where)
		json_put_lines(to, "grown_mappings", growth->where);
}

static void json_put_heaps(struct json *to, const struct untraced_heaps *heaps)
{
	if (!heaps->kinds)
		return;
	json_array(to, "untraced_heaps");
	for (size_t i = 0; i < UNTRACED_HEAPS; i++) {
		if (!(heaps->kinds & 1u << i))
			continue;
		json_object(to, NULL);
		json_text(to, "runtime", untraced_heap_name((enum untraced_heap)i));
		if (heaps->bytes[i])
			json_number(to, "bytes", heaps->bytes[i]);
		json_end(to);
	}
	json_end(to);
}

static void json_put_peak(struct json *to, const struct peak *peak, bool estimated)
{
	if (!peak->time_ns)
		return;
	json_object(to, "peak");
	json_number(to, "bytes", peak->bytes);
	json_put_time(to, peak->time_ns);
	if (peak->captured_ns) {
		json_object(to, "captured");
		json_number(to, "bytes", peak->captured_bytes);
		json_put_error(to, estimated, peak->captured_error);
		json_put_time(to, peak->captured_ns);
		json_end(to);
	}
	json_end(to);
}

static void json_put_end(struct json *to, const struct process_end *end)
{
	const char *cause = process_end_name(end->cause);

	if (!cause)
		return;
	json_object(to, "end");
	json_text(to, "cause", cause);
	json_number(to, end->cause == END_EXIT ? "status" : "signal", end->code);
	if (end->sender) {
		json_number(to, "sender_pid", end->sender);
		json_text(to, "sender_comm", *end->sender_comm ? end->sender_comm : NULL);
	}
	if (end->sent)
		json_bool(to, "sent_itself", true);
	if (*end->cgroup)
		json_text(to, "cgroup", end->cgroup);
	if (end->limit)
		json_number(to, "limit_bytes", end->limit);
	json_end(to);
}

static void put_report(struct json *to, const struct export_options *options,
		       const struct report *r, const struct stack *const *shown, size_t shown_count)
{
	const struct snapshot *s = r->snapshot;

	json_number(to, "version", 1);
	json_put_time(to, s->time_ns);
	json_number(to, "elapsed_ms", s->elapsed_ns / NS_PER_MS);
	if (s->interval_ns)
		json_number(to, "interval_ms", s->interval_ns / NS_PER_MS);
	json_put_target(to, s);
	json_bool(to, "final", s->final);
	json_bool(to, "exited", s->exited);
	json_put_end(to, &s->end);
	json_put_findings(to, r->findings);
	if (s->execed)
		json_bool(to, "execed", true);
	if (s->children_late)
		json_bool(to, "attached_late", true);
	json_text(to, "attach", attached_by_name(s->attached));
	if (s->sample_bytes || s->attached != ATTACHED_BY_USDT)
		json_number(to, "sample_bytes", s->sample_bytes);
	json_put_amount(to, "live", &s->live);
	json_put_amount(to, "alloc", &s->alloc);
	json_put_amount(to, "free", &s->free);
	if (s->arenas.count)
		json_put_amount(to, "arenas", &s->arenas);
	json_put_heaps(to, &s->heaps);
	if (s->figures_kept.peak)
		json_put_peak(to, &s->peak, s->sample_bytes != 0);
	json_put_figures_sum(to, s);
	json_put_growth(to, r->delta_bytes, r->delta_count, s->interval_ns, NULL);
	json_put_untraced(to, &s->growth);
	json_number(to, "unknown_frees", s->unknown_frees);
	if (s->ages_unread)
		json_number(to, "ages_unread_blocks", s->ages_unread);
	json_put_missing(to, &s->missing);
	json_put_lost(to, s->lost);
	if (options->verbose)
		json_put_ends(to, s);
	if (s->verdict.state != VERDICT_NOT_ASKED)
		json_put_verdict(to, &s->verdict);
	if (s->frees_checked)
		json_put_misuses(to, options, &r->misuses[MISUSE_BY_CHECK], MISUSE_BY_CHECK);
	if (s->guard.asked) {
		json_put_guard_state(to, &s->guard);
		json_put_misuses(to, options, &r->misuses[MISUSE_BY_GUARD], MISUSE_BY_GUARD);
	}
	if (r->suppressed)
		json_put_suppressed(to, r->suppressed);
	if (options->show_older)
		json_number(to, "older_ms", options->older_ns / NS_PER_MS);
	json_put_scopes(to, r);
	json_number(to, "stack_count", s->stack_count);
	json_array(to, "stacks");
	for (size_t i = 0; i < shown_count; i++)
		json_put_stack(to, options, r, shown[i]);
	json_end(to);
}

static int json_snapshot(struct exporter *e, const struct report *r,
			 const struct stack *const *shown, size_t shown_count)
{
	struct json_output output;
	int err = json_output_begin(&output);

	if (err)
		return err;
	put_report(&output.json, &e->options, r, shown, shown_count);
	return json_output_end(&output, e->out);
}

const struct exporter_format format_json = {
	.name = "json",
	.help = "one JSON object a line per snapshot",
	.history = true,
	.says = true,
	.open = exporter_new,
	.snapshot = json_snapshot,
	.survey = survey_write_json,
	.inspection = inspection_write_json,
	.kernel = kernel_write_json,
	.close = exporter_close,
	.compare = compare_json,
	.findings = EXPORT_OBJECT,
};
