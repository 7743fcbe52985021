/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The PHP functions that a process's main thread is in: the interface of bpf/runtime/php.bpf.c to the probe programs. Every word comes
 * from the target: a chain is bounded, and each frame's function is known by its kind and its names by their type.
 */
#ifndef MEMLEAKBPF_BPF_PHP_H
#define MEMLEAKBPF_BPF_PHP_H

#include "bpf/runtime/php_abi.h"
#include "bpf/runtime/runtime_maps.h"

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

RUNTIME_MAPS(php)

/*
 * Follows the frames of the current thread. php->chain.hash is then over what they run, where in
 * it, and where C had called it. 0: there are none, or they could not be found out, which is
 * counted.
 */
int php_follow(struct php_thread *php);

/* Sends the chain, and what of it has not been sent yet. 0, or not all could be sent. */
int php_tell(struct php_thread *php);

RUNTIME_FORKS(php, LOST_PHP)

#endif
