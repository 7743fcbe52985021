/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_MODEL_FRAME_H
#define MEMLEAKBPF_MODEL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One frame of a stack with its names. Unknown strings are NULL, never "". Immutable once made. */
struct frame {
	const char *function; /* demangled */
	/* mangled, as the symbol table has it; NULL when that is no other name */
	const char *symbol;
	const char *module; /* file name of the object; "[vdso]"; NULL for code without a file */
	const char *module_path; /* the object's whole path as the target sees it */
	const char *file;	 /* source file */
	uint32_t line;		 /* 0: unknown */
	bool inlined;		 /* an inlined call: the frame after it holds its code */
	/*
	 * function known: bytes from its start; else the link-time virtual address in the module;
	 * without a module the plain address
	 */
	uint64_t offset;
	/* link-time virtual address in the module, always; the plain address without a module */
	uint64_t module_offset;
	const uint8_t *build_id; /* of the module; NULL when it has none */
	size_t build_id_len;
};

/* C++'s operator new or new[]: it calls malloc, and its caller has no other name for malloc. */
bool frame_is_operator_new(const struct frame *frame);

/*
 * Which frame of a stack is "the one that allocated". Never frame 0, the allocation function, nor
 * one without a name.
 */
enum allocating {
	ALLOCATING_CALLER,  /* called the allocation function: often but a wrapper */
	ALLOCATING_NEW,	    /* ... operator new being one of these */
	ALLOCATING_PROGRAM, /* ... and the C and C++ libraries too: what a person would name */
};

/* Its number, of the innermost such frame; 0: none is known. */
size_t frames_allocating(const struct frame *const *frames, size_t count, enum allocating which);

#endif
