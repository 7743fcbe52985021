// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/export/json_parts.h"
#include "user/export/render.h"

/* What is decades away has no date. */
#define FAR_S 1e9

static void survey_json_put_drill(struct json *to, const struct export_options *options,
				  const struct survey_drill *drill)
{
	json_object(to, "drill");
	json_bool(to, "open", drill->open);
	json_text(to, "note", drill->note);
	if (drill->snapshot) {
		json_number(to, "window_ms", drill->window_ns / NS_PER_MS);
		json_signed(to, "pid", drill->snapshot->pid);
		json_number(to, "sample_bytes", drill->snapshot->sample_bytes);
		json_put_amount(to, "live", &drill->snapshot->live);
		json_put_lost(to, drill->snapshot->lost);
		json_signed(to, "grown_bytes", drill->grown);
	}
	json_end(to);
	if (!drill->snapshot)
		return;
	json_array(to, "stacks");
	for (size_t i = 0; i < drill->shown_count; i++)
		json_put_stack(to, options, drill->report, drill->shown[i]);
	json_end(to);
}

static void survey_json_put_guards(struct json *to, const struct guard_figures *guards)
{
	json_put_guard_state(to, &guards->state);
	json_object(to, "bad_accesses");
	for (unsigned i = 0; i < MISUSE_GUARDED_KINDS; i++)
		json_number(to, misuse_kind_name(i), guards->bad_accesses[i]);
	json_end(to);
}

static void survey_json_put_kept(struct json *to, const struct survey_kept *kept)
{
	json_object(to, "kept");
	json_bool(to, "sampled", kept->sampled);
	json_text(to, "reason", kept->reason);
	if (kept->sampled) {
		json_number(to, "since_ms", kept->since_ns / NS_PER_MS);
		json_number(to, "live_bytes", kept->live_bytes);
		json_number(to, "error_bytes", (uint64_t)kept->error_bytes);
		json_number(to, "samples", kept->samples);
		json_number(to, "live_samples", kept->live_samples);
	}
	if (kept->guards.state.asked)
		survey_json_put_guards(to, &kept->guards);
	json_end(to);
}

/* With their stacks, where there are any. */
static void survey_json_put_bad_accesses(struct json *to, const struct export_options *options,
					 const struct survey_kept *kept)
{
	if (!kept->bad_access_count)
		return;
	json_array(to, "bad_accesses");
	for (size_t i = 0; i < kept->bad_access_count; i++)
		json_put_misuse(to, NULL, options, &kept->bad_accesses[i]);
	json_end(to);
	if (kept->bad_accesses_left_out)
		json_number(to, "bad_accesses_left_out", kept->bad_accesses_left_out);
	if (kept->bad_accesses_suppressed_beside)
		json_number(to, "bad_accesses_suppressed_beside",
			    kept->bad_accesses_suppressed_beside);
}

static void survey_json_put_keep(struct json *to, const struct survey_report *report)
{
	const struct survey_keep_report *keep = report->keep;

	json_object(to, "keep");
	json_number(to, "sampled", keep->sampled);
	json_number(to, "left_out", keep->left_out);
	json_number(to, "sample_bytes", keep->sample_bytes);
	json_number(to, "samples", keep->samples);
	json_double(to, "samples_per_s", keep->samples_per_s);
	json_number(to, "live_samples", keep->live_samples);
	if (keep->guards) {
		json_number(to, "guarded", keep->guarded);
		json_number(to, "not_guarded", keep->not_guarded);
	}
	json_put_lost(to, report->totals.lost);
	json_end(to);
}

static void survey_json_put_memory(struct json *to, const struct survey_row *row)
{
	const struct process_sample *p = &row->process;

	if (p->rss)
		json_number(to, "rss_bytes", p->rss);
	json_number(to, "rss_anon_bytes", p->anon);
	json_number(to, "swap_bytes", p->swap);
	json_number(to, "shmem_bytes", p->shmem);
	json_number(to, "threads", p->threads);
	json_number(to, "lowest_then_bytes", row->low_then);
	json_number(to, "lowest_now_bytes", row->low_now);
}

/* A time that is not known is left out. */
static void survey_json_put_since(struct json *to, const char *key, uint64_t time_ns)
{
	if (time_ns)
		json_put_time_of(to, key, time_ns);
}

static void survey_json_put_regime(struct json *to, const struct survey_row *row, uint64_t now_ns)
{
	static const char *const states[] = {
		[GROWTH_KEPT] = "kept",
		[GROWTH_STEPS] = "steps",
		[GROWTH_FILLING] = "filling",
		[GROWTH_GOES_ON] = "growing",
	};
	const struct survey_growth *g = &row->growth;

	if (g->state == GROWTH_NONE)
		return;
	json_object(to, "regime");
	json_text(to, "state", states[g->state]);
	survey_json_put_since(to, "since", g->since_ns);
	survey_json_put_since(to, "until", g->until_ns);
	json_signed(to, "grown_bytes", saturate_i64(g->bytes));
	if (g->state == GROWTH_STEPS)
		json_number(to, "steps", g->steps);
	if (g->state >= GROWTH_FILLING) {
		json_bool(to, "since_start", g->since_start);
		if (g->level_before_ns)
			json_double(to, "level_before_s", (double)g->level_before_ns / NS_PER_S);
		json_double(to, "pace", g->pace);
	}
	if (g->room_used > 0)
		json_double(to, "room_used", g->room_used);
	if (g->levels_off_at > 0)
		json_number(to, "levels_off_at_bytes", saturate_u64(g->levels_off_at));
	/* In a recording the report's time is in milliseconds. */
	if (row->limit_known && row->limit_s < FAR_S)
		survey_json_put_since(to, "full_at",
				      now_ns / NS_PER_MS * NS_PER_MS +
					      (uint64_t)(row->limit_s * NS_PER_S));
	json_end(to);
}

static void survey_json_put_process(struct json *to, const struct survey_row *row,
				    const struct export_options *options, uint64_t now_ns)
{
	const struct process_sample *p = &row->process;

	json_object(to, NULL);
	json_signed(to, "pid", p->pid);
	json_signed(to, "ppid", p->ppid);
	json_text(to, "comm", p->comm[0] ? p->comm : NULL);
	json_number(to, "uid", p->uid);
	json_text(to, "cgroup", row->cgroup);
	json_text(to, "unit", row->unit);
	json_text(to, "container", row->container);
	json_text(to, "runtime", row->runtime);
	json_text(to, "pod", row->pod);
	if (row->pod_name)
		json_text(to, "pod_name", row->pod_name);
	json_bool(to, "ended", row->ended);
	survey_json_put_memory(to, row);
	json_number(to, "samples", row->samples);
	if (row->children_exited)
		json_number(to, "children_exited", row->children_exited);
	if (row->children_peak)
		json_number(to, "children_peak_bytes", row->children_peak);
	json_put_growth(to, 0, 0, 0, &row->trend);
	if (row->trend.error_known) {
		json_put_rate(to, "growth_low_bytes_per_s", row->trend.growth_low);
		json_put_rate(to, "growth_high_bytes_per_s", row->trend.growth_high);
	}
	if (row->trend.kind == TREND_GROWING)
		json_text(to, "confidence", row->trend.leaking ? "leaking" : "suspect");
	json_text(to, "reason", row->trend.reason);
	if (row->of_children)
		json_bool(to, "of_children", true);
	if (row->limit_known)
		json_put_rate(to, "limit_in_s", row->limit_s);
	if (row->limit_known && row->limit_bytes)
		json_number(to, "limit_bytes", row->limit_bytes);
	survey_json_put_regime(to, row, now_ns);
	if (row->kept)
		survey_json_put_kept(to, row->kept);
	if (row->drill)
		survey_json_put_drill(to, options, row->drill);
	if (row->kept)
		survey_json_put_bad_accesses(to, options, row->kept);
	json_end(to);
}

int survey_write_json(struct exporter *e, const struct survey_report *report)
{
	struct json_output output;
	struct json *to = &output.json;
	int err = json_output_begin(&output);

	if (err)
		return err;
	json_number(to, "version", 1);
	json_put_time(to, report->time_ns);
	json_number(to, "elapsed_ms", report->elapsed_ns / NS_PER_MS);
	json_bool(to, "final", report->final);
	json_text(to, "source", report->source);
	json_put_missing(to, &report->missing);
	json_number(to, "process_count", report->process_count);
	json_number(to, "growing_count", report->growing_count);
	if (report->tool_known)
		json_double(to, "tool_cpu_percent", 100 * report->tool_share);
	json_double(to, "probe_cpu_percent", 100 * report->probe_share);
	json_double(to, "budget_percent", 100 * report->budget_share);
	if (report->keep)
		survey_json_put_keep(to, report);
	json_array(to, "processes");
	for (size_t i = 0; i < report->row_count; i++)
		survey_json_put_process(to, &report->rows[i], &e->options, report->time_ns);
	json_end(to);
	return json_output_end(&output, e->out);
}
