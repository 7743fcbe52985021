/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs send of a runtime's own stacks, whichever it is. */
#ifndef MEMLEAKBPF_BPF_RUNTIME_ABI_H
#define MEMLEAKBPF_BPF_RUNTIME_ABI_H

#include "bpf/abi.h"

#define RUNTIME_MAX_CALLS  128
#define RUNTIME_TEXT_BYTES 256

/* Of an interpreter's runtime_call.place: C has called it. */
#define RUNTIME_ENTRY 0x80000000u

/* A function that is being run. */
struct runtime_call {
	/* Which one it is: a code object's address (Python). 0: none. */
	uint64_t code;
	uint32_t cookie; /* over what tells it from others that have had this address */
	uint32_t place;	 /* in the function, as the runtime counts */
	uint32_t at;	 /* V8's: see there; others: 0 */
	uint32_t pad;
};
_Static_assert(sizeof(struct runtime_call) == 24, "ABI");

/* RUNTIME_CHAIN: the functions that the stacks with this hash are in, innermost first. */
struct runtime_chain_event {
	struct event_header header;
	uint64_t hash; /* never 0 */
	uint32_t count;
	uint32_t cut; /* there are more */
	struct runtime_call calls[RUNTIME_MAX_CALLS];
};
_Static_assert(sizeof(struct runtime_chain_event) == 32 + 24 * RUNTIME_MAX_CALLS, "ABI");

/*
 * RUNTIME_FAILED: a frame could not be followed, for the first time in this target; each stack with such
 * a one is counted as lost.
 */
struct runtime_failed_event {
	struct event_header header;
	uint32_t failure; /* enum perl_failure and its like: 0 is none */
	uint32_t number;  /* which frame, where that is known: the innermost is 1; else 0 */
	uint64_t address; /* of what was looked at: code, or a function */
};
_Static_assert(sizeof(struct runtime_failed_event) == 32, "ABI");

/* A string, as the runtime keeps it. */
struct runtime_text {
	uint32_t length; /* characters */
	uint32_t width;	 /* bytes each; 0: this is no string */
	uint8_t bytes[RUNTIME_TEXT_BYTES];
};

#endif
