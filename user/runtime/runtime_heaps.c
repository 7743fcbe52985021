// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How the memory of each runtime is told in a living process:
 *
 * - Go: by the addresses of its arenas (runtime/malloc.go, mallocinit())
 * - V8: by its pages (user/heap/v8_page.h)
 * - HotSpot: by its own variables
 *
 * user/heap/unknown_shapes.c tells them likewise in a copy of the memory.
 */
#include "user/runtime/runtime_heaps.h"

#include <string.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/page.h"
#include "user/freeze/resident.h"
#include "user/heap/v8_page.h"
#include "user/model/snapshot.h"
#include "user/process/maps.h"
#include "user/runtime/java/hotspot.h"
#include "user/runtime/runtime_ops.h"

/* Between two looks, in durations of a look. */
#define HEAPS_REST 20

#define GO_HINT (1ull << 40) /* hints are so far apart */
#if defined(__x86_64__)
#define GO_FIRST (0xc0ull << 32)
#else
#define GO_FIRST (0x40ull << 32)
#endif

struct heaps_look {
	struct runtime_target *target;
	struct resident *resident;
	struct maps *maps;
	uint64_t bytes; /* of the piece that is being counted */
};

static int heaps_count(void *ctx, uint64_t start, uint64_t end)
{
	struct heaps_look *look = ctx;

	look->bytes += end - start;
	return 0;
}

/* Bytes of [start, end) that are there. */
static uint64_t heaps_resident(struct heaps_look *look, uint64_t start, uint64_t end)
{
	look->bytes = 0;
	return resident_scan(look->resident, start, end, false, heaps_count, look) ? 0
										   : look->bytes;
}

static bool heaps_may_have(const struct mapping *m)
{
	return !m->ino && !m->shared && m->write && (!*m->path || !strncmp(m->path, "[anon:", 6));
}

/* A page that does not exist is not to be made by a look; a file's is there in any case. */
static size_t heaps_read(void *ctx, uint64_t address, void *to, size_t size)
{
	struct heaps_look *look = ctx;
	const struct mapping *m = maps_find(look->maps, address);
	uint64_t mask = page_size() - 1, first = address & ~mask;
	uint64_t end = (address + size + mask) & ~mask;

	if (!m || m->shared || m->end - address < size)
		return 0;
	if (!m->ino && heaps_resident(look, first, end) != end - first)
		return 0;
	return resident_read(look->resident, address, to, size);
}

/* ---- whose it is -------------------------------------------------------------------------- */

/* Arenas follow each other from the hint on, each of 64 MiB, so that one is a mapping by itself or with the next. */
static uint64_t heaps_go(struct heaps_look *look)
{
	uint64_t bytes = 0, end = 0;

	for (size_t i = 0; i < maps_count(look->maps); i++) {
		const struct mapping *m = maps_at(look->maps, i);

		if (m->start % GO_HINT != GO_FIRST % GO_HINT && m->start != end)
			continue;
		end = m->end;
		if (heaps_may_have(m))
			bytes += heaps_resident(look, m->start, m->end);
	}
	return bytes;
}

static bool heaps_read_words(void *ctx, uint64_t address, uint64_t *words, size_t count)
{
	return heaps_read(ctx, address, words, count * sizeof(*words)) == count * sizeof(*words);
}

static uint64_t heaps_v8(struct heaps_look *look)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < maps_count(look->maps); i++) {
		const struct mapping *m = maps_at(look->maps, i);
		uint64_t at = (m->start + V8_PAGE - 1) / V8_PAGE * V8_PAGE;

		while (heaps_may_have(m) && at < m->end) {
			uint64_t size = v8_page_size(heaps_read_words, look, at, m->end - at);

			bytes += size ? heaps_resident(look, at, at + size) : 0;
			at += size > V8_PAGE ? (size + V8_PAGE - 1) / V8_PAGE * V8_PAGE : V8_PAGE;
		}
	}
	return bytes;
}

/* Where it is stays the same once it is there. */
static bool heaps_find_jvm(struct heaps_look *look, const struct image_range *range,
			   struct target_heaps *heaps)
{
	struct hotspot_symbols symbols;
	uint64_t vaddr;

	return heaps->java_end || (!hotspot_find(range->object, &symbols) &&
				   !object_offset_to_vaddr(range->object, range->offset, &vaddr) &&
				   !hotspot_heap(&symbols, range->start - vaddr, heaps_read, look,
						 &heaps->java_start, &heaps->java_end));
}

static uint64_t heaps_jvm(struct heaps_look *look, const struct image_range *range)
{
	uint64_t start, end, bytes = 0;

	if (!heaps_find_jvm(look, range, &look->target->heaps))
		return 0;
	start = look->target->heaps.java_start;
	end = look->target->heaps.java_end;
	for (size_t i = 0; i < maps_count(look->maps); i++) {
		const struct mapping *m = maps_at(look->maps, i);

		if (m->end > start && m->start < end && heaps_may_have(m))
			bytes += heaps_resident(look, m->start > start ? m->start : start,
						m->end < end ? m->end : end);
	}
	return bytes;
}

/* ---- the look ----------------------------------------------------------------------------- */

static bool heaps_kind(enum runtime runtime, enum untraced_heap *kind)
{
	if (runtime == RUNTIME_JVM)
		*kind = UNTRACED_JAVA;
	else if (runtime == RUNTIME_V8)
		*kind = UNTRACED_V8;
	else if (runtime == RUNTIME_GO)
		*kind = UNTRACED_GO;
	else
		return false;
	return true;
}

static uint64_t heaps_bytes(struct heaps_look *look, enum untraced_heap kind,
			    const struct image_range *range)
{
	switch (kind) {
	case UNTRACED_JAVA:
		return heaps_jvm(look, range);
	case UNTRACED_V8:
		return heaps_v8(look);
	default:
		return heaps_go(look);
	}
}

/* Which there are, and with a look how much they have. */
static void heaps_find(const struct runtimes *runtimes, const struct runtime_target *target,
		       struct heaps_look *look, struct untraced_heaps *out)
{
	const struct runtime_host *host = &runtimes->host;
	uint64_t seen = 0;

	for (size_t i = 0; i < image_range_count(target->image); i++) {
		const struct image_range *range = image_range_at(target->image, i);
		const struct runtime_object *known =
			range->object ? host->object(host->ctx, range->object, false) : NULL;
		enum untraced_heap kind;

		if (!known || !heaps_kind(known->runtime, &kind) || seen & 1u << kind)
			continue;
		seen |= 1u << kind;
		if (look)
			out->bytes[kind] = heaps_bytes(look, kind, range);
	}
	out->kinds |= seen;
}

static void heaps_look(const struct runtimes *runtimes, struct runtime_target *target)
{
	struct target_heaps *heaps = &target->heaps;
	struct heaps_look look = {.target = target};
	uint64_t start = monotonic_ns();

	if (start - heaps->looked_ns < HEAPS_REST * heaps->look_ns)
		return;
	if (!maps_read(target->pid, &look.maps) && !resident_open(target->pid, &look.resident))
		heaps_find(runtimes, target, &look, &heaps->found);
	resident_close(look.resident);
	maps_free(look.maps);
	heaps->looked_ns = monotonic_ns();
	heaps->look_ns = heaps->looked_ns - start;
	log_debug("heaps of runtimes in %d: looked in %.1f ms", (int)target->pid,
		  (double)heaps->look_ns / NS_PER_MS);
}

void runtime_heaps_read(const struct runtimes *runtimes, struct runtime_target *target)
{
	heaps_find(runtimes, target, NULL, &target->heaps.found);
	if (target->heaps.found.kinds && !target->ended)
		heaps_look(runtimes, target);
}
