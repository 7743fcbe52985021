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

#include "user/process/memory_image.h"
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

/* What the dynamic linker has chosen for an object of a process. */
struct tls_place {
	struct tls_layout layout;
	bool is_program;	   /* not a library */
	uint64_t distance, module; /* 0: not known */
};

/*
 * Fills in distance and module, by the words in the memory. `bias` is what link-time addresses are moved
 * by, as pages of the object are mapped; `glibc`: its vector of blocks is what threads have.
 */
void tls_place_find(struct tls_place *place, const struct memory_image *memory, uint64_t bias,
		    bool glibc);

/* Where the thread's block of that object begins; 0: not known. */
uint64_t tls_block_of(const struct tls_place *place, const struct memory_image *memory,
		      const struct memory_thread *thread);

/*
 * The thread in whose block of that object the address lies. 0, *thread and the offset into the block; -ENOENT: none; -ETIME:
 * there are so many that it is later than `deadline_ns` (CLOCK_MONOTONIC).
 */
int tls_find_thread(const struct tls_place *place, const struct memory_image *memory,
		    uint64_t address, uint64_t deadline_ns, const struct memory_thread **thread,
		    uint64_t *offset);

/* Where the block of a program (not of a library) begins, by the thread pointer. */
uint64_t tls_block_of_program(const struct tls_layout *layout, uint64_t thread_pointer);

#endif
