// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/runtime/runtimes.h"

#include <bpf/bpf_helpers.h>

#include "bpf/runtime/java.h"
#include "bpf/loss.h"
#include "bpf/runtime/perl.h"
#include "bpf/runtime/php.h"
#include "bpf/runtime/python.h"
#include "bpf/runtime/ruby.h"
#include "bpf/unwind.h"
#include "bpf/runtime/v8.h"

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

__noinline int runtimes_of(uint32_t target_id)
{
	uint32_t seen = *(volatile uint32_t *)&shared.runtimes;

	return if_it_has(&python_rows, target_id, seen, TARGET_PYTHON) |
	       if_it_has(&hotspot_rows, target_id, seen, TARGET_JAVA) |
	       if_it_has(&v8_rows, target_id, seen, TARGET_V8) |
	       if_it_has(&ruby_rows, target_id, seen, TARGET_RUBY) |
	       if_it_has(&php_rows, target_id, seen, TARGET_PHP) |
	       if_it_has(&perl_rows, target_id, seen, TARGET_PERL);
}

/* 0, or there is no memory. `row` of what the thread remembers is the target's; none: it has no such interpreter any more. */
#define FOLLOW(runtime, found, target_id, epoch)                                                 \
	({                                                                                       \
		struct runtime##_thread *state =                                                 \
			storage_of(&runtime##_threads, BPF_LOCAL_STORAGE_GET_F_CREATE);          \
		const struct runtime##_row *row;                                                 \
		bool known =                                                                     \
			state && state->row_epoch == (epoch) && state->target_id == (target_id); \
                                                                                                 \
		if (state && !known) {                                                           \
			row = bpf_map_lookup_elem(&runtime##_rows, &(target_id));                \
			if (row) {                                                               \
				state->row = *row;                                               \
				state->target_id = (target_id);                                  \
				state->row_epoch = (epoch);                                      \
				known = true;                                                    \
			}                                                                        \
		}                                                                                \
		if (known) {                                                                     \
			runtime##_follow(state);                                                 \
			(found)->runtime = state->chain.hash;                                    \
		}                                                                                \
		state ? 0 : -1;                                                                  \
	})

__noinline int runtimes_follow(struct runtime_hashes *found, uint32_t target_id, uint32_t flags,
			       uint32_t epoch)
{
	if (!found || !config.task_storage)
		return -1;
	if (flags & TARGET_RUBY && FOLLOW(ruby, found, target_id, epoch))
		return -1;
	if (flags & TARGET_PHP && FOLLOW(php, found, target_id, epoch))
		return -1;
	if (flags & TARGET_PERL && FOLLOW(perl, found, target_id, epoch))
		return -1;
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

/* One is asked for after the other, for the verifier: to remember them is to go all of the ways on for each. */
__noinline int runtimes_tell(struct runtime_hashes *found)
{
	struct python_thread *py;
	struct hotspot_thread *java;
	struct ruby_thread *ruby;
	struct php_thread *php;
	struct perl_thread *perl;

	if (!found || !config.task_storage)
		return 0;
	py = found->python ? storage_of(&python_threads, 0) : NULL;
	if (py && python_tell(&py->row, py))
		return -1;
	java = found->java ? storage_of(&hotspot_threads, 0) : NULL;
	if (java && hotspot_tell(java))
		return -1;
	ruby = found->ruby ? storage_of(&ruby_threads, 0) : NULL;
	if (ruby && ruby_tell(ruby))
		return -1;
	php = found->php ? storage_of(&php_threads, 0) : NULL;
	if (php && php_tell(php))
		return -1;
	perl = found->perl ? storage_of(&perl_threads, 0) : NULL;
	return perl && perl_tell(perl) ? -1 : 0;
}
