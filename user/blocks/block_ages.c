// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/blocks/block_ages.h"

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/blocks/blocks.h"
#include "user/blocks/live_table.h"
#include "user/stacks/slots.h"

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

static void ages_count(const struct slots *slots, const struct live_table *table,
		       const struct block_ages_of *of, const struct live_clock *clock,
		       struct stack_ages *out)
{
	struct ages_sum sums[STACK_AGES] = {0};

	for (size_t i = 0; i < table->count; i++) {
		const struct live_value *value = &table->entries[i].value;
		uint32_t slot = slots_of_block(slots, value);
		double weight;
		size_t class;

		if (slot >= of->slots || of->by_slot[slot] != of->stack)
			continue;
		weight = slots_weight_of_block(slots, value);
		class = ages_class(live_age_ns(clock, value->time));
		sums[class].bytes += (double)value->size * weight;
		sums[class].count += weight;
	}
	for (size_t i = 0; i < STACK_AGES; i++)
		out->amounts[i] = (struct amount){.bytes = saturate_u64(sums[i].bytes + 0.5),
						  .count = saturate_u64(sums[i].count + 0.5)};
}

int block_ages_read(struct blocks *blocks, const struct slots *slots,
		    const struct block_ages_of *of, struct stack_ages *out)
{
	struct live_table table = {0};
	struct live_clock clock;
	int err = live_table_reserve(&table, 0);

	*out = (struct stack_ages){0};
	if (!err)
		err = live_table_read(&table, blocks_map(blocks), of->target_id);
	if (!err)
		err = blocks_clock(blocks, &clock);
	if (!err)
		ages_count(slots, &table, of, &clock, out);
	live_table_release(&table);
	return err;
}
