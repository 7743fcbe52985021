/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where an object's thread-local variables are in a thread: Ulrich Drepper's "ELF Handling For
 * Thread-Local Storage" (x86-64: variant II, AArch64: variant I). The dynamic linker writes its
 * choice for a library into words, by relocation. This module finds these words.
 */
#ifndef MEMLEAKBPF_FREEZE_TLS_H
#define MEMLEAKBPF_FREEZE_TLS_H

#include <stdbool.h>
#include <stdint.h>

#include "user/process/memory_image.h"
#include "user/process/object.h"

/*
 * A word that the dynamic linker fills in, by its link-time address. Its value less `addend` is the
 * same for all of the object's variables.
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

/*
 * 0 and *out; -ENOENT when the object has no thread-local variables or cannot be read. Not logged.
 */
int tls_layout_read(const struct object *object, struct tls_layout *out);

/* The dynamic linker's choice for an object of a process. */
struct tls_place {
	struct tls_layout layout;
	bool is_program;	   /* not a library */
	uint64_t distance, module; /* 0: not known */
};

/*
 * Fills in distance and module from the words in memory. `bias`: pages of the object are mapped so
 * far above their link-time addresses. `glibc`: threads have its vector of blocks.
 */
void tls_place_find(struct tls_place *place, const struct memory_image *memory, uint64_t bias,
		    bool glibc);

/* Where the thread's block of that object begins; 0: unknown. */
uint64_t tls_block_of(const struct tls_place *place, const struct memory_image *memory,
		      const struct memory_thread *thread);

/*
 * Finds the thread whose block of that object holds the address. 0, *thread and the offset into the
 * block; -ENOENT: none; -ETIME: there are so many threads that `deadline_ns` (CLOCK_MONOTONIC) has
 * passed.
 */
int tls_find_thread(const struct tls_place *place, const struct memory_image *memory,
		    uint64_t address, uint64_t deadline_ns, const struct memory_thread **thread,
		    uint64_t *offset);

/* Where the block of a program (not of a library) begins, from the thread pointer. */
uint64_t tls_block_of_program(const struct tls_layout *layout, uint64_t thread_pointer);

#endif
