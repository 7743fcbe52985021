/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The PHP functions that a process's main thread is in: the interface of bpf/runtime/php.bpf.c to the probe programs. Every word comes
 * from the target: a chain is bounded, and each frame's function is known by its kind and its names by their type.
 */
#ifndef MEMLEAKBPF_BPF_PHP_H
#define MEMLEAKBPF_BPF_PHP_H

#include "bpf/bpf_maps.h"
#include "bpf/loss.h"
#include "bpf/runtime/php_abi.h"

/* What is remembered of a thread, and its scratch; see struct python_thread. */
struct php_thread {
	struct php_row row; /* of php_rows, as it was at row_epoch */
	uint32_t row_epoch; /* of struct shared; 0: unknown */
	uint32_t target_id; /* whose it is */
	uint64_t frame;	    /* the next one */
	uint64_t looked;    /* what is being read */
	uint64_t hash;
	uint32_t count;
	uint32_t cut; /* there are more than can be taken down */
	uint64_t words[PHP_FRAME_WORDS];
	uint64_t func[PHP_FUNC_WORDS];
	uint64_t body[PHP_BODY_WORDS];
	uint64_t op[PHP_OP_WORDS];
	uint64_t text[PHP_STRING_WORDS];
	struct runtime_chain_event chain;
	struct php_code_event code;
};

/* Targets that have the interpreter, by id: these get TARGET_RUNTIME(RUNTIME_PHP). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, struct php_row);
	__uint(max_entries, ABI_TARGET_SLOTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} php_rows __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct php_thread);
} php_threads __weak SEC(".maps");

/*
 * Follows the frames of the current thread: php->chain.hash over what they run, where in it, and where C had called it; 0: there
 * are none, or that could not be found out, which is counted.
 */
int php_follow(struct php_thread *php);

/* Sends the chain, and what of it has not been sent yet. 0, or not all could be sent. */
int php_tell(struct php_thread *php);

/* A forked child has its parent's interpreter. */
static __always_inline void php_forked(uint32_t parent_id, uint32_t child_id)
{
	const struct php_row *row = bpf_map_lookup_elem(&php_rows, &parent_id);

	if (row && bpf_map_update_elem(&php_rows, &child_id, row, BPF_ANY))
		count_lost(child_id, LOST_PHP);
}

static __always_inline void php_forgotten(uint32_t target_id)
{
	bpf_map_delete_elem(&php_rows, &target_id);
}

#endif
