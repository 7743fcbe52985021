/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of Java in a walk: the interface of bpf/runtime/java.bpf.c to the unwinder and the probe programs. Every word comes from the
 * target: steps are bounded, and a frame is only as large as one can be.
 */
#ifndef MEMLEAKBPF_BPF_JAVA_H
#define MEMLEAKBPF_BPF_JAVA_H

#include "bpf/bpf_maps.h"
#include "bpf/runtime/hotspot_abi.h"
#include "bpf/loss.h"

/* What is remembered of a thread, and its scratch; see struct python_thread. */
struct hotspot_thread {
	struct hotspot_row row; /* of hotspot_rows, as it was at row_epoch */
	uint32_t row_epoch;	/* of struct shared; 0: unknown */
	uint32_t target_id;	/* whose it is */
	uint32_t count;		/* pieces of code in this walk */
	uint32_t failure;	/* enum hotspot_failure, the first of this walk */
	uint32_t finds_heaps;	/* user space has not found them yet */
	uint32_t pad;
	uint64_t hash;	    /* over them */
	uint64_t failed_at; /* an address */
	uint64_t blob[HOTSPOT_BLOB_BYTES / 8];
	uint64_t const_method[HOTSPOT_CONST_BYTES / 8];
	uint64_t words[8]; /* of an interpreted frame */
	uint64_t name[HOTSPOT_NAME_WORDS];
	struct runtime_chain_event chain;
};

/* Targets that have a JVM, by id: these get TARGET_JAVA. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, struct hotspot_row);
	__uint(max_entries, ABI_TARGET_SLOTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} hotspot_rows __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct hotspot_thread);
} hotspot_threads __weak SEC(".maps");

/* Into java->row, of which user space does not know them yet; none where the JVM has not made them. */
int hotspot_find_heaps(struct hotspot_thread *java);

/* Before a walk. */
static __always_inline void hotspot_begin(struct hotspot_thread *java)
{
	/* Each time: it makes one after the other. */
	if (java->finds_heaps)
		hotspot_find_heaps(java);
	java->count = 0;
	java->failure = 0;
	java->hash = 0;
	java->chain.hash = 0;
}

/*
 * After it, where `flags` has TARGET_JAVA, else nothing: found->java over the code that it has come through; 0: through none. What
 * failed is counted, and told once. 0. With config.task_storage.
 */
int hotspot_end(struct runtime_hashes *found, uint32_t flags);

/* Sends the chain. 0, or it could not be sent. */
int hotspot_tell(struct hotspot_thread *java);

/* A forked child has its parent's JVM, with one thread: what it allocates before it calls exec. */
static __always_inline void hotspot_forked(uint32_t parent_id, uint32_t child_id)
{
	const struct hotspot_row *row = bpf_map_lookup_elem(&hotspot_rows, &parent_id);

	if (row && bpf_map_update_elem(&hotspot_rows, &child_id, row, BPF_ANY))
		count_lost(child_id, LOST_JAVA);
}

static __always_inline void hotspot_forgotten(uint32_t target_id)
{
	bpf_map_delete_elem(&hotspot_rows, &target_id);
}

#endif
