/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects of a target's V8, as its programs read them. */
#ifndef MEMLEAKBPF_BPF_V8_READ_H
#define MEMLEAKBPF_BPF_V8_READ_H

#include "bpf/runtime/v8.h"

#include <bpf/bpf_helpers.h>

#define V8_NO_TYPE 0xffffu

/* Functions and code that user space has, as far as there is room. */
struct v8_function_key {
	uint64_t code;
	uint32_t cookie;
	uint32_t target_id;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct v8_function_key);
	__type(value, uint8_t);
	__uint(max_entries, 8192);
} v8_functions __weak SEC(".maps");

/* Where what lies there is remembered; the upper bits are well mixed. */
static __always_inline uint32_t v8_slot(uint64_t address, uint32_t bits)
{
	/* Objects of one kind lie in strides. */
	address ^= address >> 11;
	return (uint32_t)((address >> 3) * 0xff51afd7ed558ccdull >> (64 - bits));
}

/* `object` as the target has it: its tag is left out, and with it where it begins. */
static __always_inline int v8_read(void *to, uint32_t size, uint64_t object, uint32_t at)
{
	return bpf_probe_read_user(to, size, (const void *)(object - 1 + at));
}

/*
 * What an object's first word says of its map, even while the collector runs. Then the word may be
 * the address, without a tag, that the object has been moved to. What is behind the word stays.
 */
static __always_inline uint64_t v8_map_of(uint64_t word)
{
	uint64_t map = 0;

	if (V8_IS_OBJECT(word) || !word || word & 7 || v8_read(&map, sizeof(map), word + 1, 0))
		return word;
	return map;
}

/* An object's type; V8_NO_TYPE: it is none, or in no memory. */
static __always_inline uint32_t v8_type_by_map(const struct v8_row *row, uint64_t map)
{
	uint16_t type = 0;

	if (!V8_IS_OBJECT(map) || v8_read(&type, sizeof(type), map, row->map_type))
		return V8_NO_TYPE;
	return type;
}

/* The word that is `at` bytes from where an object begins, whose first ones have been read; it is one of these. */
static __always_inline uint64_t v8_word(const uint64_t words[8], uint8_t at)
{
	return words[at >> 3 & 7];
}

/* The same of half a word. */
static __always_inline uint32_t v8_half(const uint64_t words[8], uint8_t at)
{
	return (uint32_t)(words[at >> 3 & 7] >> (at & 4) * 8);
}

/* `known`: a map of that kind, or the next one that is found. */
static __always_inline bool v8_is_map(struct v8_thread *v8, uint64_t map, enum v8_kind kind,
				      uint64_t *known)
{
	uint32_t type;

	if (map == *known)
		return true;
	type = v8_type_by_map(&v8->row, map);
	if (!v8->row.types[kind].first || type < v8->row.types[kind].first ||
	    type > v8->row.types[kind].last)
		return false;
	*known = map;
	return true;
}

/* Is an object that begins with that word of that kind? (A constant.) */
static __always_inline bool v8_is_word(struct v8_thread *v8, uint64_t word, enum v8_kind kind)
{
	return v8_is_map(v8, v8_map_of(word), kind, &v8->maps[kind]);
}

/* Is the object of that kind? */
static __always_inline bool v8_is(struct v8_thread *v8, uint64_t object, enum v8_kind kind)
{
	uint64_t word = 0;

	return V8_IS_OBJECT(object) && !v8_read(&word, sizeof(word), object, 0) &&
	       v8_is_word(v8, word, kind);
}

/* What a Code says of itself, into v8->code. False: it is none. */
static __always_inline bool v8_read_code(struct v8_thread *v8, uint64_t object)
{
	struct v8_code *code = &v8->code;

	code->object = 0;
	if (!V8_IS_OBJECT(object) || v8_read(v8->code_words, sizeof(v8->code_words), object, 0) ||
	    !v8_is_word(v8, v8->code_words[0], V8_CODE))
		return false;
	code->kind = v8_half(v8->code_words, v8->row.code_kind) & V8_KIND_MASK;
	code->size = v8_half(v8->code_words, v8->row.code_size);
	code->start = object - 1 + v8->row.code_own;
	if (v8->row.code_start)
		code->start = v8_word(v8->code_words, v8->row.code_start);
	code->object = object;
	return true;
}

/* A return address in its instructions? */
static __always_inline bool v8_code_holds(const struct v8_code *code, uint64_t pc)
{
	return pc > code->start && pc - code->start <= code->size;
}

/* Puts bytes of the target's, `most` of them (a constant), behind the *bytes_size ones of `room`. How many. */
static __always_inline uint32_t v8_append(uint8_t *bytes, uint64_t room, uint32_t *bytes_size,
					  uint64_t from, uint64_t size, uint64_t most)
{
	uint64_t used = *bytes_size;

	size = size < most ? size : most;
	barrier_var(size);
	barrier_var(used);
	if (size > most || used > room - most ||
	    bpf_probe_read_user(bytes + used, size, (const void *)from))
		return 0;
	*bytes_size = (uint32_t)(used + size);
	return (uint32_t)size;
}

/* bpf/runtime/v8.bpf.c: what a SharedFunctionInfo is, into v8->found: enum v8_failure. */
int v8_find_shared(struct v8_thread *v8, uint64_t shared);

/*
 * bpf/runtime/v8_known.bpf.c: 1: what the SharedFunctionInfo is was found out before; v8->found has of it what a frame needs, and v8->code its baseline code. 0: it was
 * not; what has been found then may be remembered.
 */
int v8_recall(struct v8_thread *v8, uint64_t shared);
int v8_remember(struct v8_thread *v8);

/* Sends it, if it has not been sent: v8->found.hash is its cookie then. 0; 1: it is not known what it is; -1: it could not be sent. */
int v8_tell_shared(struct v8_thread *v8, uint64_t shared);

/* bpf/runtime/v8_code.bpf.c: optimised code that a return address is in, into v8->code; its id is 0: it is in none that is known. */
int v8_code_at(struct v8_thread *v8, uint64_t pc);

/* Has the optimised code been sent that the chain's call number `at` is in? */
int v8_code_told(struct v8_thread *v8, uint32_t at);

/* The functions in it, into v8->inlined. 0, or it is gone. */
int v8_find_inlined(struct v8_thread *v8, uint32_t at);

/* Sends them; those that are not known have no code then. 0, or one could not be sent. */
int v8_tell_inlined(struct v8_thread *v8);

/* Sends the code; v8->inlined and v8->own_cookie are known. 0, or it could not be sent. */
int v8_send_code(struct v8_thread *v8, uint32_t at);

#endif
