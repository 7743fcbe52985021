// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/bad_frees_read.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/model/bad_free.h"
#include "user/model/snapshot.h"
#include "user/trace/skeleton.h"
#include "user/trace/slot_calls.h"
#include "user/stacks/slots.h"

static void bad_free_fill(struct bad_free *to, const struct trace *trace,
			  const struct bad_free_key *key, const struct bad_free_value *value)
{
	*to = (struct bad_free){
		.kind = key->kind,
		.alloc_family = key->alloc_family,
		.free_family = key->free_family,
		.count = value->count,
		.address = value->address,
		.block = value->block,
		.size = value->size,
	};
	slot_call_fill(&to->calls[BAD_FREE_NOW], trace, key->target_id, key->free_slot);
	slot_call_fill(&to->calls[BAD_FREE_FIRST], trace, key->target_id, key->first_slot);
	slot_call_fill(&to->calls[BAD_FREE_ALLOC], trace, key->target_id, key->alloc_slot);
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
	size_t room = 0;

	if (!trace->options.check_frees)
		return 0;
	snapshot->frees_checked = true;
	while (!bpf_map_get_next_key(fd, previous, &key)) {
		struct bad_free_value value;

		previous = &key;
		if (key.target_id != snapshot->target_id || bpf_map_lookup_elem(fd, &key, &value))
			continue;
		if (!RESERVE_ITEM(snapshot->bad_frees, snapshot->bad_free_count, room, 16))
			return -ENOMEM;
		bad_free_fill(&snapshot->bad_frees[snapshot->bad_free_count++], trace, &key,
			      &value);
	}
	bad_frees_sort(snapshot->bad_frees, snapshot->bad_free_count);
	return 0;
}
