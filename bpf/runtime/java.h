/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of Java in a walk: the interface of bpf/runtime/java.bpf.c to the unwinder and the probe programs. Every word comes from the
 * target: steps are bounded, and a frame is only as large as one can be.
 */
#ifndef MEMLEAKBPF_BPF_JAVA_H
#define MEMLEAKBPF_BPF_JAVA_H

#include "bpf/runtime/hotspot_abi.h"
#include "bpf/runtime/runtime_maps.h"

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

RUNTIME_MAPS(hotspot)

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

RUNTIME_FORKS(hotspot, LOST_JAVA)

#endif
