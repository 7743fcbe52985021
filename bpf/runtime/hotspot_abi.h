/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Java's own stacks, as HotSpot has them. User space says this of a target's JVM, and the programs
 * send this of the code that it is in. Sources of the structures:
 *
 * - src/hotspot/share/code: codeCache.hpp, codeBlob.hpp, nmethod.hpp
 * - src/hotspot/share: memory/heap.hpp, oops/method.hpp, oops/constMethod.hpp
 * - src/hotspot/cpu/x86/frame_x86.hpp
 */
#ifndef MEMLEAKBPF_BPF_HOTSPOT_ABI_H
#define MEMLEAKBPF_BPF_HOTSPOT_ABI_H

#include "bpf/runtime/runtime_abi.h"
#include "bpf/unwind.h"

#define HOTSPOT_HEAPS	    4	/* HotSpot has three, or one */
#define HOTSPOT_BLOB_BYTES  512 /* of a piece of code are read at the most, */
#define HOTSPOT_CONST_BYTES 64	/* of a method's constant part, */
#define HOTSPOT_NAME_WORDS  8	/* and of a class's name */

/* Where compiled code is: [start, end), and for each 2^segment_shift bytes of it a byte that leads to where it begins. */
struct hotspot_heap {
	uint64_t start, end, segments;
};

/* The JVM of a target. Offsets are in bytes. */
struct hotspot_row {
	struct hotspot_heap heaps[HOTSPOT_HEAPS];
	uint64_t interpreter, interpreter_end; /* 0: it has not said yet */
	uint64_t heaps_at;		       /* the variable that leads to them */
	uint16_t blob_bytes; /* of a piece of code are read; 8 at the least behind each member */
	uint16_t blob_name, blob_frame_size, compile_id;
	uint16_t method_const; /* in a method: its constant part */
	uint16_t const_bytes;  /* that one's size, behind which the bytecode is */
	uint16_t const_pool, const_code_size, const_name, const_signature, const_whole;
	uint16_t pool_holder, klass_name, symbol_length, symbol_body;
	/* Where the heaps are found as long as user space does not know them: the JVM makes them as it starts. */
	uint16_t list_length,
		list_data; /* in what the variable points to; HOTSPOT_NO_LIST: that is the only heap */
	uint16_t heap_low, heap_high, heap_segments, heap_shift; /* in a heap */
	uint8_t segment_shift;
	uint8_t block_header; /* in front of each piece of code */
	uint8_t bcp_word; /* of the 8 words below an interpreted frame's pointer: where in the bytecode it is */
	uint8_t pad[3];
};
_Static_assert(sizeof(struct hotspot_row) == 168, "ABI");

#define HOTSPOT_NO_LIST 0xffff

/* Of a heap. */
#define HOTSPOT_HEAP_MAX  (1ull << 31) /* bytes */
#define HOTSPOT_SHIFT_MIN 4
#define HOTSPOT_SHIFT_MAX 20

/*
 * What struct runtime_call has here:
 *
 * - of interpreted code: the Method, a hash over its name, and the index of the bytecode
 * - of other code: where it begins, its number of compilation, and the return address in it
 */
#define HOTSPOT_COMPILED 0x80000000u
#define HOTSPOT_NATIVE	 0x7fffffffu /* interpreted, and no bytecode */

/* Of the 8 words below an interpreted frame's pointer: the Method. */
#define HOTSPOT_METHOD_WORD 5

/* What tells an interpreted method from others that have had its address. */
static inline __attribute__((always_inline)) uint32_t hotspot_cookie(
	uint64_t pool, uint16_t code_size, uint16_t name, uint16_t signature, uint32_t whole,
	const uint64_t class_name[HOTSPOT_NAME_WORDS])
{
	uint64_t hash = unwind_mix(pool, (uint64_t)code_size << 48 | (uint64_t)name << 32 |
						 (uint64_t)signature << 16 | (whole & 0xffff));
	int i;

	for (i = 0; i < HOTSPOT_NAME_WORDS; i++)
		hash = unwind_mix(hash, class_name[i]);
	return (uint32_t)hash;
}

/* Why something of the JVM's could not be followed. */
enum hotspot_failure {
	HOTSPOT_FOLLOWED,
	HOTSPOT_NO_BLOB,    /* its table of code does not know an address in its code */
	HOTSPOT_UNREADABLE, /* a method or its parts are in no memory */
	HOTSPOT_ELSEWHERE,  /* a frame's bytecode is not its method's */
	HOTSPOT_NO_FRAME,   /* a frame has no size that one can have */
};

#endif
