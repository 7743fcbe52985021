// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rules of memcheck's --leak-check-heuristics, by the description in Valgrind's manual (4.3)
 * and their meaning in the Itanium C++ ABI (2.7 array cookies, 2.5 virtual tables) and the old
 * std::string of libstdc++.
 */
#include "user/base/util.h"
#include "user/heap/heap_image.h"
#include "user/heap/reach_internal.h"
#include "user/process/maps.h"
#include "user/process/memory_image.h"

#define PAGE 4096

/* Entries of a virtual table that are looked at: null ones are skipped. */
#define VTABLE_ENTRIES 20

/*
 * Could it be that so many bytes of the block were asked for? Of one from before the attach the allocator's books
 * mostly have what can be used of it, which is up to a quarter more, or 16 bytes (classes of sizes).
 */
static bool reach_may_have(const struct heap_block *block, uint64_t bytes)
{
	if (block->stack != HEAP_OLD)
		return bytes == block->size;
	return bytes <= block->size && block->size - bytes <= 16 + block->size / 4;
}

/* length, capacity, count of references, then the characters, of which there are capacity + 1. */
static bool reach_is_std_string(const struct heap_image *image, const struct heap_block *block)
{
	uint64_t length, capacity, word, at;

	if (!memory_image_word(image->memory, block->address, &length) ||
	    !memory_image_word(image->memory, block->address + 8, &capacity) || length > capacity ||
	    capacity >= block->size || !reach_may_have(block, capacity + 25))
		return false;
	at = block->address + 24 + length;
	return memory_image_word(image->memory, at & ~7ull, &word) && !(word >> at % 8 * 8 & 0xff);
}

static const struct mapping *reach_file_at(const struct heap_image *image, uint64_t address)
{
	const struct mapping *m =
		image->memory->maps ? maps_find(image->memory->maps, address) : NULL;

	return m && m->ino && m->read ? m : NULL;
}

/* In a file's memory, and its first entry that is not null points to code. */
static bool reach_is_vtable(const struct heap_image *image, uint64_t address)
{
	if (address % 8 || address < PAGE || !reach_file_at(image, address))
		return false;
	for (uint64_t i = 0; i < VTABLE_ENTRIES; i++) {
		const struct mapping *code;
		uint64_t entry;

		if (!memory_image_word(image->memory, address + 8 * i, &entry))
			return false;
		if (!entry)
			continue;
		code = reach_file_at(image, entry);
		return code && code->exec;
	}
	return false;
}

static bool reach_is_second_base(const struct heap_image *image, const struct heap_block *block,
				 uint64_t pointer)
{
	uint64_t first, inner;

	return !(pointer % 8) && memory_image_word(image->memory, block->address, &first) &&
	       memory_image_word(image->memory, pointer, &inner) && reach_is_vtable(image, inner) &&
	       reach_is_vtable(image, first);
}

/* An array of so many elements, behind their count. Who made an old block is not known. */
static bool reach_is_array(const struct reach_options *options, const struct heap_block *block,
			   uint64_t count)
{
	if (block->stack == HEAP_OLD)
		return count <= block->size - REACH_COOKIE;
	return (block->size - REACH_COOKIE) % count == 0 &&
	       (!options->is_new_array || options->is_new_array(options->ctx, block->stack));
}

/*
 * An object of CPython: a count of references, then its type, whose type's type is `type`, the type of
 * itself (Include/object.h of its sources).
 */
static bool reach_is_python_object(const struct heap_image *image, uint64_t object)
{
	uint64_t references, type = object, last = 0;

	if (!memory_image_word(image->memory, object, &references) || !references)
		return false;
	for (int i = 0; i < 4; i++) {
		last = type;
		if (!memory_image_word(image->memory, type + 8, &type))
			return false;
	}
	return type == last;
}

/*
 * Before an object that CPython's collector looks after stand the collector's two words, and from 3.11 on, of
 * many, two words before those. Before the values of an object's dictionary (3.11, 3.12) stand up to 256 bytes,
 * the last of which says how many. Pointers are to what is behind.
 */
static bool reach_is_python(const struct heap_image *image, const struct heap_block *block,
			    uint64_t offset)
{
	uint64_t word;

	if (!image->claimed_count || offset % 8 || offset > UINT8_MAX)
		return false;
	if ((offset == 16 || offset == 32) && (reach_is_python_object(image, block->address + 16) ||
					       reach_is_python_object(image, block->address + 32)))
		return true;
	return memory_image_word(image->memory, block->address + offset - 8, &word) &&
	       word >> 56 == offset && heap_image_is_claimed(image, block->address);
}

/*
 * mimalloc says of a page that some of its blocks were to be aligned, and not which: it has cut them larger, and gives
 * out the first multiple of the alignment in them (mi_heap_malloc_zero_aligned_at_fallback(), alloc-aligned.c).
 * Alignments up to 16 all blocks have.
 */
#define ALIGNED_LEAST 32

static bool reach_is_aligned(const struct heap_image *image, const struct heap_block *block,
			     uint64_t pointer)
{
	uint64_t alignment = pointer & -pointer;

	return alignment >= ALIGNED_LEAST && pointer - block->address < alignment &&
	       block->stack == HEAP_OLD && heap_image_is_aligned(image, pointer);
}

/*
 * PHP's hash tables (7.3 to 8.4, Zend/zend_types.h): n buckets of 32 bytes behind 2 * n indexes of 4 bytes, each of a
 * bucket or of none. The table has a pointer to the first bucket and no other.
 */
#define PHP_NONE	UINT32_MAX
#define PHP_LEAST	64 /* 8 buckets */
#define PHP_INDEXES_MAX 1024

static bool reach_is_php_table(const struct heap_image *image, const struct heap_block *block,
			       uint64_t offset)
{
	const uint64_t *words;
	uint64_t word;
	size_t count = offset / 8 < PHP_INDEXES_MAX ? offset / 8 : PHP_INDEXES_MAX;

	/* A packed one has two indexes of none, and values of 16 bytes. */
	if (offset == 8 && block->size >= 8 + 8 * 16)
		return memory_image_word(image->memory, block->address, &word) &&
		       word == UINT64_MAX;
	if (offset < PHP_LEAST || offset & (offset - 1) || !reach_may_have(block, 5 * offset))
		return false;
	words = memory_image_words(image->memory, block->address, count);
	for (size_t i = 0; words && i < count; i++) {
		uint32_t low = (uint32_t)words[i], high = (uint32_t)(words[i] >> 32);

		if ((low != PHP_NONE && low >= offset / 8) ||
		    (high != PHP_NONE && high >= offset / 8))
			return false;
	}
	return words;
}

/*
 * PHP's copies of what an internal function takes (8.0 to 8.4, zend_register_functions()): rows of 32 bytes, the first
 * of what it returns, with how many arguments it needs (-1: all), a type, its flags, and nothing. The function points
 * to the second row. Names of arguments are constants of an object's file.
 */
#define PHP_ROW		  32
#define PHP_ARGUMENTS_MAX 64

static bool reach_is_php_arguments(const struct heap_image *image, const struct heap_block *block,
				   uint64_t offset)
{
	const uint64_t *row;
	uint64_t name;

	if (offset != PHP_ROW)
		return false;
	row = memory_image_words(image->memory, block->address, PHP_ROW / 8);
	if (!row || (row[0] > PHP_ARGUMENTS_MAX && row[0] != UINT64_MAX) || row[2] >> 32 || row[3])
		return false;
	if (block->size < 2 * PHP_ROW)
		return reach_may_have(block, PHP_ROW) && !row[0] && row[2];
	return memory_image_word(image->memory, block->address + PHP_ROW, &name) &&
	       reach_file_at(image, name);
}

/*
 * glibc's list of what is loaded (2.35 and newer, elf/dl-find_object.c) is aligned by hand: each segment keeps where
 * its block begins for free(), in its second word.
 */
#define GLIBC_SEGMENT_ALIGNMENT 128

static bool reach_is_glibc_segment(const struct heap_image *image, const struct heap_block *block,
				   uint64_t pointer)
{
	uint64_t to_free;

	return !(pointer % GLIBC_SEGMENT_ALIGNMENT) &&
	       pointer - block->address < GLIBC_SEGMENT_ALIGNMENT &&
	       memory_image_word(image->memory, pointer + 8, &to_free) && to_free == block->address;
}

/* An array of no elements: the smallest block there is has room behind the count, and all of that is the block's. */
static bool reach_may_be_empty_array(const struct heap_image *image, const struct heap_block *block)
{
	uint64_t count;

	return block->stack == HEAP_OLD && reach_may_have(block, REACH_COOKIE) &&
	       memory_image_word(image->memory, block->address, &count) && !count;
}

bool reach_is_start(const struct heap_image *image, const struct reach_options *options,
		    uint32_t index, uint64_t pointer)
{
	const struct heap_block found = heap_block_at(image, index), *block = &found;
	uint64_t offset = pointer - block->address, word;
	unsigned wanted = options->heuristics;

	if (options->heads && options->heads[index]) {
		uint64_t head = 8u * options->heads[index];

		/* A tag may be taken off it (CPython 3.12: 1). */
		return offset <= head && offset > head - 8;
	}
	if (!offset)
		return true;
	if (options->tagged && (pointer & ~7ull) == block->address)
		return true;
	if (reach_is_python(image, block, offset) || reach_is_aligned(image, block, pointer))
		return true;
	if (wanted & REACH_STDSTRING && offset == 24 && block->size >= 25 &&
	    reach_is_std_string(image, block))
		return true;
	if (reach_is_php_table(image, block, offset) ||
	    reach_is_php_arguments(image, block, offset) ||
	    reach_is_glibc_segment(image, block, pointer))
		return true;
	if (offset == REACH_COOKIE && wanted & REACH_NEWARRAY &&
	    reach_may_be_empty_array(image, block))
		return true;
	if (offset == 8 && wanted & (REACH_LENGTH64 | REACH_NEWARRAY) &&
	    memory_image_word(image->memory, block->address, &word) && word) {
		if (wanted & REACH_LENGTH64 && word < block->size &&
		    reach_may_have(block, word + 8))
			return true;
		if (wanted & REACH_NEWARRAY && reach_is_array(options, block, word))
			return true;
	}
	return wanted & REACH_MULTIPLE_INHERITANCE && reach_is_second_base(image, block, pointer);
}

bool reach_is_empty_array(const struct heap_image *image, const struct reach_options *options,
			  uint32_t index, uint64_t pointer)
{
	const struct heap_block block = heap_block_at(image, index);
	uint64_t count;

	return options->heuristics & REACH_NEWARRAY && block.size == REACH_COOKIE &&
	       pointer == block.address + REACH_COOKIE &&
	       memory_image_word(image->memory, block.address, &count) && !count &&
	       (!options->is_new_array || options->is_new_array(options->ctx, block.stack));
}
