// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/base/clock.h"
#include "user/export/survey_output.h"

#include <errno.h>

#include "user/export/json_parts.h"

static void put_drill(struct json to, const struct export_options *options,
		      const struct survey_drill *drill)
{
	struct json object = {json_object_new_object(), to.failed};
	struct json_object *stacks;

	json_put_bool(object, "open", drill->open);
	json_put_string(object, "note", drill->note);
	if (drill->snapshot) {
		json_put_number(object, "window_ms", drill->window_ns / NS_PER_MS);
		json_put(object, "pid", json_object_new_int64(drill->snapshot->pid));
		json_put_number(object, "sample_bytes", drill->snapshot->sample_bytes);
		json_put_amount(object, "live", &drill->snapshot->live);
		json_put_lost(object, drill->snapshot->lost);
		json_put(object, "grown_bytes", json_object_new_int64(drill->grown));
	}
	json_put(to, "drill", object.object);
	if (!drill->snapshot)
		return;
	stacks = json_object_new_array();
	for (size_t i = 0; i < drill->shown_count; i++)
		json_append(stacks,
			    json_new_stack(options, drill->snapshot, drill->shown[i], to.failed),
			    to.failed);
	json_put(to, "stacks", stacks);
}

static void put_memory(struct json to, const struct survey_row *row)
{
	const struct process_sample *p = &row->process;

	json_put_number(to, "rss_anon_bytes", p->anon);
	json_put_number(to, "swap_bytes", p->swap);
	json_put_number(to, "shmem_bytes", p->shmem);
	json_put_number(to, "threads", p->threads);
	json_put_number(to, "lowest_then_bytes", row->low_then);
	json_put_number(to, "lowest_now_bytes", row->low_now);
}

static struct json_object *new_process(const struct survey_row *row,
				       const struct export_options *options, bool *failed)
{
	struct json to = {json_object_new_object(), failed};
	const struct process_sample *p = &row->process;

	json_put(to, "pid", json_object_new_int64(p->pid));
	json_put(to, "ppid", json_object_new_int64(p->ppid));
	json_put_string(to, "comm", p->comm[0] ? p->comm : NULL);
	json_put_number(to, "uid", p->uid);
	json_put_string(to, "cgroup", row->cgroup);
	json_put_string(to, "unit", row->unit);
	json_put_string(to, "container", row->container);
	json_put_string(to, "runtime", row->runtime);
	json_put_string(to, "pod", row->pod);
	json_put_bool(to, "ended", row->ended);
	put_memory(to, row);
	json_put_number(to, "samples", row->samples);
	if (row->children_exited)
		json_put_number(to, "children_exited", row->children_exited);
	if (row->children_peak)
		json_put_number(to, "children_peak_bytes", row->children_peak);
	json_put_trend(to, &row->trend);
	if (row->trend.error_known) {
		json_put_rate(to, "growth_low_bytes_per_s", row->trend.growth_low);
		json_put_rate(to, "growth_high_bytes_per_s", row->trend.growth_high);
	}
	if (row->trend.kind == TREND_GROWING)
		json_put_string(to, "confidence", row->trend.leaking ? "leaking" : "suspect");
	json_put_string(to, "reason", row->trend.reason);
	if (row->of_children)
		json_put_bool(to, "of_children", true);
	if (row->limit_known)
		json_put_rate(to, "limit_in_s", row->limit_s);
	if (row->drill)
		put_drill(to, options, row->drill);
	return to.object;
}

int survey_write_json(const struct survey_output *output, const struct survey_report *report)
{
	bool failed = false;
	struct json to = {json_object_new_object(), &failed};
	struct json_object *processes = json_object_new_array();
	int err;

	json_put_number(to, "version", 1);
	json_put_time(to, report->time_ns);
	json_put_number(to, "elapsed_ms", report->elapsed_ns / NS_PER_MS);
	json_put_bool(to, "final", report->final);
	json_put_string(to, "source", report->source);
	json_put_number(to, "process_count", report->process_count);
	json_put_number(to, "growing_count", report->growing_count);
	if (report->tool_known)
		json_put(to, "tool_cpu_percent", json_object_new_double(100 * report->tool_share));
	json_put(to, "probe_cpu_percent", json_object_new_double(100 * report->probe_share));
	json_put(to, "budget_percent", json_object_new_double(100 * report->budget_share));
	for (size_t i = 0; i < report->row_count; i++)
		json_append(processes, new_process(&report->rows[i], &output->options, &failed),
			    &failed);
	json_put(to, "processes", processes);
	err = failed ? -ENOMEM : json_write_line(output->out, to.object);
	json_object_put(to.object);
	return err;
}
