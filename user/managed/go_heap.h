/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Go's heap: the spans of mheap_.allspans, which have all objects and all stacks, and the goroutines of
 * runtime.allgs. Both are found among the program's variables by their shape alone. Layouts are those of
 * src/runtime/{mheap,mbitmap,mgcsweep,proc}.go. Internal to user/managed.
 */
#ifndef MEMLEAKBPF_MANAGED_GO_HEAP_H
#define MEMLEAKBPF_MANAGED_GO_HEAP_H

#include "user/heap/inventory.h"
#include "user/managed/go_program.h"
#include "user/model/managed_heap.h"

enum go_span_state {
	GO_SPAN_UNUSED,
	GO_SPAN_OBJECTS,
	/*
	 * stacks of goroutines; without a size of its elements what the collector works with
	 */
	GO_SPAN_MANUAL,
};

struct go_span {
	uint64_t base, bytes, elem_size;
	uint64_t alloc_bits, mark_bits; /* addresses; 0: none */
	uint64_t large_type;		/* of a large object; 0: none */
	uint64_t first;			/* number of its first object among those of all spans */
	uint32_t nelems, free_index, alloc_count, sweepgen;
	uint8_t class; /* of sizes; 0: one large object */
	bool no_pointers;
	uint8_t state;
};

struct go_heap {
	const struct managed_memory *memory;
	struct go_program program;
	struct go_span *spans; /* in use, by address, not overlapping */
	size_t span_count;
	uint64_t object_count; /* places for objects, of all spans */
	uint32_t sweepgen;
	uint64_t changing_spans; /* whose bits and count differ: their owner was at work */
	uint64_t *goroutines;	 /* addresses of runtime.g */
	size_t goroutine_count;
};

#define GO_BITS_WORDS \
	16 /* of a span's bits: a span of small objects has 1,024 of them at the most */

/* What a span's books say of its objects. */
struct go_objects {
	const struct go_span *span;
	const uint64_t *alloc; /* NULL: those before free_index alone */
	const uint64_t *mark;  /* of a span that is marked and not swept yet, else NULL */
	uint64_t alloc_room[GO_BITS_WORDS], mark_room[GO_BITS_WORDS];
};

/* False: the bits are not there. *out leads into itself, and must stay where it is. */
bool go_objects_of(const struct go_heap *heap, const struct go_span *span, struct go_objects *out);

static inline bool go_object_is_allocated(const struct go_objects *o, uint32_t i)
{
	return i < o->span->free_index || (o->alloc && o->alloc[i / 64] >> i % 64 & 1);
}

/* Allocated, and garbage: the last collection did not come by it. */
static inline bool go_object_is_dead(const struct go_objects *o, uint32_t i)
{
	return o->mark && !(o->mark[i / 64] >> i % 64 & 1);
}

/* The span that has the address; NULL: none. */
const struct go_span *go_heap_span(const struct go_heap *heap, uint64_t address);

/*
 * Finds program, spans and goroutines, and checks the books. 0 and *heap (go_heap_release() in any case); -ENOENT:
 * there is no Go; -ENOTSUP with the reason: it cannot be read, or is not believed; -ENOMEM. With 0 a reason is what is not certain.
 */
int go_heap_find(const struct managed_memory *memory, struct go_heap *heap,
		 char reason[static REASON_MAX]);
void go_heap_release(struct go_heap *heap);

/* Fills in the parts. 0 or -ENOMEM. */
int go_heap_sum(struct go_heap *heap, struct managed_heap *out);

/* Counts all memory of its arenas. The inventory counts the regions that it covers. */
void go_heap_count(const struct go_heap *heap, struct inventory *inventory);

/* Fills in the goroutines, by where they wait and where they were begun. 0 or -ENOMEM. */
int go_goroutines_read(const struct go_heap *heap, struct managed_heap *out);

/* Fills in the kinds of objects. 0 or -ENOMEM. */
int go_types_read(const struct go_heap *heap, struct managed_heap *out);

/* Fills in the samples of the runtime's own profile of allocations, where it has one. 0 or -ENOMEM. */
int go_profile_read(const struct go_heap *heap, struct managed_heap *out);

#endif
