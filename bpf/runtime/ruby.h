/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Ruby methods and blocks that a thread is in: the interface of bpf/runtime/ruby.bpf.c to the probe programs. Every word comes from
 * the target: a chain is bounded, and each frame's code is known by its type.
 */
#ifndef MEMLEAKBPF_BPF_RUBY_H
#define MEMLEAKBPF_BPF_RUBY_H

#include "bpf/bpf_maps.h"
#include "bpf/loss.h"
#include "bpf/runtime/ruby_abi.h"

/* What is remembered of a thread, and its scratch; see struct python_thread. */
struct ruby_thread {
	struct ruby_row row; /* of ruby_rows, as it was at row_epoch */
	uint32_t row_epoch;  /* of struct shared; 0: unknown */
	uint32_t target_id;  /* whose it is */
	uint64_t frame;	     /* the next one */
	uint64_t end;	     /* behind the last one */
	uint64_t looked;     /* what is being read */
	uint64_t hash;
	uint32_t count;
	uint32_t cut; /* there are more than can be taken down */
	uint64_t words[RUBY_FRAME_WORDS];
	uint64_t env[RUBY_ENV_WORDS];
	uint64_t body[RUBY_BODY_WORDS];
	uint64_t object[RUBY_OBJECT_WORDS];
	uint64_t code_words[RUBY_CODE_WORDS];
	struct runtime_chain_event chain;
	struct ruby_code_event code;
};

/* Targets that have the interpreter, by id: these get TARGET_RUNTIME(RUNTIME_RUBY). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, uint32_t);
	__type(value, struct ruby_row);
	__uint(max_entries, ABI_TARGET_SLOTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} ruby_rows __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ruby_thread);
} ruby_threads __weak SEC(".maps");

/*
 * Follows the frames of the current thread: ruby->chain.hash over what they run, where in it, and where C had called it; 0: there
 * are none, or that could not be found out, which is counted.
 */
int ruby_follow(struct ruby_thread *ruby);

/* Sends the chain, and what of it has not been sent yet. 0, or not all could be sent. */
int ruby_tell(struct ruby_thread *ruby);

/* A forked child has its parent's interpreter. */
static __always_inline void ruby_forked(uint32_t parent_id, uint32_t child_id)
{
	const struct ruby_row *row = bpf_map_lookup_elem(&ruby_rows, &parent_id);

	if (row && bpf_map_update_elem(&ruby_rows, &child_id, row, BPF_ANY))
		count_lost(child_id, LOST_RUBY);
}

static __always_inline void ruby_forgotten(uint32_t target_id)
{
	bpf_map_delete_elem(&ruby_rows, &target_id);
}

#endif
