// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/managed/go_heap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

#define SIZE_CLASSES 68
#define SPAN_WORDS   20 /* go_layout.span_bytes, at the most */

/* A slice of so many looks like spans at once, or it is none; the others are looked at then. */
#define FIRST_LOOKED 64
#define SPANS_LEAST  8

/* Spans of one page with objects of these sizes have their marks before their end (mgcmark_greenteagc.go). */
#define INLINE_MARKS_FROM 16
#define INLINE_MARKS_TO	  512
#define INLINE_MARKS_AT	  64

/* Spans of small objects have 10 pages at the most (sizeclasses.go). */
#define SMALL_PAGES 64

#define GO_ARENA (64ull << 20)

/* A goroutine's status in which it may not have been set up yet (runtime2.go). */
#define G_IDLE 0
#define G_DEAD 6

/* ---- fields -------------------------------------------------------------------------------- */

static uint64_t field(const uint64_t *words, unsigned offset, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, (const char *)words + offset, bytes);
	return value;
}

enum span_look {
	LOOK_NONE,   /* it is no span */
	LOOK_UNUSED, /* one that is not in use */
	LOOK_USED,
};

static bool span_agrees(const struct go_heap *heap, const struct go_span *s, uint64_t limit,
			uint8_t span_class)
{
	if (!s->base || s->base % GO_PAGE || !s->bytes || s->base + s->bytes < s->base ||
	    span_class >> 1 >= SIZE_CLASSES || !maps_find(heap->memory->image->maps, s->base))
		return false;
	if (s->state == GO_SPAN_MANUAL)
		return true;
	return s->elem_size && s->nelems && s->nelems <= s->bytes / s->elem_size &&
	       limit <= s->base + s->bytes &&
	       (s->class ? s->bytes <= SMALL_PAGES * GO_PAGE : s->nelems == 1);
}

/* The span at an address, as far as it agrees with itself. */
static enum span_look span_read(const struct go_heap *heap, uint64_t address, struct go_span *s)
{
	const struct go_layout *l = heap->program.layout;
	uint64_t room[SPAN_WORDS], pages;
	const uint64_t *w = go_words(heap->memory, address, l->span_bytes / 8, room);
	uint8_t span_class;

	if (!w)
		return LOOK_NONE;
	*s = (struct go_span){.state = (uint8_t)field(w, l->state, 1)};
	if (s->state > GO_SPAN_MANUAL)
		return LOOK_NONE;
	if (s->state == GO_SPAN_UNUSED)
		return LOOK_UNUSED;
	pages = field(w, GO_SPAN_PAGES, 8);
	if (!pages || pages > 1ull << 27)
		return LOOK_NONE;
	span_class = (uint8_t)field(w, l->span_class, 1);
	s->base = field(w, GO_SPAN_START, 8);
	s->bytes = pages * GO_PAGE;
	s->class = span_class >> 1;
	s->no_pointers = span_class & 1;
	s->elem_size = field(w, l->elem_size, 8);
	s->nelems = (uint32_t)field(w, l->nelems, l->narrow ? 2 : 4);
	s->free_index = (uint32_t)field(w, GO_SPAN_FREE_INDEX, l->narrow ? 2 : 4);
	s->alloc_count = (uint32_t)field(w, l->alloc_count, 2);
	s->sweepgen = (uint32_t)field(w, l->sweepgen, 4);
	s->alloc_bits = field(w, l->alloc_bits, 8);
	s->mark_bits = field(w, l->mark_bits, 8);
	s->large_type = l->large_type ? field(w, l->large_type, 8) : 0;
	return span_agrees(heap, s, field(w, l->limit, 8), span_class) ? LOOK_USED : LOOK_NONE;
}

/* ---- mheap_.allspans ----------------------------------------------------------------------- */

/* A slice among the variables. */
struct slice_search {
	struct go_heap *heap;
	uint64_t slice, count, used; /* the best one: the address of its array */
	uint64_t pages_in_use;
	uint32_t sweepgen;
	uint64_t goroutines, goroutine_count;
	uint64_t
		left; /* elements that may still be looked at: variables may lead to one array a million times */
};

static bool is_slice(const uint64_t *w)
{
	return w[1] && w[1] <= w[2] && w[2] < 1u << 28 && w[0] > 4096 && !(w[0] % 8);
}

/* All elements are spans; how many are in use. 0: they are none. */
static uint64_t spans_in(struct slice_search *search, uint64_t array, uint64_t count)
{
	const struct memory_region *near = NULL;
	struct go_span span;
	uint64_t used = 0, element;

	for (uint64_t i = 0; i < count && search->left; i++, search->left--) {
		enum span_look look;

		if (!memory_image_word_near(search->heap->memory->image, &near, array + 8 * i,
					    &element))
			return 0;
		look = span_read(search->heap, element, &span);
		if (look == LOOK_NONE || (i + 1 == FIRST_LOOKED && !used))
			return 0;
		used += look == LOOK_USED;
	}
	return search->left ? used : 0;
}

static bool is_goroutine(const struct go_heap *heap, uint64_t g, bool *sure)
{
	const struct go_layout *l = heap->program.layout;
	uint64_t room[GO_G_BYTES / 8];
	const uint64_t *w = go_words(heap->memory, g, GO_G_BYTES / 8, room);
	uint64_t self, status;

	if (!w)
		return false;
	self = field(w, GO_G_SCHED + GO_GOBUF_G, 8);
	status = field(w, l->status, 4);
	*sure |= self == g;
	return self == g || (!self && (status == G_IDLE || status == G_DEAD));
}

/* All elements are goroutines. */
static bool goroutines_in(struct slice_search *search, uint64_t array, uint64_t count)
{
	const struct memory_region *near = NULL;
	bool sure = false;
	uint64_t g;

	for (uint64_t i = 0; i < count && search->left; i++, search->left--) {
		if (!memory_image_word_near(search->heap->memory->image, &near, array + 8 * i,
					    &g) ||
		    !is_goroutine(search->heap, g, &sure))
			return false;
	}
	return sure && search->left;
}

/* Looks at a slice that has a word before it and one behind. */
static void slice_look(struct slice_search *search, const uint64_t *w)
{
	uint64_t used;

	if (w[2] >= SPANS_LEAST && w[2] > search->used &&
	    (used = spans_in(search, w[1], w[2])) > search->used) {
		search->slice = w[1];
		search->count = w[2];
		search->used = used;
		/* mheap: sweepgen, allspans, pagesInUse */
		search->sweepgen = (uint32_t)w[0];
		search->pages_in_use = w[4];
		return;
	}
	if (w[2] > search->goroutine_count && goroutines_in(search, w[1], w[2])) {
		search->goroutines = w[1];
		search->goroutine_count = w[2];
	}
}

static int slices_look(void *ctx, uint64_t address, const uint64_t *words, size_t own, size_t count)
{
	struct slice_search *search = ctx;

	(void)address;
	for (size_t i = 0; i < own && i + 5 <= count && search->left; i++) {
		if (is_slice(words + i + 1))
			slice_look(search, words + i);
	}
	return 0;
}

/* ---- what they are ------------------------------------------------------------------------- */

static int span_order(const void *a, const void *b)
{
	const struct go_span *x = a, *y = b;

	return x->base < y->base ? -1 : x->base > y->base;
}

static int spans_take(struct go_heap *heap, const struct slice_search *search)
{
	uint64_t *array = go_copy_words(heap->memory, search->slice, search->count);
	size_t n = 0;

	heap->spans = calloc(search->used + 1, sizeof(*heap->spans));
	if (!array || !heap->spans) {
		free(array);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < search->count && n < search->used; i++)
		n += span_read(heap, array[i], &heap->spans[n]) == LOOK_USED;
	free(array);
	heap->span_count = n;
	qsort(heap->spans, n, sizeof(*heap->spans), span_order);
	return 0;
}

/* Marks of a span that is not swept since it was marked; 0: it is swept. */
static uint64_t span_marks(const struct go_heap *heap, const struct go_span *s)
{
	if (s->sweepgen != heap->sweepgen - 2 && s->sweepgen != heap->sweepgen + 1)
		return 0;
	if (heap->program.inline_marks && s->bytes == GO_PAGE &&
	    s->elem_size >= INLINE_MARKS_FROM && s->elem_size <= INLINE_MARKS_TO)
		return s->base + s->bytes - INLINE_MARKS_AT;
	return s->mark_bits;
}

bool go_objects_of(const struct go_heap *heap, const struct go_span *span, struct go_objects *out)
{
	size_t words = (span->nelems + 63) / 64;
	uint64_t marks = span_marks(heap, span);

	out->span = span;
	out->alloc = out->mark = NULL;
	if (words > GO_BITS_WORDS)
		return false;
	if (span->alloc_bits)
		out->alloc = go_words(heap->memory, span->alloc_bits, words, out->alloc_room);
	if (marks)
		out->mark = go_words(heap->memory, marks, words, out->mark_room);
	return out->alloc || span->free_index >= span->nelems;
}

static const char *const not_believed = "its spans do not add up to the runtime's own sum";

/* The books agree with themselves: 0 and perhaps a reason for doubt, or -ENOTSUP with the reason. */
static int spans_check(struct go_heap *heap, const struct slice_search *search,
		       char reason[static REASON_MAX])
{
	uint64_t pages = 0, largest = 0, difference;

	for (size_t i = 0; i < heap->span_count; i++) {
		const struct go_span *s = &heap->spans[i];

		if (i && heap->spans[i - 1].base + heap->spans[i - 1].bytes > s->base) {
			snprintf(reason, REASON_MAX, "%s: two of them overlap", not_believed);
			return -ENOTSUP;
		}
		heap->spans[i].first = heap->object_count;
		if (s->state != GO_SPAN_OBJECTS)
			continue;
		pages += s->bytes / GO_PAGE;
		largest = s->bytes / GO_PAGE > largest ? s->bytes / GO_PAGE : largest;
		heap->object_count += s->nelems;
	}
	/* What it has touched of a span may be one object. */
	if (heap->object_count / 4 > heap->memory->image->bytes / 8 + (1u << 20)) {
		snprintf(reason, REASON_MAX, "its spans have more objects than its memory could");
		return -ENOTSUP;
	}
	difference = pages > search->pages_in_use ? pages - search->pages_in_use
						  : search->pages_in_use - pages;
	/* One may be on its way in or out. */
	if (difference > largest) {
		snprintf(reason, REASON_MAX, "%s: %llu of %llu pages; look again", not_believed,
			 (unsigned long long)pages, (unsigned long long)search->pages_in_use);
		return -ENOTSUP;
	}
	if (difference)
		snprintf(reason, REASON_MAX,
			 "one span was being taken or given back: its own sum has %llu pages, its "
			 "spans have %llu",
			 (unsigned long long)search->pages_in_use, (unsigned long long)pages);
	return 0;
}

static int goroutines_take(struct go_heap *heap, const struct slice_search *search,
			   char reason[static REASON_MAX])
{
	if (!search->goroutine_count) {
		snprintf(reason, REASON_MAX, "its goroutines were not found");
		return 0;
	}
	heap->goroutines = go_copy_words(heap->memory, search->goroutines, search->goroutine_count);
	heap->goroutine_count = search->goroutine_count;
	return heap->goroutines ? 0 : -ENOMEM;
}

int go_heap_find(const struct managed_memory *memory, struct go_heap *heap,
		 char reason[static REASON_MAX])
{
	struct slice_search search = {.heap = heap};
	int err;

	*heap = (struct go_heap){.memory = memory};
	*reason = '\0';
	err = go_program_find(memory, &heap->program, reason);
	if (err)
		return err;
	search.left = memory->image->bytes / 8 + (1u << 20);
	err = go_scan_data(&heap->program, 5, slices_look, &search);
	if (err)
		return err;
	if (!search.used) {
		snprintf(reason, REASON_MAX, "the spans of its heap were not found");
		return -ENOTSUP;
	}
	heap->sweepgen = search.sweepgen;
	err = spans_take(heap, &search);
	err = err ?: spans_check(heap, &search, reason);
	return err ?: goroutines_take(heap, &search, reason);
}

void go_heap_release(struct go_heap *heap)
{
	go_program_release(&heap->program);
	free(heap->spans);
	free(heap->goroutines);
	heap->spans = NULL;
	heap->goroutines = NULL;
}

const struct go_span *go_heap_span(const struct go_heap *heap, uint64_t address)
{
	size_t i = BISECT(i, 0, heap->span_count,
			  heap->spans[i].base + heap->spans[i].bytes <= address);

	return i < heap->span_count && heap->spans[i].base <= address ? &heap->spans[i] : NULL;
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* Of one span: objects that are allocated, and of these those that are garbage. */
static bool span_count_objects(const struct go_heap *heap, const struct go_span *s,
			       uint64_t *allocated, uint64_t *dead)
{
	struct go_objects o;

	*allocated = *dead = 0;
	if (!go_objects_of(heap, s, &o))
		return false;
	for (uint32_t i = 0; i < s->nelems; i++) {
		if (!go_object_is_allocated(&o, i))
			continue;
		++*allocated;
		*dead += go_object_is_dead(&o, i);
	}
	return true;
}

int go_heap_sum(struct go_heap *heap, struct managed_heap *out)
{
	struct amount objects = {0}, unswept = {0}, spans = {0}, stacks = {0}, work = {0};

	for (size_t i = 0; i < heap->span_count; i++) {
		const struct go_span *s = &heap->spans[i];
		struct amount *whole = s->state == GO_SPAN_OBJECTS ? &spans
				       : s->elem_size		   ? &stacks
								   : &work;
		uint64_t allocated, dead;

		whole->bytes += s->bytes;
		whole->count++;
		if (s->state != GO_SPAN_OBJECTS)
			continue;
		if (!span_count_objects(heap, s, &allocated, &dead) ||
		    (uint16_t)allocated != s->alloc_count)
			heap->changing_spans++;
		objects.bytes += allocated * s->elem_size;
		objects.count += allocated;
		unswept.bytes += dead * s->elem_size;
		unswept.count += dead;
	}
	return managed_heap_add_part(out, "objects", &objects)
			       ?: managed_heap_add_part(out, "unswept", &unswept)
			       ?: managed_heap_add_part(out, "spans", &spans)
			       ?: managed_heap_add_part(out, "stacks", &stacks)
			       ?: managed_heap_add_part(out, "work", &work);
}

/* ---- its memory ---------------------------------------------------------------------------- */

struct count_run {
	const struct go_heap *heap;
	struct inventory *inventory;
	struct inventory_allocator *allocator;
};

static void count_piece(const struct count_run *run, enum inventory_part part, uint64_t start,
			uint64_t end)
{
	if (start < end)
		inventory_count(run->inventory, run->allocator, run->heap->memory->image, part,
				start, end, UINT64_MAX);
}

/* Objects that lie side by side are counted at once. */
static void count_span(const struct count_run *run, const struct go_span *s)
{
	struct go_objects o;
	uint64_t from = s->base;
	bool before = false;

	if (s->state != GO_SPAN_OBJECTS || !go_objects_of(run->heap, s, &o)) {
		count_piece(run,
			    s->state == GO_SPAN_OBJECTS ? INVENTORY_UNBELIEVED : INVENTORY_STACKS,
			    s->base, s->base + s->bytes);
		return;
	}
	for (uint32_t i = 0; i < s->nelems; i++) {
		uint64_t at = s->base + i * s->elem_size;
		bool now = go_object_is_allocated(&o, i);

		if (now != before) {
			count_piece(run, before ? INVENTORY_IN_USE : INVENTORY_FREE, from, at);
			from = at;
		} else if (now) {
			run->allocator->shown.in_use.count++;
		}
		before = now;
	}
	if (before) {
		uint64_t end = s->base + s->nelems * s->elem_size;

		count_piece(run, INVENTORY_IN_USE, from, end);
		from = end;
	}
	count_piece(run, INVENTORY_FREE, from, s->base + s->bytes);
}

/* Is the whole arena mapped, for nobody else? It may have no span at the moment. */
static bool is_arena(const struct memory_image *image, uint64_t start)
{
	uint64_t at = start;

	while (at < start + GO_ARENA) {
		const struct mapping *m = maps_find(image->maps, at);

		if (!m || m->ino || m->shared)
			return false;
		at = m->end;
	}
	return true;
}

/* What of [*at, end) no span has; the arenas that follow the last span are Go's as well. */
static void count_gap(const struct count_run *run, uint64_t *at, uint64_t next)
{
	const struct memory_image *image = run->heap->memory->image;
	uint64_t end = (*at + GO_ARENA - 1) / GO_ARENA * GO_ARENA;

	while (end < next && is_arena(image, end))
		end += GO_ARENA;
	count_piece(run, INVENTORY_FREE, *at, end < next ? end : next);
	*at = end < next ? next / GO_ARENA * GO_ARENA : next;
	if (*at < next && next != UINT64_MAX)
		count_piece(run, INVENTORY_FREE, *at, next);
}

void go_heap_count(const struct go_heap *heap, struct inventory *inventory)
{
	struct count_run run = {
		.heap = heap,
		.inventory = inventory,
		.allocator = inventory_add_allocator(inventory, "Go"),
	};
	uint64_t at = heap->spans[0].base / GO_ARENA * GO_ARENA;

	if (!run.allocator)
		return;
	snprintf(run.allocator->shown.version, sizeof(run.allocator->shown.version), "%.23s",
		 go_program_number(&heap->program));
	for (size_t i = 0; i < heap->span_count; i++) {
		const struct go_span *s = &heap->spans[i];

		count_gap(&run, &at, s->base);
		count_span(&run, s);
		at = s->base + s->bytes;
	}
	count_gap(&run, &at, UINT64_MAX);
}
