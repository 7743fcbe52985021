// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/growth/growth_rule.h"

#include <math.h>

#include "user/model/snapshot.h"

#define SLACK (4ull << 20)

/* glibc's smallest chunk, 32 bytes, is a block of one byte; jemalloc's classes leave a fifth unused. */
#define BLOCK_OVERHEAD 32

/* ---- the rule ----------------------------------------------------------------------------- */

static uint64_t growth_room(const struct snapshot *s, const struct amount *a)
{
	double bytes = (double)a->bytes;

	/* The variance of a sum is its bytes times the mean distance: bpf/sample.h. */
	if (s->sample_bytes)
		bytes += 4 * (sqrt(bytes * (double)s->sample_bytes) + (double)s->sample_bytes);
	return (uint64_t)(bytes * 1.25) + BLOCK_OVERHEAD * a->count;
}

static bool growth_exceeds(uint64_t grown, uint64_t room)
{
	uint64_t slack = grown / 4 > SLACK ? grown / 4 : SLACK;

	return grown > slack && grown - slack > room;
}

bool growth_is_suspect(const struct snapshot *s, uint64_t anon)
{
	return growth_exceeds(anon, growth_room(s, &s->live));
}

uint64_t growth_beyond_live(const struct snapshot *s, const struct growth_seen *seen)
{
	uint64_t grown = seen->anon > seen->files ? seen->anon - seen->files : 0;

	if (!growth_exceeds(grown, growth_room(s, &s->alloc)) &&
	    !growth_exceeds(seen->elsewhere, growth_room(s, &s->live)))
		return 0;
	return seen->anon > s->live.bytes ? seen->anon - s->live.bytes : 0;
}

/* Under glibc: a stack of 8 MiB, as `ulimit -s` mostly has it, and the whole heap of an arena. */
#define SPACE_OF_THREAD (72ull << 20)
#define SPACE_LEAST	(64ull << 20)
#define SPACE_UNUSED	8 /* addresses taken for each byte that came into memory */

void growth_of_space(struct growth *growth, const struct space_seen *before,
		     const struct space_seen *now)
{
	uint64_t grown = now->size > before->size ? now->size - before->size : 0;
	uint64_t resident = now->resident > before->resident ? now->resident - before->resident : 0;
	uint64_t threads = now->threads > before->threads ? now->threads - before->threads : 0;
	uint64_t usual = SPACE_OF_THREAD * threads;

	if (grown <= usual || grown - usual < SPACE_LEAST || grown / SPACE_UNUSED < resident)
		return;
	growth->space = grown;
	growth->space_resident = resident;
}
