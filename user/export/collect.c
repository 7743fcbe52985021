// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/collect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/scopes_shown.h"

/* 0 or -ENOMEM. */
static int collection_init(struct collection *c)
{
	*c = (struct collection){.frames = frame_table_new()};
	return c->frames ? 0 : -ENOMEM;
}

static void target_release(struct collected_target *t)
{
	free(t->maps);
	free(t->stacks);
	id_map_free(&t->frames_of);
}

static void collection_release(struct collection *c)
{
	for (size_t i = 0; i < c->target_count; i++)
		target_release(&c->targets[i]);
	free(c->targets);
	frame_table_free(c->frames);
}

int collect_frames(struct frame_table *table, struct id_map *frames_of, const struct stack *stack,
		   const struct stack_notes *notes, uint32_t *frames)
{
	int err;

	*frames = 0;
	/* They may still come: nothing is remembered. */
	if (!notes->frames || !notes->frame_count)
		return 0;
	if (id_map_get(frames_of, stack->id, frames))
		return 0;
	err = frame_table_stack(table, notes->frames, notes->frame_count, frames);
	return err ? err : id_map_put(frames_of, stack->id, *frames);
}

static struct collected_target *find_target(struct collection *c, uint32_t target_id)
{
	for (size_t i = 0; i < c->target_count; i++) {
		size_t at = (c->last + i) % c->target_count;

		if (c->targets[at].target_id == target_id) {
			c->last = at;
			return &c->targets[at];
		}
	}
	return NULL;
}

static struct collected_target *add_target(struct collection *c, uint32_t target_id)
{
	struct collected_target *grown =
		reallocarray(c->targets, c->target_count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	c->targets = grown;
	c->last = c->target_count++;
	grown[c->last] = (struct collected_target){.target_id = target_id};
	return &grown[c->last];
}

static void remove_target(struct collection *c, struct collected_target *t)
{
	size_t at = (size_t)(t - c->targets);

	target_release(t);
	memmove(t, t + 1, (c->target_count - at - 1) * sizeof(*t));
	c->target_count--;
	c->last = 0;
}

/* 0 or -ENOMEM. */
static int copy_scope(struct collection *c, struct collected_stack *to, const struct snapshot *s,
		      const struct stack *from)
{
	const struct scope *scope = scope_of_stack(s, from);
	int err = scope ? frame_table_string(c->frames, scope->function, &to->scope) : 0;

	return err || !scope || !scope->tag
		       ? err
		       : frame_table_string(c->frames, scope->tag, &to->scope_tag);
}

static int copy_stacks(struct collection *c, struct collected_target *t, const struct report *r)
{
	const struct snapshot *s = r->snapshot;
	struct collected_stack *stacks =
		reallocarray(t->stacks, s->stack_count ? s->stack_count : 1, sizeof(*stacks));

	if (!stacks)
		return -ENOMEM;
	t->stacks = stacks;
	t->stack_count = t->left_out_stacks = 0;
	t->left_out = (struct amount){0};
	for (size_t i = 0; i < s->stack_count; i++) {
		const struct stack *from = &s->stacks[i];
		struct collected_stack *to = &stacks[t->stack_count];
		int err;

		if (r->notes[i].hidden) {
			amount_add(&t->left_out, &from->live);
			t->left_out_stacks++;
			continue;
		}
		*to = (struct collected_stack){
			.end = from->truncated ? STACK_END_TRUNCATED : from->end,
			.live = from->live,
			.alloc = from->alloc,
			.free = from->free,
			.delta_bytes = r->notes[i].delta_bytes,
		};
		memcpy(to->verdict, from->verdict, sizeof(to->verdict));
		if (t->peak && from->figures)
			to->at_peak = from->figures->at_peak;
		err = copy_scope(c, to, s, from);
		err = err
			      ?: collect_frames(c->frames, &t->frames_of, from, &r->notes[i],
						&to->frames);
		if (err)
			return err;
		t->stack_count++;
	}
	return 0;
}

/* 0 or -ENOMEM. */
static int copy_place(struct collection *c, struct collected_target *t,
		      const struct report_place *place)
{
	const struct {
		const char *text;
		uint32_t *to;
	} rows[] = {
		{place->unit, &t->unit},
		{place->container, &t->container},
		{place->pod, &t->pod},
		{place->pod_name, &t->pod_name},
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows) && !err; i++) {
		*rows[i].to = 0;
		if (rows[i].text)
			err = frame_table_string(c->frames, rows[i].text, rows[i].to);
	}
	return err;
}

/* A process may call itself anything. */
static void copy_comm(char to[17], const char from[16])
{
	text_copy(to, 17, *from ? from : "?", 16, &text_for_terminal);
}

/*
 * Takes a snapshot in, whose stacks must have their frames, in place of the target's previous one.
 * Of a program that has become another one by exec nothing is left. 0 or -ENOMEM.
 */
static int collection_take(struct collection *c, const struct report *r)
{
	const struct snapshot *s = r->snapshot;
	struct collected_target *t = find_target(c, s->target_id);

	if (s->execed) {
		if (t)
			remove_target(c, t);
		return 0;
	}
	if (!t)
		t = add_target(c, s->target_id);
	if (!t)
		return -ENOMEM;
	t->pid = s->pid;
	copy_comm(t->comm, s->comm);
	t->time_ns = s->time_ns;
	t->elapsed_ns = s->elapsed_ns;
	t->sample_bytes = s->sample_bytes;
	t->verdict = s->verdict;
	t->peak = s->figures_kept.peak && s->peak.captured_ns;
	t->live = s->live;
	t->alloc = s->alloc;
	t->free = s->free;
	memcpy(t->lost, s->lost, sizeof(t->lost));
	/*
	 * At its end a process has no mappings any more: the last ones known are what the stacks
	 * mean.
	 */
	if (s->maps) {
		struct module_maps *maps = module_maps_new(s->maps->items, s->maps->count);

		if (!maps)
			return -ENOMEM;
		free(t->maps);
		t->maps = maps;
	}
	return copy_place(c, t, &r->place) ?: copy_stacks(c, t, r);
}

struct exporter *document_new(FILE *out, const struct export_options *options,
			      int (*write)(struct document *d))
{
	struct document *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->base.out = out;
	d->base.options = *options;
	d->write = write;
	if (!collection_init(&d->collection))
		return &d->base;
	free(d);
	return NULL;
}

int document_snapshot(struct exporter *e, const struct report *r, const struct stack *const *shown,
		      size_t shown_count)
{
	struct document *d = (struct document *)e;
	int err = collection_take(&d->collection, r);

	(void)shown;
	(void)shown_count;
	d->taken = true;
	return !err && e->options.rewrite ? d->write(d) : err;
}

int document_close(struct exporter *e)
{
	struct document *d = (struct document *)e;
	int err;

	if (!d)
		return 0;
	/* Without a snapshot there is nothing to say: tracing could not begin. */
	err = e->options.rewrite || !d->taken ? 0 : d->write(d);
	collection_release(&d->collection);
	free(d);
	return err;
}

/* Keys above the numbers of frames: places that are no code. */
#define COLLECT_LABEL_KEY 0x80000000u

static void collect_visit_label(const char *label, uint32_t key, collected_visit_fn visit,
				void *ctx)
{
	const struct frame frame = {.function = label};
	const struct frame *const frames[] = {&frame};

	visit(ctx, COLLECT_LABEL_KEY | key, frames, 1);
}

void collected_stack_visit(const struct collection *c, const struct collected_stack *stack,
			   collected_visit_fn visit, void *ctx)
{
	const char *end = stack_end_label(stack->end);
	const struct frame *const *frames;
	const uint32_t *numbers;
	size_t count;

	if (!stack->frames) {
		collect_visit_label(STACK_UNKNOWN_LABEL, 0, visit, ctx);
		return;
	}
	frames = frame_table_stack_at(c->frames, stack->frames, &count);
	numbers = frame_table_stack_ids(c->frames, stack->frames, &count);
	for (size_t i = 0, first = 0; i < count; i++) {
		if (frames[i]->inlined && i + 1 < count)
			continue;
		visit(ctx, numbers[first], frames + first, i + 1 - first);
		first = i + 1;
	}
	if (end)
		collect_visit_label(end, 1 + (uint32_t)stack->end, visit, ctx);
}

void collected_place(const struct collected_target *target, const struct frame *frame,
		     struct collected_place *out)
{
	const struct module_map *map =
		frame_in_object(frame)
			? module_maps_find(target->maps, frame->module_path, frame->build_id,
					   frame->build_id_len, frame->module_offset)
			: NULL;

	*out = (struct collected_place){0};
	if (frame_is_code(frame))
		out->address = frame->module_offset;
	if (!map) {
		out->map.path = frame_runtime(frame, out->runtime) ?: frame->module_path
								     ?: frame->module;
		out->map.build_id = frame->build_id;
		out->map.build_id_len = frame->build_id_len;
		return;
	}
	out->map = *map;
	out->index = (size_t)(map - target->maps->items);
	if (frame_is_code(frame))
		out->address = map->start + (frame->module_offset - map->vaddr);
}
