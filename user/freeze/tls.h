/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where an object's thread-local variables are in a thread: Ulrich Drepper's "ELF Handling For
 * Thread-Local Storage" (x86-64: variant II, AArch64: variant I). What the dynamic linker has
 * chosen for a library stands in words that it has filled in by relocation; which ones is told
 * here.
 */
#ifndef MEMLEAKBPF_FREEZE_TLS_H
#define MEMLEAKBPF_FREEZE_TLS_H

#include <stdbool.h>
#include <stdint.h>

#include "user/process/object.h"

/*
 * A word that the dynamic linker fills in, by its link-time address; what it writes there less
 * `addend` is the same for all of the object's variables.
 */
struct tls_word {
	bool known;
	uint64_t vaddr, addend;
};

struct tls_layout {
	uint64_t size, align;	  /* of the object's block in each thread */
	struct tls_word distance; /* to the block's beginning, from the thread pointer */
	struct tls_word module;	  /* its module number: index into the thread's vector of blocks */
};

/* 0 and *out; -ENOENT when it has no thread-local variables or cannot be read. Not logged. */
int tls_layout_read(const struct object *object, struct tls_layout *out);

/* Where the block of a program (not of a library) begins, by the thread pointer. */
uint64_t tls_block_of_program(const struct tls_layout *layout, uint64_t thread_pointer);

#endif
