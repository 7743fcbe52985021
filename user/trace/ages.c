// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/ages.h"

#include <errno.h>

#include <bpf/bpf.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/model/snapshot.h"
#include "user/trace/skeleton.h"
#include "user/stacks/slots.h"
#include "user/trace/live_table.h"
#include "user/trace/reader.h"
#include "user/trace/state.h"

uint64_t stack_age_end_ns(size_t class)
{
	static const uint64_t ends[STACK_AGES] = {
		NS_PER_S,    NS_PER_S * 10,   NS_PER_MIN, NS_PER_MIN * 10,
		NS_PER_HOUR, NS_PER_HOUR * 6, NS_PER_DAY, 0,
	};

	return ends[class];
}

static size_t ages_class(uint64_t age_ns)
{
	size_t class = 0;

	while (stack_age_end_ns(class) && age_ns >= stack_age_end_ns(class))
		class ++;
	return class;
}

/* Blocks and bytes of a class, as estimates are added up. */
struct ages_sum {
	double bytes, count;
};

static void ages_count(const struct trace *trace, const struct live_table *table,
		       const uint32_t *by_slot, uint32_t slots, uint32_t stack,
		       const struct live_clock *clock, struct stack_ages *out)
{
	struct ages_sum sums[STACK_AGES] = {0};

	for (size_t i = 0; i < table->count; i++) {
		const struct live_value *value = &table->entries[i].value;
		uint32_t slot = slots_of_block(trace->slots, value);
		double weight;
		size_t class;

		if (slot >= slots || by_slot[slot] != stack)
			continue;
		weight = slots_weight_of_block(trace->slots, value);
		class = ages_class(live_age_ns(clock, value->time));
		sums[class].bytes += (double)value->size * weight;
		sums[class].count += weight;
	}
	for (size_t i = 0; i < STACK_AGES; i++)
		out->amounts[i] = (struct amount){.bytes = saturate_u64(sums[i].bytes + 0.5),
						  .count = saturate_u64(sums[i].count + 0.5)};
}

int trace_stack_ages(struct trace *trace, const struct snapshot *snapshot,
		     const struct stack *stack, struct stack_ages *out)
{
	const struct target *target = target_by_id(trace, snapshot->target_id);
	_cleanup_free_ uint32_t *by_slot = NULL;
	struct live_table table = {0};
	struct live_clock clock;
	uint32_t slots;
	int err;

	*out = (struct stack_ages){0};
	if (!target)
		return -ESRCH;
	by_slot = reader_stacks_by_slot(trace, target, snapshot, &slots);
	err = by_slot ? live_table_reserve(&table, 0) : -ENOMEM;
	if (!err)
		err = live_table_read(&table, bpf_map__fd(trace->skel->maps.live), target->id);
	if (!err)
		err = reader_clock(trace, &clock);
	if (!err)
		ages_count(trace, &table, by_slot, slots, (uint32_t)(stack - snapshot->stacks),
			   &clock, out);
	live_table_release(&table);
	return err;
}
