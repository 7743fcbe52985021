/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What holds a block, in words: the root that leads to it, and the blocks between. What names of
 * variables, functions and blocks there are is for the caller to say.
 */
#ifndef MEMLEAKBPF_HEAP_HELD_BY_H
#define MEMLEAKBPF_HEAP_HELD_BY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "user/heap/reach.h"
#include "user/model/frame.h"

struct heap_block;
struct mapping;
struct memory_thread;

/* A thread-local variable. Its strings live as long as who has named it. */
struct thread_variable {
	const char *name; /* NULL: it has no symbol */
	const char *module;
	/* from the variable's beginning; without a name from that of the module's block */
	uint64_t offset;
	pid_t tid;
};

struct held_names {
	void *ctx;
	/*
	 * The variable of an object's data; `file` is the first mapping of its file. 0, with *name NULL where no
	 * symbol covers the address, and *vaddr, where that is in the file; or -errno.
	 */
	int (*data)(void *ctx, const struct mapping *file, uint64_t address, const char **name,
		    uint64_t *offset, uint64_t *vaddr);
	/*
	 * The function in whose frame an address of a thread's stack lies: 0; -ERANGE when it lies above the
	 * thread's first frame; -ENOENT and others where that cannot be told. NULL: it never can.
	 */
	int (*frame)(void *ctx, const struct memory_thread *thread, uint64_t address,
		     const struct frame **out);
	/* The thread-local variable at the address: 0, or -errno. NULL: none is known by name. */
	int (*thread_variable)(void *ctx, uint64_t address, struct thread_variable *out);
	/* What else there is to say of a block, behind "a block of 48 B". */
	void (*block)(void *ctx, FILE *out, uint32_t block);
	const char *heap; /* what memory of [heap] is called that is no block's */
};

struct held_by {
	const struct heap_image *image;
	const struct reach *reach;
	struct held_names names;
};

/* The way from the root to the block, a line each, the last without its end. 0 or -ENOMEM. */
int held_by_put(const struct held_by *held, FILE *out, uint32_t block);

/* What the word at the address belongs to: as reach_holder() has it, but no block. */
void held_by_put_root(const struct held_by *held, FILE *out, uint64_t address);

/*
 * The same of all that it is a part of: the variable and not the place in it, the mapping, the thread's registers.
 * `frames`: on a stack the function in whose frame it is, which takes a walk up the stack. Returns where the
 * variable begins; 0: it is none that has a name.
 */
uint64_t held_by_put_whole(const struct held_by *held, FILE *out, uint64_t address, bool frames);

/* Does the word at the address belong to a variable that each thread has for itself? */
bool held_by_is_thread_variable(const struct held_by *held, uint64_t address);

/*
 * What a block is may be told by its first words: of a C++ object a pointer into its virtual table, of
 * an interpreter's object one to its type. ", a pointer to … in it", or nothing.
 */
void held_by_put_type(const struct held_by *held, FILE *out, const struct heap_block *block);

#endif
