// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/runtime/runtimes.h"

#include <bpf/bpf_helpers.h>

#include "bpf/loss.h"
#include "bpf/runtime/each.h"
#include "bpf/unwind.h"

static __always_inline void *storage_of(void *map, uint64_t flags)
{
	return bpf_task_storage_get(map, bpf_get_current_task_btf(), NULL, flags);
}

/* Before there is a first target that has it, that costs no look at a table. */
static __always_inline uint32_t if_it_has(void *rows, uint32_t target_id, uint32_t seen,
					  uint32_t runtime)
{
	return seen & runtime && bpf_map_lookup_elem(rows, &target_id) ? runtime : 0;
}

#define IF_IT_HAS(constant, name, text) \
	| if_it_has(&name##_rows, target_id, seen, TARGET_RUNTIME(RUNTIME_##constant))

__noinline int runtimes_of(uint32_t target_id)
{
	uint32_t seen = *(volatile uint32_t *)&shared.runtimes;

	return 0 RUNTIME_LANGUAGES(IF_IT_HAS);
}

/* 0, or there is no memory. `row` of what the thread remembers is the target's; none: it has no such interpreter any more. */
#define FOLLOW(constant, name)                                                                    \
	({                                                                                        \
		struct name##_thread *state =                                                     \
			storage_of(&name##_threads, BPF_LOCAL_STORAGE_GET_F_CREATE);              \
		const struct name##_row *row;                                                     \
		bool known = state && state->row_epoch == epoch && state->target_id == target_id; \
                                                                                                  \
		if (state && !known) {                                                            \
			row = bpf_map_lookup_elem(&name##_rows, &target_id);                      \
			if (row) {                                                                \
				state->row = *row;                                                \
				state->target_id = target_id;                                     \
				state->row_epoch = epoch;                                         \
				known = true;                                                     \
			}                                                                         \
		}                                                                                 \
		if (known) {                                                                      \
			name##_follow(state);                                                     \
			found->of[RUNTIME_##constant] = state->chain.hash;                        \
		}                                                                                 \
		state ? 0 : -1;                                                                   \
	})

#define FOLLOW_IF_IT_HAS(constant, name, text)                                    \
	if (flags & TARGET_RUNTIME(RUNTIME_##constant) && FOLLOW(constant, name)) \
		return -1;

__noinline int runtimes_follow(struct runtime_hashes *found, uint32_t target_id, uint32_t flags,
			       uint32_t epoch)
{
	if (!found || !config.task_storage)
		return -1;
	RUNTIME_INTERPRETERS(FOLLOW_IF_IT_HAS)
	return 0;
}

static __always_inline uint32_t java_begin(uint32_t target_id, uint32_t epoch)
{
	struct hotspot_thread *java = storage_of(&hotspot_threads, BPF_LOCAL_STORAGE_GET_F_CREATE);
	const struct hotspot_row *row;

	if (!java) {
		count_lost(target_id, LOST_JAVA);
		return 0;
	}
	if (java->row_epoch != epoch || java->target_id != target_id) {
		row = bpf_map_lookup_elem(&hotspot_rows, &target_id);
		/* None, and none of the last walk's. */
		if (!row) {
			java->count = java->failure = 0;
			return 0;
		}
		java->row = *row;
		java->finds_heaps = !row->heaps[0].end;
		java->target_id = target_id;
		java->row_epoch = epoch;
	}
	hotspot_begin(java);
	return UNWIND_HOTSPOT;
}

static __always_inline uint32_t javascript_begin(uint32_t target_id, uint32_t epoch)
{
	struct v8_thread *v8 = storage_of(&v8_threads, BPF_LOCAL_STORAGE_GET_F_CREATE);
	const struct v8_row *row;

	if (!v8) {
		count_lost(target_id, LOST_V8);
		return 0;
	}
	v8_begin(v8);
	if (v8->row_epoch != epoch || v8->target_id != target_id) {
		row = bpf_map_lookup_elem(&v8_rows, &target_id);
		if (!row)
			return 0;
		v8->row = *row;
		v8->target_id = target_id;
		v8->row_epoch = epoch;
		v8_forget(v8);
	}
	return UNWIND_V8;
}

__noinline int runtimes_begin(uint32_t target_id, uint32_t flags, uint32_t epoch)
{
	uint32_t wanted = 0;

	if (!config.task_storage)
		return 0;
	if (flags & TARGET_JAVA)
		wanted |= java_begin(target_id, epoch);
	if (flags & TARGET_V8)
		wanted |= javascript_begin(target_id, epoch);
	return wanted;
}

#define TELL_IF_IN(constant, name, text)                        \
	{                                                       \
		struct name##_thread *state = NULL;             \
                                                                \
		if (found->of[RUNTIME_##constant])              \
			state = storage_of(&name##_threads, 0); \
		if (state && name##_tell(state))                \
			return -1;                              \
	}

/* One is asked for after the other, for the verifier: to remember them is to go all of the ways on for each. */
__noinline int runtimes_tell(struct runtime_hashes *found)
{
	struct python_thread *py;
	struct hotspot_thread *java;

	if (!found || !config.task_storage)
		return 0;
	py = found->of[RUNTIME_PYTHON] ? storage_of(&python_threads, 0) : NULL;
	if (py && python_tell(&py->row, py))
		return -1;
	java = found->of[RUNTIME_JVM] ? storage_of(&hotspot_threads, 0) : NULL;
	if (java && hotspot_tell(java))
		return -1;
	RUNTIME_INTERPRETERS(TELL_IF_IN)
	return 0;
}
