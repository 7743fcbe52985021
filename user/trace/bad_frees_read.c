// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/bad_frees_read.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/model/snapshot.h"
#include "user/trace/skeleton.h"
#include "user/trace/slot_calls.h"
#include "user/stacks/slots.h"

static const enum misuse_kind kinds[] = {
	[BAD_FREE_DOUBLE] = MISUSE_DOUBLE_FREE,
	[BAD_FREE_INSIDE] = MISUSE_INSIDE_BLOCK,
	[BAD_FREE_UNKNOWN] = MISUSE_NEVER_ALLOCATED,
	[BAD_FREE_MISMATCH] = MISUSE_MISMATCH,
};
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == BAD_FREE_KINDS, "ABI");

static void bad_free_fill(struct misuse *to, const struct trace *trace,
			  const struct bad_free_key *key, const struct bad_free_value *value)
{
	*to = (struct misuse){
		.finder = MISUSE_BY_CHECK,
		.kind = kinds[key->kind],
		.alloc_family = key->alloc_family,
		.free_family = key->free_family,
		.count = value->count,
		.address = value->address,
		.block = value->block,
		.size = value->size,
		.value = -1,
	};
	slot_call_fill(&to->calls[MISUSE_CALL_NOW], trace, key->target_id, key->free_slot);
	slot_call_fill(&to->calls[MISUSE_CALL_FREE], trace, key->target_id, key->first_slot);
	slot_call_fill(&to->calls[MISUSE_CALL_ALLOC], trace, key->target_id, key->alloc_slot);
}

void bad_frees_release_swept(const struct trace *trace)
{
	if (trace->options.check_frees)
		slots_delete_swept(trace->slots, bpf_map__fd(trace->skel->maps.bad_frees));
}

int bad_frees_read(const struct trace *trace, struct snapshot *snapshot)
{
	int fd = bpf_map__fd(trace->skel->maps.bad_frees);
	struct bad_free_key key, *previous = NULL;
	struct misuse_list *list = &snapshot->misuses[MISUSE_BY_CHECK];
	size_t room = 0;

	if (!trace->options.check_frees)
		return 0;
	snapshot->frees_checked = true;
	while (!bpf_map_get_next_key(fd, previous, &key)) {
		struct bad_free_value value;

		previous = &key;
		if (key.target_id != snapshot->target_id || bpf_map_lookup_elem(fd, &key, &value) ||
		    key.kind >= BAD_FREE_KINDS)
			continue;
		if (!RESERVE_ITEM(list->items, list->count, room, 16))
			return -ENOMEM;
		bad_free_fill(&list->items[list->count++], trace, &key, &value);
	}
	misuses_sort(list->items, list->count);
	return 0;
}
