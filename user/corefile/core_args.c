// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A new program's stack, from its stack pointer up: the count of arguments, pointers to them, 0,
 * pointers to the environment, 0. Then the auxiliary vector, 16 random bytes and the strings
 * (System V ABI, "Process Initialization"; create_elf_tables() in the kernel). NT_AUXV is the same
 * vector.
 */
#include "user/corefile/core_args.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

#define POINTERS_MAX   (1u << 20) /* bytes that pointers and vector may take */
#define TEXT_MAX_BYTES (1u << 20)
#define PIECE	       256u /* bytes of a string that are read at once */
#define SAME	       4    /* entries of the vector by which it is recognised */

/* The index in `words` where the vector begins; 0: nowhere. */
static size_t core_args_find_vector(const struct core_notes *notes, const uint64_t *words,
				    size_t count)
{
	const size_t length = SAME * sizeof(*notes->aux);

	for (size_t i = count - length / 8; i > 0; i--) {
		if (!memcmp(words + i, notes->aux, length))
			return i;
	}
	return 0;
}

/*
 * Finds the arguments' pointers before the vector: the index of the first, and their count; 0:
 * none.
 */
static size_t core_args_find_pointers(const uint64_t *words, size_t vector, size_t *first)
{
	size_t at = vector;

	if (at < 2 || words[at - 1])
		return 0;
	for (at -= 2; at && words[at]; at--)
		;
	for (size_t count = 0; at > count; count++) {
		if (words[at - 1 - count] == count) {
			*first = at - count;
			return count;
		}
	}
	return 0;
}

/* Reads one string with its NUL. Returns its bytes; 0 when it is not there or has no room. */
static size_t core_args_read_one(const struct core_segments *segments, uint64_t address, char *text,
				 size_t room)
{
	for (size_t used = 0; used < room;) {
		size_t piece = room - used < PIECE ? room - used : PIECE;
		size_t got = core_segments_get(segments, address + used, text + used, piece);
		const char *end = memchr(text + used, '\0', got);

		if (end)
			return (size_t)(end + 1 - text);
		if (got < piece)
			break;
		used += got;
	}
	return 0;
}

/* Reads all strings, one behind the other. Returns their bytes; 0 when one is not there. */
static size_t core_args_read_text(const struct core_segments *segments, const uint64_t *pointers,
				  size_t count, char *text)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		size_t one = core_args_read_one(segments, pointers[i], text + used,
						TEXT_MAX_BYTES - used);

		if (!one)
			return 0;
		used += one;
	}
	return used;
}

/*
 * The strings of the environment follow those of the arguments. A program that has written its
 * title over both (setproctitle) has other strings there, and /proc/PID/cmdline shows these.
 * Returns the bytes; 0: some are not in the core.
 */
static size_t core_args_read_between(const struct core_segments *segments, uint64_t start,
				     uint64_t end, char *text, size_t *count)
{
	size_t size = end > start && end - start < TEXT_MAX_BYTES ? (size_t)(end - start) : 0;

	if (!size || core_segments_get(segments, start, text, size) != size)
		return 0;
	if (text[size - 1])
		text[size++] = '\0';
	*count = 0;
	for (size_t i = 0; i < size; i++)
		*count += !text[i];
	return size;
}

static char **core_args_make(const char *text, size_t size, size_t count)
{
	char **list = malloc((count + 1) * sizeof(*list) + size), *to;

	if (!list)
		return NULL;
	to = memcpy(list + count + 1, text, size);
	for (size_t i = 0; i < count; i++) {
		list[i] = to;
		to += strlen(to) + 1;
	}
	list[count] = NULL;
	return list;
}

char **core_args_read(const struct core_notes *notes, const struct core_segments *segments)
{
	uint64_t end = 0;
	_cleanup_free_ uint64_t *words = malloc(POINTERS_MAX);
	_cleanup_free_ char *text = malloc(TEXT_MAX_BYTES);
	const struct core_segment *stack;
	size_t count, first = 0, size;
	uint64_t start;

	for (size_t i = 0; i < notes->aux_count; i++) {
		if (notes->aux[i].type == AT_RANDOM)
			end = notes->aux[i].value & ~7ull;
	}
	stack = core_segments_find(segments, end);
	if (!words || !text || !stack || notes->aux_count < SAME)
		return NULL;
	start = end - stack->start > POINTERS_MAX ? end - POINTERS_MAX : stack->start;
	count = core_segments_get(segments, start, words, (size_t)(end - start)) / 8;
	if (count < 2 * SAME)
		return NULL;
	count = core_args_find_pointers(words, core_args_find_vector(notes, words, count), &first);
	if (!count)
		return NULL;
	/* Behind the pointers is a 0, then the environment's. */
	size = core_args_read_between(segments, words[first], words[first + count + 1], text,
				      &count);
	if (!size)
		size = core_args_read_text(segments, words + first, count, text);
	return size ? core_args_make(text, size, count) : NULL;
}
