// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_growth.h"

#include <math.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/recording/recording_names.h"

/* GV_FLAGS */
#define GROWTH_STATE	   0xfu
#define GROWTH_SINCE_START (1u << 4)

/* As of a process's other doubles: no larger one is written. */
#define GROWTH_DOUBLE_MAX 1e15

static uint64_t growth_bits(double value)
{
	uint64_t bits;

	value = fmin(fmax(value, -GROWTH_DOUBLE_MAX), GROWTH_DOUBLE_MAX);
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static double growth_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void growth_values_of(const struct survey_row *row, uint64_t v[GROWTH_VALUES])
{
	const struct survey_growth *g = &row->growth;

	v[GV_FLAGS] = (unsigned)g->state | (g->since_start ? GROWTH_SINCE_START : 0);
	v[GV_SINCE] = g->since_ns / NS_PER_MS;
	v[GV_UNTIL] = g->until_ns / NS_PER_MS;
	v[GV_LEVEL_BEFORE] = g->level_before_ns;
	v[GV_STEPS] = g->steps;
	v[GV_LIMIT] = row->limit_bytes;
	v[GV_DOUBLES] = growth_bits(g->bytes);
	v[GV_DOUBLES + 1] = growth_bits(g->pace);
	v[GV_DOUBLES + 2] = growth_bits(g->room_used);
	v[GV_DOUBLES + 3] = growth_bits(g->levels_off_at);
}

uint64_t recording_growth_changes(const struct recorded_growth *last, const struct survey_row *row)
{
	uint64_t now[GROWTH_VALUES], changes = 0;

	growth_values_of(row, now);
	for (int i = 0; i < GROWTH_VALUES; i++)
		changes |= (uint64_t)(now[i] != last->values[i]) << i;
	return changes;
}

void recording_put_growth(struct wire *to, struct recorded_growth *last,
			  const struct survey_row *row, uint64_t changes)
{
	uint64_t now[GROWTH_VALUES];

	growth_values_of(row, now);
	wire_varint(to, changes);
	for (int i = 0; i < GROWTH_VALUES; i++) {
		if (changes & 1ull << i)
			wire_zigzag(to, (int64_t)(now[i] - last->values[i]));
	}
	memcpy(last->values, now, sizeof(now));
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool growth_is_possible(const uint64_t v[GROWTH_VALUES])
{
	for (int i = GV_DOUBLES; i < GROWTH_VALUES; i++) {
		if (!(fabs(growth_double(v[i])) <= GROWTH_DOUBLE_MAX))
			return false;
	}
	return (v[GV_FLAGS] & GROWTH_STATE) <= GROWTH_GOES_ON && v[GV_STEPS] <= UINT32_MAX &&
	       v[GV_SINCE] <= INT64_MAX / NS_PER_MS && v[GV_UNTIL] <= INT64_MAX / NS_PER_MS &&
	       v[GV_LEVEL_BEFORE] <= INT64_MAX;
}

int recording_take_growth(struct recording_in *in, struct wire_reader *body,
			  struct recorded_growth *growth)
{
	uint64_t changes;
	int64_t change;

	if (wire_read_varint(body, &changes) || changes >> GROWTH_VALUES)
		return recording_refuse(in, "a process's growth cannot be read");
	for (int i = 0; i < GROWTH_VALUES; i++) {
		if (!(changes & 1ull << i))
			continue;
		if (wire_read_zigzag(body, &change))
			return recording_refuse(in, "a process's growth cannot be read");
		growth->values[i] += (uint64_t)change;
	}
	if (!growth_is_possible(growth->values))
		return recording_refuse(in, "a process's growth is impossible");
	return 0;
}

void recording_fill_growth(const struct recorded_growth *growth, struct survey_row *row)
{
	const uint64_t *v = growth->values;

	row->limit_bytes = v[GV_LIMIT];
	row->growth = (struct survey_growth){
		.state = (enum survey_growth_state)(v[GV_FLAGS] & GROWTH_STATE),
		.since_start = v[GV_FLAGS] & GROWTH_SINCE_START,
		.since_ns = v[GV_SINCE] * NS_PER_MS,
		.until_ns = v[GV_UNTIL] * NS_PER_MS,
		.level_before_ns = v[GV_LEVEL_BEFORE],
		.steps = (unsigned)v[GV_STEPS],
		.bytes = growth_double(v[GV_DOUBLES]),
		.pace = growth_double(v[GV_DOUBLES + 1]),
		.room_used = growth_double(v[GV_DOUBLES + 2]),
		.levels_off_at = growth_double(v[GV_DOUBLES + 3]),
	};
}
