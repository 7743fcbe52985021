// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* -f json of the kernel's memory: one object a line per look (docs/schema/kernel.json). */
#include "user/base/clock.h"
#include "user/export/json_parts.h"
#include "user/export/render.h"

static void kernel_json_put_trend(struct json *to, const struct trend *trend)
{
	json_text(to, "trend", trend_name(trend->kind));
	if (trend->growth_known)
		json_put_rate(to, "growth_bytes_per_s", trend->growth);
	json_text(to, "reason", trend->reason);
}

static void kernel_json_put_size(struct json *to, const struct kernel_size *size)
{
	json_number(to, "bytes", size->bytes);
	json_signed(to, "growth_bytes", size->growth);
	kernel_json_put_trend(to, &size->trend);
}

static void kernel_json_put_pools(struct json *to, const struct kernel_report *r)
{
	json_array(to, "pools");
	for (size_t i = 0; i < r->pool_count; i++) {
		json_object(to, NULL);
		json_text(to, "name", r->pools[i].name);
		json_bool(to, "reclaimable", r->pools[i].reclaimable);
		kernel_json_put_size(to, &r->pools[i].size);
		json_end(to);
	}
	json_end(to);
}

static void kernel_json_put_caches(struct json *to, const struct kernel_report *r)
{
	json_array(to, "caches");
	for (size_t i = 0; i < r->cache_count; i++) {
		const struct kernel_cache *c = &r->caches[i];

		json_object(to, NULL);
		json_text(to, "name", c->name);
		json_array(to, "aliases");
		for (size_t j = 0; j < c->alias_count; j++)
			json_text(to, NULL, c->aliases[j]);
		json_end(to);
		json_number(to, "object_bytes", c->object_bytes);
		json_number(to, "blocks", c->blocks);
		json_signed(to, "growth_blocks", c->growth_blocks);
		kernel_json_put_size(to, &c->size);
		json_bool(to, "reclaimable", c->reclaimable);
		json_bool(to, "frees_unseen", c->frees_unseen);
		json_end(to);
	}
	json_end(to);
}

static void kernel_json_put_callers(struct json *to, const char *key,
				    const struct kernel_caller *callers, size_t count)
{
	json_array(to, key);
	for (size_t i = 0; i < count; i++) {
		const struct kernel_caller *c = &callers[i];

		json_object(to, NULL);
		json_text(to, "function", c->function);
		json_text(to, "file", c->file);
		if (c->line)
			json_number(to, "line", c->line);
		json_text(to, "module", c->module);
		json_number(to, "blocks", c->blocks);
		kernel_json_put_size(to, &c->size);
		json_end(to);
	}
	json_end(to);
}

static void kernel_json_put_groups(struct json *to, const struct kernel_report *r)
{
	json_array(to, "groups");
	for (size_t i = 0; i < r->group_count; i++) {
		json_object(to, NULL);
		json_text(to, "path", r->groups[i].path);
		kernel_json_put_size(to, &r->groups[i].size);
		json_end(to);
	}
	json_end(to);
}

static void kernel_json_put_tasks(struct json *to, const struct kernel_stack *s)
{
	json_array(to, "tasks");
	for (size_t i = 0; i < s->task_count && !s->interrupt; i++) {
		const struct kernel_task *task = &s->tasks[i];

		json_object(to, NULL);
		json_number(to, "pid", task->pid);
		json_text(to, "comm", task->comm);
		json_fixed(to, "share", s->bytes ? (double)task->bytes / (double)s->bytes : 0, 3);
		json_end(to);
	}
	json_end(to);
}

static void kernel_json_put_frames(struct json *to, const struct kernel_stack *s)
{
	json_array(to, "frames");
	for (size_t i = 0; i < s->frame_count; i++) {
		const struct kernel_frame *frame = &s->frames[i];

		json_object(to, NULL);
		json_text(to, "function", frame->function);
		if (frame->function)
			json_text(to, "module", frame->module ? frame->module : "vmlinux");
		json_number(to, "offset", frame->function ? frame->offset : frame->address);
		json_end(to);
	}
	json_end(to);
}

static void kernel_json_put_stack(struct json *to, const struct kernel_books *books,
				  const struct kernel_stack *s)
{
	char id[17];

	json_object(to, NULL);
	snprintf(id, sizeof(id), "%016llx", (unsigned long long)s->id);
	json_text(to, "id", id);
	json_text(to, "kind", kernel_kind_name(s->kind));
	json_text(to, "cache", s->cache);
	json_object(to, "live");
	json_number(to, "bytes", s->bytes);
	json_number(to, "count", s->blocks);
	json_end(to);
	if (s->kind == KERNEL_SLAB)
		json_number(to, "object_bytes", s->object_bytes);
	if (books->sample_bytes) {
		json_number(to, "error_bytes", s->error_bytes);
		json_number(to, "samples", s->samples);
	}
	json_number(to, "oldest_ms", s->oldest_ns / NS_PER_MS);
	kernel_json_put_trend(to, &s->trend);
	json_bool(to, "reclaimable", s->reclaimable);
	json_bool(to, "frees_unseen", s->frees_unseen);
	json_text(to, "context", s->interrupt ? "interrupt" : "task");
	if (s->group_id)
		json_number(to, "cgroup_id", s->group_id);
	json_text(to, "cgroup", s->group);
	if (s->with) {
		snprintf(id, sizeof(id), "%016llx",
			 (unsigned long long)books->stacks[s->with - 1].id);
		json_text(to, "with", id);
	}
	kernel_json_put_tasks(to, s);
	kernel_json_put_frames(to, s);
	json_end(to);
}

static void kernel_json_put_books(struct json *to, const struct kernel_books *books)
{
	json_object(to, "probes");
	json_bool(to, "in", books->in);
	json_text(to, "stopped", books->stopped);
	json_number(to, "elapsed_ms", books->elapsed_ns / NS_PER_MS);
	json_number(to, "sample_bytes", books->sample_bytes);
	json_array(to, "kinds");
	for (unsigned kind = 0; kind < KERNEL_KINDS; kind++) {
		if (books->kinds & 1u << kind)
			json_text(to, NULL, kernel_kind_name(kind));
	}
	json_end(to);
	if (books->cpu_share >= 0)
		json_fixed(to, "cpu_percent", 100 * books->cpu_share, 2);
	json_object(to, "lost");
	for (unsigned cause = 0; cause < KERNEL_LOST_CAUSES; cause++)
		json_number(to, kernel_lost_name(cause), books->lost[cause]);
	json_end(to);
	json_number(to, "frees_unseen", books->frees_unseen);
	json_number(to, "split_pages", books->split);
	json_end(to);
	json_array(to, "stacks");
	for (size_t i = 0; i < books->stack_count; i++)
		kernel_json_put_stack(to, books, &books->stacks[i]);
	json_end(to);
}

static void kernel_json_put_missing(struct json *to, const struct missing_parts *missing)
{
	json_array(to, "missing");
	for (size_t i = 0; i < missing->count; i++) {
		json_object(to, NULL);
		json_text(to, "what", missing->parts[i].what);
		json_text(to, "why", missing->parts[i].why);
		json_text(to, "costs", missing->parts[i].costs);
		json_end(to);
	}
	json_end(to);
}

int kernel_write_json(struct exporter *e, const struct kernel_report *report)
{
	struct json_output output;
	struct json *to = &output.json;
	int err = json_output_begin(&output);

	if (err)
		return err;
	json_number(to, "version", 1);
	json_text(to, "kind", "kernel");
	json_put_time(to, report->time_ns);
	json_number(to, "elapsed_ms", report->elapsed_ns / NS_PER_MS);
	json_bool(to, "final", report->final);
	json_text(to, "host", report->host);
	json_text(to, "release", report->release);
	kernel_json_put_missing(to, &report->missing);
	kernel_json_put_pools(to, report);
	kernel_json_put_caches(to, report);
	kernel_json_put_callers(to, "areas", report->areas, report->area_count);
	kernel_json_put_callers(to, "sites", report->sites, report->site_count);
	kernel_json_put_groups(to, report);
	if (report->books)
		kernel_json_put_books(to, report->books);
	return json_output_end(&output, e->out);
}
