// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/stacks/slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi.h"
#include "bpf/figures_abi.h"
#include "bpf/config.h"
#include "bpf/scope_abi.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/heap/heap_image.h"
#include "user/stacks/sampling.h"

/* Rows that are not a multiple of a page are padded at the end by the kernel as well. */
static size_t slots_array_bytes(const struct bpf_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t row = (bpf_map__value_size(map) + 7) & ~(size_t)7;
	size_t bytes = row * bpf_map__max_entries(map);

	return (bytes + page - 1) & ~(page - 1);
}

int slots_map_array(const struct bpf_map *map, void **out)
{
	void *memory = mmap(NULL, slots_array_bytes(map), PROT_READ | PROT_WRITE, MAP_SHARED,
			    bpf_map__fd(map), 0);

	if (memory == MAP_FAILED)
		return log_errno(errno, "cannot map the BPF array %s", bpf_map__name(map));
	*out = memory;
	return 0;
}

void slots_unmap_array(const struct bpf_map *map, void *memory)
{
	if (memory)
		munmap(memory, slots_array_bytes(map));
}

int slots_new(const struct slots_options *options, const struct slots_maps *maps,
	      struct shared *shared, struct slots **out)
{
	struct slots *slots = *out = calloc(1, sizeof(*slots));
	int err;

	if (!slots)
		return log_errno(ENOMEM, "cannot map the programs' counters");
	slots->options = *options;
	slots->maps = *maps;
	slots->shared = shared;
	err = slots_map_array(maps->counters, (void **)&slots->counters);
	err = err ?: slots_map_array(maps->slot_infos, (void **)&slots->infos);
	err = err ?: slots_map_array(maps->slot_ages, (void **)&slots->ages);
	if (maps->slot_scopes)
		err = err ?: slots_map_array(maps->slot_scopes, (void **)&slots->scopes);
	err = err ?: slots_map_array(maps->target_stats, (void **)&slots->stats);
	if (!err)
		return 0;
	slots_free(slots);
	*out = NULL;
	return err;
}

void slots_free(struct slots *slots)
{
	if (!slots)
		return;
	slots_unmap_array(slots->maps.counters, slots->counters);
	slots_unmap_array(slots->maps.slot_infos, slots->infos);
	slots_unmap_array(slots->maps.slot_ages, slots->ages);
	slots_unmap_array(slots->maps.slot_scopes, slots->scopes);
	slots_unmap_array(slots->maps.target_stats, slots->stats);
	free(slots);
}

uint32_t slots_used(const struct slots *slots)
{
	uint32_t n = __atomic_load_n(&slots->shared->next_slot, __ATOMIC_ACQUIRE);

	return n < slots->options.max_stacks ? n : slots->options.max_stacks;
}

uint32_t slots_bare(const struct slots *slots, uint32_t target_id)
{
	return slots->options.max_stacks + target_id % ABI_TARGET_SLOTS;
}

bool slots_have_bare(const struct slots *slots)
{
	return __atomic_load_n(&slots->shared->bare_slots, __ATOMIC_ACQUIRE);
}

uint32_t slots_end(const struct slots *slots)
{
	return slots_have_bare(slots) ? slots_bare(slots, 0) + ABI_TARGET_SLOTS : slots_used(slots);
}

uint32_t slots_of_block(const struct slots *slots, const struct live_value *value)
{
	return slots->options.births ? value->slot & LIVE_SLOT_MASK : value->slot;
}

double slots_weight_of_block(const struct slots *slots, const struct live_value *value)
{
	uint64_t weighed = scope_mark_weighed(value->weighed);

	if (!weighed)
		return heap_image_weight(value->size, slots->options.sample_bytes);
	return value->size ? (double)weighed / (double)value->size : 1;
}

struct target_stats *slots_stats(const struct slots *slots, uint32_t target_id)
{
	return &slots->stats[target_id % ABI_TARGET_SLOTS];
}

bool slots_target_swept(const struct slots *slots, uint32_t target_id)
{
	return target_id && slots_stats(slots, target_id)->swept_id == target_id;
}

void slots_delete_swept(const struct slots *slots, int map_fd)
{
	uint32_t key[SLOTS_SWEPT_KEY / sizeof(uint32_t)], next[ARRAY_SIZE(key)];
	bool more;

	/* From a key that is gone the walk would begin anew. */
	for (more = !bpf_map_get_next_key(map_fd, NULL, next); more;) {
		memcpy(key, next, sizeof(key));
		more = !bpf_map_get_next_key(map_fd, key, next);
		if (slots_target_swept(slots, key[0]))
			bpf_map_delete_elem(map_fd, key);
	}
}

void slots_release_swept(struct slots *slots, void (*release)(void *ctx, uint32_t slot), void *ctx)
{
	int stacks_fd = bpf_map__fd(slots->maps.stacks);
	int free_fd = bpf_map__fd(slots->maps.free_slots);
	uint32_t used = slots_used(slots);

	for (uint32_t i = 0; i < used; i++) {
		struct slot_info *info = &slots->infos[i];
		struct stack_key key = {.stack_id = info->stack_id,
					.target_id = info->target_id,
					.scope = slots_scope(slots, i)};

		if (!slots_target_swept(slots, info->target_id))
			continue;
		if (info->managed)
			__atomic_sub_fetch(&slots->shared->managed_slots, 1, __ATOMIC_RELAXED);
		bpf_map_delete_elem(stacks_fd, &key);
		memset(&slots->counters[i], 0, sizeof(slots->counters[i]));
		release(ctx, i);
		__atomic_store_n(&info->target_id, 0, __ATOMIC_RELEASE);
		bpf_map_update_elem(free_fd, NULL, &i, BPF_ANY);
	}
}

void slots_release_target(struct slots *slots, uint32_t target_id)
{
	uint32_t slot = slots_bare(slots, target_id);

	if (slots_have_bare(slots) && slots->infos[slot].target_id == target_id) {
		memset(&slots->counters[slot], 0, sizeof(slots->counters[slot]));
		__atomic_store_n(&slots->infos[slot].target_id, 0, __ATOMIC_RELEASE);
	}
	memset(slots_stats(slots, target_id), 0, sizeof(*slots->stats));
}

double slots_error(const struct slots *slots, uint32_t slot, uint64_t live_bytes)
{
	const struct slot_info *info = &slots->infos[slot];

	if (info->arena || (!info->weighed && !slots->options.sample_bytes))
		return 0;
	if (info->weighed)
		return sampling_error_weighed(live_bytes,
					      slots_stats(slots, info->target_id)->tells_every);
	return sampling_error(__atomic_load_n(&slots->counters[slot].variance, __ATOMIC_ACQUIRE),
			      slots->options.sample_bytes);
}
