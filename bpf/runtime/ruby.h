/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Ruby methods and blocks that a thread is in: the interface of bpf/runtime/ruby.bpf.c to the probe programs. Every word comes from
 * the target: a chain is bounded, and each frame's code is known by its type.
 */
#ifndef MEMLEAKBPF_BPF_RUBY_H
#define MEMLEAKBPF_BPF_RUBY_H

#include "bpf/runtime/ruby_abi.h"
#include "bpf/runtime/runtime_maps.h"

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

RUNTIME_MAPS(ruby)

/*
 * Follows the frames of the current thread. ruby->chain.hash is then over what they run, where in
 * it, and where C had called it. 0: there are none, or they could not be found out, which is
 * counted.
 */
int ruby_follow(struct ruby_thread *ruby);

/* Sends the chain, and what of it has not been sent yet. 0, or not all could be sent. */
int ruby_tell(struct ruby_thread *ruby);

RUNTIME_FORKS(ruby, LOST_RUBY)

#endif
