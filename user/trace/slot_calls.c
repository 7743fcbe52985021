// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/slot_calls.h"

#include "user/stacks/slots.h"
#include "user/stacks/stacks.h"

void slot_call_fill(struct reported_call *call, const struct trace *trace, uint32_t target_id,
		    uint32_t slot)
{
	const struct slot_info *info;
	const struct stack_entry *entry;

	if (slot == ABI_NO_SLOT)
		return;
	call->known = true;
	call->end = STACK_END_NO_MAPPING;
	if (slot >= trace->options.max_stacks)
		return;
	info = &trace->slots->infos[slot];
	call->stack_id = info->stack_id;
	call->end = info->end;
	entry = stack_table_find(trace->stacks, target_id, info->stack_id);
	if (entry && entry->same_as) {
		call->stack_id = entry->same_as;
		call->end = entry->same_end;
	}
}
