// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An inspection as JSON: one line; the keys are a contract (docs/memleakbpf.1). */
#include "user/base/clock.h"
#include "user/export/json_parts.h"
#include "user/export/render.h"

static void inspection_json_put_memory(struct json *to, const struct inspection *i)
{
	struct amount in_use = {
		.bytes = i->parts[MEMORY_IN_USE],
		.count = i->verdict.classes[VERDICT_DEFINITE].count +
			 i->verdict.classes[VERDICT_INDIRECT].count +
			 i->verdict.classes[VERDICT_POSSIBLE].count +
			 i->verdict.classes[VERDICT_REACHABLE].count,
	};

	for (size_t n = 0; n < i->managed_count; n++) {
		const struct managed_part *objects = managed_heap_part(&i->managed[n], "objects");

		in_use.count += objects ? objects->amount.count : 0;
	}
	json_object(to, "memory");
	json_number(to, "rss_anon_bytes", i->rss_anon);
	json_number(to, "swap_bytes", i->swap);
	json_number(to, "shmem_bytes", i->shmem);
	json_put_amount(to, memory_part_name(MEMORY_IN_USE), &in_use);
	for (int part = MEMORY_IN_USE + 1; part < MEMORY_PARTS; part++) {
		char key[64];

		snprintf(key, sizeof(key), "%s_bytes", memory_part_name((enum memory_part)part));
		json_number(to, key, i->parts[part]);
	}
	json_end(to);
}

static void inspection_json_put_allocator(struct json *to, const struct inspected_allocator *a)
{
	json_object(to, NULL);
	json_text(to, "name", a->name);
	json_text(to, "version", *a->version ? a->version : NULL);
	if (a->arenas)
		json_number(to, "arenas", a->arenas);
	json_put_amount(to, "in_use", &a->in_use);
	json_number(to, "slack_bytes", a->slack_bytes);
	json_number(to, "free_bytes", a->free_bytes);
	json_number(to, "cached_bytes", a->cached_bytes);
	json_number(to, "free_resident_bytes", a->free_resident);
	json_number(to, "free_whole_pages_bytes", a->free_whole_pages);
	if (a->dirty_resident)
		json_number(to, "dirty_bytes", a->dirty_resident);
	if (a->muzzy_resident)
		json_number(to, "muzzy_bytes", a->muzzy_resident);
	json_number(to, "books_bytes", a->books_bytes);
	json_bool(to, "believed", !*a->why);
	json_text(to, "why", *a->why ? a->why : NULL);
	if (a->unbelieved_bytes) {
		json_number(to, "unbelieved_bytes", a->unbelieved_bytes);
		json_number(to, "unbelieved_resident_bytes", a->unbelieved_resident);
	}
	json_end(to);
}

static void inspection_json_put_mapping(struct json *to, const struct inspected_mapping *m)
{
	json_object(to, NULL);
	json_number(to, "start", m->start);
	json_number(to, "bytes", m->bytes);
	json_number(to, "resident_bytes", m->resident);
	json_text(to, "name", m->name);
	if (m->held_by)
		json_put_lines(to, "held_by", m->held_by);
	json_end(to);
}

/* What tells a group from others; 'beginning' is a hash. */
static void inspection_json_put_kind(struct json *to, const struct inspected_group *g)
{
	json_text(to, "kind", group_kind_name(g->kind));
	json_text(to, "name", g->name);
	json_text(to, "module", g->module);
	if (g->size)
		json_number(to, "size", g->size);
	if (g->beginning) {
		char hash[17];

		snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)g->beginning);
		json_text(to, "beginning", hash);
	}
}

/* Of those that were seen being allocated; 'stack' is the id of one of the snapshot's. */
static void inspection_json_put_origin(struct json *to, const struct inspection *i,
				       const struct inspected_origin *o)
{
	char id[17];

	if (!i->traced)
		return;
	json_put_amount(to, "since_attach", &o->traced);
	if (!o->stack_id)
		return;
	json_object(to, "allocated_by");
	snprintf(id, sizeof(id), "%016llx", (unsigned long long)o->stack_id);
	json_text(to, "id", id);
	json_text(to, "function", o->function);
	json_number(to, "bytes", o->most.bytes);
	json_number(to, "count", o->most.count);
	json_end(to);
}

/* What holds most of it as held_by, as of stacks. */
static void inspection_json_put_holders(struct json *to, const struct inspected_group *g)
{
	if (!g->holder_count)
		return;
	json_put_lines(to, "held_by", g->holders[0].path);
	json_array(to, "holders");
	for (size_t n = 0; n < g->holder_count; n++) {
		json_object(to, NULL);
		json_number(to, "bytes", g->holders[n].held.bytes);
		json_number(to, "count", g->holders[n].held.count);
		json_put_lines(to, "path", g->holders[n].path);
		json_end(to);
	}
	json_end(to);
}

static void inspection_json_put_way(struct json *to, const struct inspected_way *way)
{
	json_object(to, NULL);
	if (way->up != SIZE_MAX)
		json_number(to, "up", way->up);
	json_text(to, "name", way->name);
	if (way->lost)
		json_bool(to, "lost", true);
	if (way->linked)
		json_bool(to, "linked", true);
	if (way->own.count)
		json_put_amount(to, "own", &way->own);
	json_put_amount(to, "retained", &way->retained);
	if (way->alone.count || way->shared.count)
		json_put_amount(to, "alone", &way->alone);
	json_end(to);
}

static void inspection_json_put_group(struct json *to, const struct inspection *i,
				      const struct inspected_group *g)
{
	json_object(to, NULL);
	inspection_json_put_kind(to, g);
	json_put_amount(to, "live", &g->live);
	json_object(to, "verdict");
	json_put_classes(to, g->verdict);
	json_end(to);
	inspection_json_put_holders(to, g);
	inspection_json_put_origin(to, i, &g->origin);
	if (g->contents)
		json_hex(to, "contents", g->contents, g->contents_len);
	if (g->growth_known)
		json_put_rate(to, "growth_bytes_per_s", g->growth_bytes_per_s);
	json_end(to);
}

static void inspection_json_put_loss(struct json *to, const struct inspection *i,
				     const struct inspected_loss *loss)
{
	json_object(to, NULL);
	inspection_json_put_kind(to, &i->groups[loss->group]);
	json_put_amount(to, "lost", &loss->lost);
	json_put_amount(to, "kept", &loss->kept);
	json_text(to, "suppressed", inspected_group_suppressed(&i->groups[loss->group]));
	inspection_json_put_origin(to, i, &loss->origin);
	json_end(to);
}

static void inspection_json_put_verdict(struct json *to, const struct inspection *i)
{
	const struct verdict *v = &i->verdict;

	json_object(to, "verdict");
	json_put_classes(to, v->classes);
	json_put_unjoined(to, &v->unjoined);
	json_number(to, "unknown_bytes", v->unknown_bytes);
	json_number(to, "unread_bytes", v->unread_bytes);
	if (i->no_registers)
		json_bool(to, "no_registers", true);
	if (i->unknown_threads)
		json_number(to, "unknown_threads", i->unknown_threads);
	json_bool(to, "approximate", v->approximate);
	json_end(to);
}

static void inspection_json_put_who(struct json *to, const struct inspection *i)
{
	char comm[sizeof(i->comm) + 1];

	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(i->comm), i->comm);
	json_number(to, "version", 1);
	json_put_time(to, i->time_ns);
	json_number(to, "elapsed_ms", i->elapsed_ns / NS_PER_MS);
	json_number(to, "pid", (uint64_t)i->pid);
	json_text(to, "comm", *comm ? comm : NULL);
	if (i->cmdline) {
		json_array(to, "cmdline");
		for (char *const *argument = i->cmdline; *argument; argument++)
			json_text(to, NULL, *argument);
		json_end(to);
	}
	json_text(to, "core", i->core);
	json_bool(to, "final", i->final);
	if (i->traced)
		json_bool(to, "traced", true);
	if (!i->core)
		json_put_fine_ms(to, "pause_ms", i->verdict.pause_ns);
	json_put_fine_ms(to, "total_ms", i->verdict.total_ns);
	json_number(to, "tool_peak_bytes", i->tool_bytes);
}

int inspection_write_json(struct exporter *e, const struct inspection *i, size_t top)
{
	struct json_output output;
	struct json *to = &output.json;
	int err = json_output_begin(&output);

	if (err)
		return err;
	inspection_json_put_who(to, i);
	json_put_findings(to, i->findings);
	inspection_json_put_memory(to, i);
	json_array(to, "allocators");
	for (size_t n = 0; n < i->allocator_count; n++)
		inspection_json_put_allocator(to, &i->allocators[n]);
	json_end(to);
	inspection_json_put_keepers(to, i);
	json_number(to, "mapping_count", i->mapping_count);
	json_array(to, "mappings");
	for (size_t n = 0; n < i->mapping_count && n < top; n++)
		inspection_json_put_mapping(to, &i->mappings[n]);
	json_end(to);
	inspection_json_put_verdict(to, i);
	json_number(to, "loss_count", i->loss_count);
	json_array(to, "losses");
	for (size_t n = 0; n < i->loss_count && n < top; n++)
		inspection_json_put_loss(to, i, &i->losses[n]);
	json_end(to);
	json_number(to, "group_count", i->group_count);
	json_array(to, "groups");
	for (size_t n = 0; n < i->group_count && n < top; n++)
		inspection_json_put_group(to, i, &i->groups[n]);
	json_end(to);
	json_array(to, "ways");
	for (size_t n = 0; n < i->way_count; n++)
		inspection_json_put_way(to, &i->ways[n]);
	json_end(to);
	inspection_json_put_managed(to, i, top);
	return json_output_end(&output, e->out);
}
