/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Conservative reachability over a heap image: which blocks are lost, in memcheck's classes.
 * docs/verdicts.md has the rules.
 */
#ifndef MEMLEAKBPF_HEAP_REACH_H
#define MEMLEAKBPF_HEAP_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/verdict.h"

/*
 * Pointers into the middle of a block that count as pointers to its beginning, under memcheck's
 * names (--leak-check-heuristics).
 */
enum reach_heuristic {
	REACH_STDSTRING = 1u << 0, /* std::string of the old ABI: its characters */
	REACH_LENGTH64 = 1u << 1,  /* behind a first word that is the length of the rest */
	REACH_NEWARRAY = 1u << 2,  /* new T[n] with a destructor: behind the count */
	/* a base that is not the first: it begins with a vtable pointer, and so does the block */
	REACH_MULTIPLE_INHERITANCE = 1u << 3,
	REACH_ALL = (1u << 4) - 1,
};

struct reach_options {
	unsigned heuristics; /* enum reach_heuristic */
	/*
	 * Was a block of this stack made by new T[n]? Asked only where the newarray heuristic would
	 * apply. NULL: taken for granted.
	 */
	bool (*is_new_array)(void *ctx, uint32_t stack);
	void *ctx;
	/*
	 * pointers may carry tags: in the high byte (x86 LAM, aarch64 TBI) and the low three bits
	 */
	bool tagged;
	/*
	 * By block: what points to it points so many words into it, as to an interpreter's object behind what
	 * that keeps in front; and what points to its beginning does not hold it: the list of all objects that
	 * a collector goes through. 0: to its beginning. NULL: so of all. Outlives the reach.
	 */
	const uint8_t *heads;
	/*
	 * Is the word at the address, in the block, likely to be left over? What only such words lead to is held
	 * by them, but they come after all others. NULL: none is.
	 */
	bool (*is_weak)(void *ctx, uint32_t block, uint64_t address);
	void *weak_ctx; /* outlives the reach, for reach_each_target() */
};

struct heap_image;
struct reach;
struct snapshot;

/* Judges every block of a finished image, which must outlive *out. 0 or -ENOMEM, not logged. */
int reach_new(const struct heap_image *image, const struct reach_options *options,
	      struct reach **out);
void reach_free(struct reach *reach); /* NULL is fine */

/* By index into the image's blocks. */
enum verdict_class reach_class(const struct reach *reach, size_t block);

/*
 * The address of the word through which the block was first found in its class: variables are looked
 * at first, then thread-local data, the C library's variables, other memory, stacks and registers, each with
 * all that it leads to, and then what is likely to be left over. 0: none (definitely lost). REACH_REGISTER: not memory but a register; the low 32 bits are then the thread's index in
 * the image.
 */
#define REACH_REGISTER (1ull << 63)
/* Its allocator was just changing what it knows of it: heap_image.in_hand. */
#define REACH_IN_HAND (REACH_REGISTER | UINT32_MAX)
uint64_t reach_holder(const struct reach *reach, size_t block);

/*
 * Calls for each indirectly lost block with the definitely lost one that it hangs on: looks into what is
 * lost once more. What has been said of blocks stays.
 */
void reach_each_below(struct reach *reach, void (*fn)(void *ctx, uint32_t leader, uint32_t block),
		      void *ctx);

/*
 * Calls for each pointer in a reachable block to the beginning of another one, but for words that are likely to be
 * left over.
 */
void reach_each_target(const struct reach *reach, uint32_t block,
		       void (*fn)(void *ctx, uint32_t target), void *ctx);

/* Calls for each word of a program's or a library's variables, the C library's left out, that holds a block. */
void reach_each_variable(struct reach *reach, void (*fn)(void *ctx, uint64_t word, uint32_t block),
			 void *ctx);

/* What it needs for that alone goes: reach_each_below() is not to be called any more. */
void reach_settle(struct reach *reach);

/* The block that holds an address, by index; UINT32_MAX: none. */
uint32_t reach_find(const struct reach *reach, uint64_t address);

/*
 * Is the word at the address a root though a block has it? Of a thread's stack for instance, which lies in
 * that block and may hold it.
 */
bool reach_is_root_inside(const struct reach *reach, uint64_t address);

/*
 * Bytes that were taken for roots and lie in anonymous memory that is no stack: the heap from before
 * the attach, or what nobody knows.
 */
uint64_t reach_unknown_bytes(const struct reach *reach);

/* Adds the threads that have ended and were not joined. */
void reach_unjoined(const struct reach *reach, struct unjoined_threads *to);

/*
 * Fills in the verdict of each stack and of the snapshot that the image was taken with, with its
 * sums and its unknown_bytes. Not after reach_settle().
 */
void reach_sum(struct reach *reach, struct snapshot *snapshot);

#endif
