// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A heap profile of each target: a dump for every snapshot. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/export/perfetto.h"

/* "libc.malloc" is the name under which the UI shows a native heap with its own labels. */
#define HEAP_NAME "libc.malloc"

void perfetto_heap_release(struct perfetto_heap *h)
{
	struct id_map *const maps[] = {&h->frames_of, &h->stacks,   &h->frames, &h->functions,
				       &h->files,     &h->mappings, &h->paths,	&h->build_ids};

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		id_map_free(maps[i]);
	free(h->written);
	free(h->now);
	h->written = h->now = NULL;
	h->room = 0;
}

static void perfetto_put_sample(struct perfetto *p, uint64_t iid, const struct perfetto_written *w)
{
	size_t mark = wire_open(&p->out, DUMP_SAMPLES);

	wire_uint(&p->out, SAMPLE_CALLSTACK_ID, iid);
	wire_uint(&p->out, SAMPLE_SELF_ALLOCATED, w->alloc.bytes);
	wire_uint(&p->out, SAMPLE_SELF_FREED, w->free.bytes);
	wire_uint(&p->out, SAMPLE_ALLOC_COUNT, w->alloc.count);
	wire_uint(&p->out, SAMPLE_FREE_COUNT, w->free.count);
	wire_close(&p->out, mark);
}

static uint64_t max3(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t m = a > b ? a : b;

	return m > c ? m : c;
}

/*
 * Neither may fall, or the reader drops the sample; what can make them fall is a stack that was
 * among those without frames until its frames came. The difference is what has to stay right.
 */
static void keep_rising(uint64_t *alloc, uint64_t *freed, uint64_t alloc_before,
			uint64_t freed_before)
{
	uint64_t live = *alloc - *freed;

	*alloc = max3(*alloc, alloc_before, freed_before + live);
	*freed = *alloc - live;
}

static void put_dump(struct perfetto *p, struct perfetto_heap *h, const struct snapshot *s,
		     uint64_t time_ns)
{
	size_t packet = wire_open(&p->out, PACKET_PROFILE_PACKET), dump;
	const char *base = h->kind == HEAP_ALL ? HEAP_NAME : verdict_class_text(h->kind);
	char name[48];

	snprintf(name, sizeof(name), "%s", base);
	if (h->generation)
		snprintf(name, sizeof(name), "%s (%s %u)", base, s->window ? "window" : "program",
			 h->generation + 1);
	wire_uint(&p->out, PROFILE_INDEX, h->dumps);
	wire_uint(&p->out, PROFILE_CONTINUED, 0);
	dump = wire_open(&p->out, PROFILE_PROCESS_DUMPS);
	wire_uint(&p->out, DUMP_PID, (uint64_t)s->pid);
	wire_string(&p->out, DUMP_HEAP_NAME, name);
	/* Some versions of the reader join the dumps of a process by their time alone. */
	wire_uint(&p->out, DUMP_TIMESTAMP, time_ns + h->ordinal);
	if (s->sample_bytes)
		wire_uint(&p->out, DUMP_SAMPLING_INTERVAL, s->sample_bytes);
	for (size_t i = 0; i < h->room; i++) {
		struct perfetto_written *now = &h->now[i], *before = &h->written[i];

		keep_rising(&now->alloc.bytes, &now->free.bytes, before->alloc.bytes,
			    before->free.bytes);
		keep_rising(&now->alloc.count, &now->free.count, before->alloc.count,
			    before->free.count);
		if (!memcmp(now, before, sizeof(*now)))
			continue;
		perfetto_put_sample(p, i + 1, now);
		*before = *now;
	}
	wire_close(&p->out, dump);
	wire_close(&p->out, packet);
}

static struct perfetto_heap *add_heap(struct perfetto *p, const struct snapshot *s, unsigned kind)
{
	struct perfetto_heap *grown = reallocarray(p->heaps, p->heap_count + 1, sizeof(*grown)), *h;
	uint32_t generation = 0, ordinal = 0;

	if (!grown)
		return NULL;
	p->heaps = grown;
	for (size_t i = 0; i < p->heap_count; i++) {
		generation += grown[i].pid == s->pid && grown[i].kind == kind;
		ordinal += grown[i].pid == s->pid;
	}
	h = &grown[p->heap_count];
	*h = (struct perfetto_heap){
		.target_id = s->target_id,
		.kind = kind,
		.pid = s->pid,
		.sequence = FIRST_SEQUENCE + (uint32_t)p->heap_count,
		.generation = generation,
		.ordinal = ordinal,
		.start_ns = s->time_ns - s->elapsed_ns,
	};
	p->heap_count++;
	return h;
}

static struct perfetto_heap *find_heap(struct perfetto *p, const struct snapshot *s, unsigned kind)
{
	for (size_t i = p->heap_count; i-- > 0;) {
		struct perfetto_heap *h = &p->heaps[i];

		if (h->target_id == s->target_id && h->kind == kind && h->pid == s->pid &&
		    !h->ended)
			return h;
	}
	return NULL;
}

static struct perfetto_heap *begin_heap(struct perfetto *p, const struct snapshot *s)
{
	struct perfetto_heap *h = add_heap(p, s, HEAP_ALL);

	if (!h)
		return NULL;
	perfetto_put_clocks(p, h->start_ns);
	return perfetto_put_process(p, s, h->start_ns) ? NULL : h;
}

static int put_heap(struct perfetto *p, struct perfetto_heap *h, const struct report *r,
		    uint64_t time_ns)
{
	size_t packet = perfetto_packet(p, h->sequence), interned;
	int err;

	wire_uint(&p->out, PACKET_TIMESTAMP, time_ns);
	wire_uint(&p->out, PACKET_SEQUENCE_FLAGS,
		  h->dumps ? NEEDS_INCREMENTAL_STATE
			   : INCREMENTAL_STATE_CLEARED | NEEDS_INCREMENTAL_STATE);
	interned = wire_open(&p->out, PACKET_INTERNED_DATA);
	err = perfetto_intern_stacks(p, h, r);
	if (err)
		return err;
	wire_close(&p->out, interned);
	put_dump(p, h, r->snapshot, time_ns);
	wire_close(&p->out, packet);
	h->dumps++;
	return 0;
}

/* The classes of a verdict, each a heap from the first snapshot on in which it has any blocks. */
static int perfetto_put_classes(struct perfetto *p, const struct report *r, uint64_t time_ns)
{
	const struct snapshot *s = r->snapshot;
	int err = perfetto_put_verdict(p, s, time_ns);

	for (unsigned kind = 0; !err && kind < VERDICT_CLASSES; kind++) {
		struct perfetto_heap *h = find_heap(p, s, kind);

		if (!h && !s->verdict.classes[kind].count)
			continue;
		if (!h)
			h = add_heap(p, s, kind);
		err = h ? put_heap(p, h, r, time_ns) : -ENOMEM;
	}
	return err;
}

static void end_heaps(struct perfetto *p, const struct snapshot *s)
{
	for (unsigned kind = 0; kind <= HEAP_ALL; kind++) {
		struct perfetto_heap *h = find_heap(p, s, kind);

		if (!h)
			continue;
		h->ended = true;
		perfetto_heap_release(h);
	}
}

int perfetto_put_snapshot(struct perfetto *p, const struct report *r)
{
	const struct snapshot *s = r->snapshot;
	struct perfetto_heap *h = find_heap(p, s, HEAP_ALL);
	uint64_t time_ns;
	int err;

	if (!h)
		h = begin_heap(p, s);
	if (!h)
		return -ENOMEM;
	/* Not the real time, which may be set back. */
	time_ns = h->start_ns + s->elapsed_ns;
	perfetto_put_counters(p, h, s, time_ns);
	err = put_heap(p, h, r, time_ns);
	if (err)
		return err;
	h->alloc = s->alloc;
	h->elapsed_ns = s->elapsed_ns;
	/* Makes heaps, which may move the others. */
	err = perfetto_put_scopes(p, s, time_ns);
	if (!err && s->verdict.state == VERDICT_TAKEN)
		err = perfetto_put_classes(p, r, time_ns);
	if (!err && (s->exited || s->execed || s->window))
		end_heaps(p, s);
	return err;
}
