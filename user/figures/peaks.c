// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/figures/peaks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/model/snapshot.h"
#include "user/figures/figures_internal.h"
#include "user/stacks/slots.h"

/* What is kept is within this part of the peak, where there was time to look. */
#define PEAK_NEAR 32
/* Between two looks, in durations of one: a process that goes up and down takes a twentieth of our time. */
#define PEAK_REST 20

struct peak_capture {
	uint64_t bytes;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	struct peak_slot {
		uint32_t slot;
		uint64_t bytes, count;
		double error; /* standard error of bytes */
	} * slots;	      /* that had live blocks, in their order */
	size_t count, room;
};

void peak_capture_free(struct peak_capture *capture)
{
	if (!capture)
		return;
	free(capture->slots);
	free(capture);
}

static struct target_peak *peak_row(const struct figures *figures, uint32_t target_id)
{
	return &figures->target_peaks[target_id % ABI_TARGET_SLOTS];
}

/* Frees are read first, as in a snapshot. False: out of memory. */
static bool peak_add_slot(struct peak_capture *to, const struct figures *figures, uint32_t slot)
{
	const struct stack_counters *c = &figures->slots->counters[slot];
	struct peak_slot now = {.slot = slot};

	now.bytes = -__atomic_load_n(&c->free_bytes, __ATOMIC_ACQUIRE);
	now.count = -__atomic_load_n(&c->free_count, __ATOMIC_ACQUIRE);
	now.bytes += __atomic_load_n(&c->alloc_bytes, __ATOMIC_ACQUIRE);
	now.count += __atomic_load_n(&c->alloc_count, __ATOMIC_ACQUIRE);
	if (!now.bytes && !now.count)
		return true;
	now.error = slots_error(figures->slots, slot, now.bytes);
	if (!RESERVE_ITEM(to->slots, to->count, to->room, 64))
		return false;
	to->slots[to->count++] = now;
	to->bytes += now.bytes;
	return true;
}

static bool peak_take_slots(struct peak_capture *to, const struct figures *figures,
			    uint32_t target_id)
{
	uint32_t slots = slots_used(figures->slots), bare = slots_bare(figures->slots, target_id);

	for (uint32_t slot = 0; slot < slots; slot++) {
		if (figures->slots->infos[slot].target_id == target_id &&
		    !peak_add_slot(to, figures, slot))
			return false;
	}
	return !slots_have_bare(figures->slots) ||
	       figures->slots->infos[bare].target_id != target_id ||
	       peak_add_slot(to, figures, bare);
}

/* NULL: out of memory. */
static struct peak_capture *peak_take(const struct figures *figures, uint32_t target_id)
{
	struct peak_capture *now = calloc(1, sizeof(*now));

	if (!now)
		return NULL;
	now->time_ns = monotonic_ns();
	if (peak_take_slots(now, figures, target_id))
		return now;
	peak_capture_free(now);
	return NULL;
}

void peaks_look(struct figures *figures, uint32_t target_id, pid_t pid,
		struct peak_capture **capture)
{
	struct target_peak *row = figures->options.kept.peak ? peak_row(figures, target_id) : NULL;
	struct peak_capture *now;
	uint64_t start = monotonic_ns(), best;

	if (!row)
		return;
	now = peak_take(figures, target_id);
	if (!now)
		log_debug("no memory for what process %d has at its peak", pid);
	if (now && (!*capture || now->bytes > (*capture)->bytes)) {
		peak_capture_free(*capture);
		*capture = TAKE_PTR(now);
		log_debug("process %d: has had %" PRIu64 " bytes", pid, (*capture)->bytes);
	}
	peak_capture_free(now);
	best = *capture ? (*capture)->bytes : 0;
	row->tell_after = monotonic_ns() + PEAK_REST * (monotonic_ns() - start);
	__atomic_store_n(&row->tell_at, best + best / PEAK_NEAR, __ATOMIC_RELEASE);
}

void peaks_release_target(struct figures *figures, uint32_t target_id)
{
	uint32_t bare = slots_bare(figures->slots, target_id);

	if (!figures->options.kept.peak)
		return;
	memset(peak_row(figures, target_id), 0, sizeof(struct target_peak));
	figures->slot_peaks[bare] = 0;
}

/* ---- into a snapshot ---------------------------------------------------------------------- */

/* A time of the kernel's as that of the day. */
static uint64_t peak_date(const struct snapshot *s, uint64_t monotonic)
{
	uint64_t ago = monotonic_ns() - monotonic;

	return ago < s->time_ns ? s->time_ns - ago : 0;
}

static uint64_t peak_count(const struct figures *figures, uint32_t slot, uint64_t count)
{
	bool estimate = figures->options.sample_bytes || figures->slots->infos[slot].weighed;

	return estimate ? (count + SAMPLE_ONE / 2) / SAMPLE_ONE : count;
}

void peaks_read(const struct figures *figures, const struct figures_target *target,
		struct snapshot *s, const uint32_t *by_slot, uint32_t slots,
		const struct live_clock *clock)
{
	const struct target_peak *row = peak_row(figures, target->id);
	const struct peak_capture *capture = target->peak;

	for (uint32_t slot = 0; slot < slots; slot++) {
		struct stack_figures *f =
			by_slot[slot] != UINT32_MAX ? s->stacks[by_slot[slot]].figures : NULL;

		if (f && figures->slot_peaks[slot] > f->peak_bytes)
			f->peak_bytes = figures->slot_peaks[slot];
	}
	s->peak.bytes = __atomic_load_n(&row->bytes, __ATOMIC_RELAXED);
	if (s->peak.bytes)
		s->peak.time_ns =
			peak_date(s, clock->now_ns - live_age_ns(clock, (uint32_t)row->ticks));
	for (size_t i = 0; capture && i < capture->count; i++) {
		const struct peak_slot *at = &capture->slots[i];
		const struct amount had = {at->bytes, peak_count(figures, at->slot, at->count)};
		struct stack_figures *f;

		if (at->slot >= slots || by_slot[at->slot] == UINT32_MAX)
			continue;
		f = s->stacks[by_slot[at->slot]].figures;
		amount_add(&f->at_peak, &had);
		f->at_peak_error = hypot(f->at_peak_error, at->error);
		s->peak.captured_error = hypot(s->peak.captured_error, at->error);
		s->peak.captured_bytes += had.bytes;
	}
	if (capture && capture->bytes)
		s->peak.captured_ns = peak_date(s, capture->time_ns);
}
