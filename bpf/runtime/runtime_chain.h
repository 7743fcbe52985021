/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs that follow runtimes have in common. */
#ifndef MEMLEAKBPF_BPF_RUNTIME_CHAIN_H
#define MEMLEAKBPF_BPF_RUNTIME_CHAIN_H

#include "bpf/bpf_maps.h"
#include "bpf/loss.h"
#include "bpf/runtime/runtime_abi.h"

/* glibc, nptl/descr.h: struct pthread_key_data {seq; data}, 32 in a block; then pointers to blocks. */
#define RUNTIME_KEYS_IN_BLOCK 32
#define RUNTIME_KEY_BYTES     16
#define RUNTIME_MAX_KEYS      1024 /* PTHREAD_KEYS_MAX */

static __always_inline uint64_t runtime_thread_pointer(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

#if defined(__TARGET_ARCH_arm64)
	return task->thread.uw.tp_value;
#else
	return task->thread.fsbase;
#endif
}

/*
 * Where the thread keeps what it has set for the key. Its words begin `thread_data` bytes behind
 * its pointer. 0: nowhere, as long as it has set nothing for such keys.
 */
static __always_inline uint64_t runtime_key_place(uint64_t thread_data, uint32_t key)
{
	uint64_t block = runtime_thread_pointer() + thread_data;

	if (key >= RUNTIME_MAX_KEYS)
		return 0;
	if (key >= RUNTIME_KEYS_IN_BLOCK) {
		block += RUNTIME_KEYS_IN_BLOCK * RUNTIME_KEY_BYTES +
			 8 * (key / RUNTIME_KEYS_IN_BLOCK);
		if (bpf_probe_read_user(&block, sizeof(block), (const void *)block) || !block)
			return 0;
	}
	return block + RUNTIME_KEY_BYTES * (key % RUNTIME_KEYS_IN_BLOCK);
}

/* A further call that the walk has come to, the count'th, which the stack's identity is over. None: there is no room. */
static __always_inline void runtime_chain_add(struct runtime_chain_event *chain, uint32_t *count,
					      uint64_t *hash, uint64_t code, uint32_t cookie,
					      uint32_t place)
{
	uint32_t at = *count;

	if (at >= RUNTIME_MAX_CALLS)
		return;
	*count = at + 1;
	chain->calls[at].code = code;
	chain->calls[at].cookie = cookie;
	chain->calls[at].place = place;
	*hash = unwind_mix(unwind_mix(*hash, code), (uint64_t)cookie << 32 | place);
}

/* A chain could not be followed, at that address: counts it, and tells user space of the target's first one. */
static __always_inline void runtime_fail(enum runtime runtime, enum lost_cause cause,
					 uint32_t target_id, int failure, uint64_t address)
{
	struct runtime_failed_event event = {.failure = failure};
	struct target_stats *stats = target_stats_of(target_id);

	if (!stats || __sync_fetch_and_add(&stats->lost[cause], 1))
		return;
	event.header.type = RUNTIME_EVENT(runtime, RUNTIME_FAILED);
	event.header.target_id = target_id;
	event.header.time_ns = bpf_ktime_get_ns();
	event.address = address;
	bpf_ringbuf_output(&events, &event, sizeof(event), 0);
}

/* Tells user space what a new stack is in, once all that its calls name has been told. 0, or -1: there is no room. */
static __always_inline int runtime_chain_tell(struct runtime_chain_event *chain,
					      enum runtime runtime, uint32_t target_id)
{
	uint64_t size = sizeof(*chain) - sizeof(chain->calls) +
			sizeof(chain->calls[0]) * (uint64_t)chain->count;

	chain->header.type = RUNTIME_EVENT(runtime, RUNTIME_CHAIN);
	chain->header.target_id = target_id;
	chain->header.time_ns = bpf_ktime_get_ns();
	if (size > sizeof(*chain))
		size = sizeof(*chain);
	return bpf_ringbuf_output(&events, chain, size, 0) ? -1 : 0;
}

#endif
