// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/slots.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/abi.h"
#include "bpf/figures_abi.h"
#include "bpf/scope_abi.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/heap/heap_image.h"
#include "user/trace/sampling.h"
#include "user/trace/scopes.h"
#include "user/trace/skeleton.h"

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

int slots_map(struct trace *trace)
{
	struct memleakbpf *skel = trace->skel;
	int err = slots_map_array(skel->maps.counters, (void **)&trace->counters);

	err = err ?: slots_map_array(skel->maps.slot_infos, (void **)&trace->slot_infos);
	err = err ?: slots_map_array(skel->maps.slot_ages, (void **)&trace->slot_ages);
	err = err ?: slots_map_array(skel->maps.slot_lifetimes, (void **)&trace->lifetimes);
	err = err ?: slots_map_array(skel->maps.slots_outlived, (void **)&trace->outlived);
	err = err ?: slots_map_array(skel->maps.slot_temporaries, (void **)&trace->temporaries);
	err = err ?: slots_map_array(skel->maps.slot_peaks, (void **)&trace->slot_peaks);
	err = err ?: slots_map_array(skel->maps.target_peaks, (void **)&trace->target_peaks);
	if (trace->options.scope_count)
		err = err ?: slots_map_array(skel->maps.slot_scopes, (void **)&trace->slot_scopes);
	if (trace->options.guard.period)
		err = err
			      ?: slots_map_array(skel->maps.guard_blocks,
						 (void **)&trace->guard_blocks);
	return err ?: slots_map_array(skel->maps.target_stats, (void **)&trace->stats);
}

void slots_unmap(struct trace *trace)
{
	struct memleakbpf *skel = trace->skel;

	if (!skel)
		return;
	slots_unmap_array(skel->maps.counters, trace->counters);
	slots_unmap_array(skel->maps.slot_infos, trace->slot_infos);
	slots_unmap_array(skel->maps.slot_ages, trace->slot_ages);
	slots_unmap_array(skel->maps.slot_lifetimes, trace->lifetimes);
	slots_unmap_array(skel->maps.slots_outlived, trace->outlived);
	slots_unmap_array(skel->maps.slot_temporaries, trace->temporaries);
	slots_unmap_array(skel->maps.slot_peaks, trace->slot_peaks);
	slots_unmap_array(skel->maps.target_peaks, trace->target_peaks);
	slots_unmap_array(skel->maps.slot_scopes, trace->slot_scopes);
	slots_unmap_array(skel->maps.guard_blocks, trace->guard_blocks);
	slots_unmap_array(skel->maps.target_stats, trace->stats);
}

uint32_t slots_used(const struct trace *trace)
{
	uint32_t n = __atomic_load_n(&trace->skel->bss->shared.next_slot, __ATOMIC_ACQUIRE);

	return n < trace->options.max_stacks ? n : trace->options.max_stacks;
}

uint32_t slots_bare(const struct trace *trace, uint32_t target_id)
{
	return trace->options.max_stacks + target_id % ABI_TARGET_SLOTS;
}

bool slots_have_bare(const struct trace *trace)
{
	return __atomic_load_n(&trace->skel->bss->shared.bare_slots, __ATOMIC_ACQUIRE);
}

uint32_t slots_end(const struct trace *trace)
{
	return slots_have_bare(trace) ? slots_bare(trace, 0) + ABI_TARGET_SLOTS : slots_used(trace);
}

uint32_t slots_of_block(const struct trace *trace, const struct live_value *value)
{
	return trace->lifetime_rows ? value->slot & LIVE_SLOT_MASK : value->slot;
}

double slots_weight_of_block(const struct trace *trace, const struct live_value *value)
{
	uint64_t weighed = scope_mark_weighed(value->weighed);

	if (!weighed)
		return heap_image_weight(value->size, trace->options.sample_bytes);
	return value->size ? (double)weighed / (double)value->size : 1;
}

struct target_stats *slots_stats(const struct trace *trace, uint32_t target_id)
{
	return &trace->stats[target_id % ABI_TARGET_SLOTS];
}

bool slots_target_swept(const struct trace *trace, uint32_t target_id)
{
	return target_id && slots_stats(trace, target_id)->swept_id == target_id;
}

void slots_delete_swept(const struct trace *trace, int map_fd)
{
	uint32_t key[SLOTS_SWEPT_KEY / sizeof(uint32_t)], next[ARRAY_SIZE(key)];
	bool more;

	/* From a key that is gone the walk would begin anew. */
	for (more = !bpf_map_get_next_key(map_fd, NULL, next); more;) {
		memcpy(key, next, sizeof(key));
		more = !bpf_map_get_next_key(map_fd, key, next);
		if (slots_target_swept(trace, key[0]))
			bpf_map_delete_elem(map_fd, key);
	}
}

void slots_release_swept(struct trace *trace, void (*release)(struct trace *trace, uint32_t slot))
{
	int stacks_fd = bpf_map__fd(trace->skel->maps.stacks);
	int free_fd = bpf_map__fd(trace->skel->maps.free_slots);
	uint32_t slots = slots_used(trace);

	for (uint32_t i = 0; i < slots; i++) {
		struct slot_info *info = &trace->slot_infos[i];
		struct stack_key key = {.stack_id = info->stack_id,
					.target_id = info->target_id,
					.scope = scopes_node_of_slot(trace, i)};

		if (!slots_target_swept(trace, info->target_id))
			continue;
		if (info->managed)
			__atomic_sub_fetch(&trace->skel->bss->shared.managed_slots, 1,
					   __ATOMIC_RELAXED);
		bpf_map_delete_elem(stacks_fd, &key);
		memset(&trace->counters[i], 0, sizeof(trace->counters[i]));
		release(trace, i);
		__atomic_store_n(&info->target_id, 0, __ATOMIC_RELEASE);
		bpf_map_update_elem(free_fd, NULL, &i, BPF_ANY);
	}
}

void slots_release_target(struct trace *trace, uint32_t target_id)
{
	uint32_t slot = slots_bare(trace, target_id);

	if (slots_have_bare(trace) && trace->slot_infos[slot].target_id == target_id) {
		memset(&trace->counters[slot], 0, sizeof(trace->counters[slot]));
		__atomic_store_n(&trace->slot_infos[slot].target_id, 0, __ATOMIC_RELEASE);
	}
	memset(slots_stats(trace, target_id), 0, sizeof(*trace->stats));
}

double slots_error(const struct trace *trace, uint32_t slot, uint64_t live_bytes)
{
	const struct slot_info *info = &trace->slot_infos[slot];

	if (info->arena || (!info->weighed && !trace->options.sample_bytes))
		return 0;
	if (info->weighed)
		return sampling_error_weighed(live_bytes,
					      slots_stats(trace, info->target_id)->tells_every);
	return sampling_error(__atomic_load_n(&trace->counters[slot].variance, __ATOMIC_ACQUIRE),
			      trace->options.sample_bytes);
}
