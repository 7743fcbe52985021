/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Python functions that a thread is in: the interface of bpf/runtime/python.bpf.c to the probe programs.
 * Every word comes from the target: a chain is bounded, and each frame's code object is known by its
 * type.
 */
#ifndef MEMLEAKBPF_BPF_PYTHON_H
#define MEMLEAKBPF_BPF_PYTHON_H

#include "bpf/runtime/python_abi.h"
#include "bpf/runtime/runtime_maps.h"

/* Of a string: what comes before its characters, and the first of them. */
#define PYTHON_TEXT_WORDS 12

/* Stacks of a thread whose slots are at hand; a power of two. */
#define PYTHON_KNOWN_SLOTS 16

/* Names of files whose hash a walk has at hand; a power of two. */
#define PYTHON_KNOWN_FILES 8

/* Code objects whose cookies a thread has at hand: sets of two; a power of two. */
#define PYTHON_KNOWN_CODES 128
#define PYTHON_CODE_BITS   48 /* of the address of one that may be known */

/* Of a thread's stack of frames is read at a time; what a frame takes at the most. */
#define PYTHON_WINDOW_BYTES 1024
#define PYTHON_FRAME_BYTES  128

struct python_known_text {
	uint64_t walk; /* of python_thread.walk; 0: none */
	uint64_t object;
	uint64_t hash;
	uint64_t
		is_made; /* it begins with `<`: no file's, but what code that was made from a text has */
};

struct python_known_code {
	uint64_t code;	/* its address, and python_row.code_traceable above PYTHON_CODE_BITS */
	uint32_t stamp; /* of python_thread.stamp; 0: none */
	uint32_t cookie;
};

/*
 * What is remembered of a thread, and its scratch; too large for the BPF stack, and not to be shared by
 * preempted programs.
 */
struct python_thread {
	struct python_row row; /* of python_rows, as it was at row_epoch */
	uint32_t row_epoch;    /* of struct shared; 0: unknown */
	uint32_t target_id;    /* whose it is, and whose slots: an exec drops them */
	struct {
		uint64_t stack_id; /* 0: none */
		uint64_t slot;
	} known[PYTHON_KNOWN_SLOTS];
	uint64_t key_data; /* where the thread's state was found; 0: not yet, */
	uint64_t key_seq;  /* and what stood before it */
	uint64_t frame;	   /* the next one */
	uint64_t looked;   /* what is being read: the frame before that, or the thread's state */
	uint64_t hash;
	uint32_t count;
	uint32_t cut;	    /* there are more than can be taken down */
	uint64_t walk;	    /* how many there were */
	uint64_t code_ends; /* of struct shared, at the last one */
	uint32_t
		stamp; /* of what is known of code objects; another one when any may have been freed */
	uint32_t traceable; /* of the code object that was looked at last, */
	uint32_t cookie;    /* and its cookie */
	struct python_known_text files[PYTHON_KNOWN_FILES];
	uint64_t text[PYTHON_TEXT_WORDS];
	struct python_known_code codes[PYTHON_KNOWN_CODES];
	uint64_t window;      /* address of what is in `frames`, */
	uint64_t window_size; /* and bytes of it; 0: nothing */
	uint64_t last;	      /* address of the frame before, 0: none */
	/* Some frames as they lie in memory; behind them one that lies elsewhere. */
	uint8_t frames[PYTHON_WINDOW_BYTES + PYTHON_FRAME_BYTES];
	uint32_t frame_at;	 /* in `frames`: the one that is looked at */
	uint8_t code_bytes[256]; /* python_row.code_bytes of them are read */
	struct runtime_chain_event chain;
	struct python_code_event code;
};
/* With what the kernel has in front of it: in pieces of 32 KiB it would take twice the memory. */
_Static_assert(sizeof(struct python_thread) <= 16384 - 256, "16 KiB of the kernel's");

RUNTIME_MAPS(python)

/*
 * Follows the chain of the current thread. py->chain.hash is then over the functions, where in them
 * it is, and where C had called them. 0: the thread is in none, or that could not be found out.
 */
int python_follow(const struct python_row *row, struct python_thread *py);

/*
 * Sends the chain, and those code objects of it that have not been sent yet. 0, or not all could be
 * sent.
 */
int python_tell(const struct python_row *row, struct python_thread *py);

/*
 * A forked child has its parent's interpreter. Without memory for that it has stacks without Python,
 * which is counted, until user space has looked at it.
 */
static __always_inline void python_forked(uint32_t parent_id, uint32_t child_id)
{
	const struct python_row *row = bpf_map_lookup_elem(&python_rows, &parent_id);
	struct python_row *own;

	if (!row)
		return;
	if (bpf_map_update_elem(&python_rows, &child_id, row, BPF_ANY)) {
		count_lost(child_id, LOST_PYTHON);
		return;
	}
	/* It has probes of its own, which may not be there yet. */
	own = bpf_map_lookup_elem(&python_rows, &child_id);
	if (own)
		own->tells_code_ends = 0;
}

#endif
