/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Perl subroutines that a thread is in: the interface of bpf/runtime/perl.bpf.c to the probe programs. Every word comes from the
 * target: a chain is bounded, and each context's subroutine and what names it are known by their types.
 */
#ifndef MEMLEAKBPF_BPF_PERL_H
#define MEMLEAKBPF_BPF_PERL_H

#include "bpf/runtime/perl_abi.h"
#include "bpf/runtime/runtime_maps.h"

/* What is remembered of a thread, and its scratch; see struct python_thread. */
struct perl_thread {
	struct perl_row row; /* of perl_rows, as it was at row_epoch */
	uint32_t row_epoch;  /* of struct shared; 0: unknown */
	uint32_t target_id;  /* whose it is */
	uint64_t contexts;   /* of the stack at hand, */
	int64_t index;	     /* the next one of them, */
	uint64_t prev;	     /* and the stack before it; 0: none */
	uint64_t interpreter;
	uint64_t cop;	 /* the statement that the next subroutine stands in */
	uint64_t looked; /* what is being read */
	uint64_t hash;
	uint32_t count;
	uint32_t cut;	      /* there are more than can be taken down */
	uint64_t name, stash; /* what a subroutine is called: a HEK, and its package; 0: none */
	uint64_t words[PERL_CONTEXT_WORDS];
	uint64_t body[PERL_CODE_WORDS];
	uint64_t at[PERL_COP_WORDS];
	uint64_t text[PERL_TEXT_BYTES / 8];
	uint64_t cops[RUNTIME_MAX_CALLS], cvs[RUNTIME_MAX_CALLS]; /* of the chain's calls */
	uint64_t cv; /* the one whose texts are copied */
	struct runtime_chain_event chain;
	struct perl_code_event code;
};

RUNTIME_MAPS(perl)

/*
 * Follows the contexts of the current thread. perl->chain.hash is then over what they run, where in
 * it, and where C had called it. 0: there are none, or they could not be found out, which is
 * counted.
 */
int perl_follow(struct perl_thread *perl);

/* Sends the chain, and what of it has not been sent yet. 0, or not all could be sent. */
int perl_tell(struct perl_thread *perl);

RUNTIME_FORKS(perl, LOST_PERL)

#endif
