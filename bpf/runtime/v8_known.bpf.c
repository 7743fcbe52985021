// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Functions of V8 that the thread has come through before. To find out such a function takes a
 * dozen reads. To see that it is still the same one takes two. V8 numbers its scripts, and the
 * functions in a script, and gives no number twice. So a function is not known by its address, but
 * by the words that have these numbers.
 */
#include "bpf/runtime/v8_read.h"

#include <bpf/bpf_helpers.h>

static __always_inline bool v8_same(const uint64_t *words, const uint64_t *others, uint32_t count)
{
	uint64_t differ = 0;
	uint32_t i;

#pragma unroll
	for (i = 0; i < count; i++)
		differ |= words[i] ^ others[i];
	return !differ;
}

/* Which script lies there: each that has been seen has another number; 0: it cannot be read. In a walk it is looked at once, for the thread stands still. */
static __always_inline uint32_t v8_script_at(struct v8_thread *v8, uint64_t object)
{
	struct v8_known_script *known = &v8->scripts[v8_slot(object, V8_SCRIPTS_BITS)];

	if (known->object == object && known->walk == v8->walk)
		return known->number;
	if (v8_read(v8->script_words, sizeof(v8->script_words), object, 0))
		return 0;
	if (known->object != object || !v8_same(known->words, v8->script_words, V8_SCRIPT_WORDS)) {
		known->object = object;
		__builtin_memcpy(known->words, v8->script_words, sizeof(known->words));
		known->number = ++v8->script_numbers;
	}
	known->walk = v8->walk;
	return known->number;
}

/* The words of its baseline code are looked at each time. */
static __always_inline bool v8_recall_code(struct v8_thread *v8, const struct v8_known *known)
{
	if (!known->code)
		return true;
	return v8_read_code(v8, known->code) && v8->code.kind == v8->row.code_baseline &&
	       v8_word(v8->code_words, v8->row.code_bytecodes) == known->bytecodes;
}

__noinline int v8_recall(struct v8_thread *v8, uint64_t shared)
{
	struct v8_known *known;

	if (!v8)
		return 0;
	v8->shared_script = 0;
	if (!v8->row.shared_words || v8_read(v8->shared_words, sizeof(v8->shared_words), shared, 0))
		return 0;
	/* What lies behind a short one is another object. */
	if (v8->row.shared_words < V8_SHARED_WORDS)
		v8->shared_words[V8_SHARED_WORDS - 1] = 0;
	v8->shared_script = v8_script_at(v8, v8_word(v8->shared_words, v8->row.shared_script));
	known = &v8->known[v8_slot(shared, V8_KNOWN_BITS)];
	if (!v8->shared_script || known->epoch != v8->epoch || known->object != shared ||
	    known->script != v8->shared_script ||
	    !v8_same(known->words, v8->shared_words, V8_SHARED_WORDS) || !v8_recall_code(v8, known))
		return 0;
	v8->found.shared = shared;
	v8->found.hash = known->hash;
	v8->found.bytecodes = known->bytecodes;
	v8->found.code = known->code;
	return 1;
}

__noinline int v8_remember(struct v8_thread *v8)
{
	struct v8_known *known;

	if (!v8 || !v8->shared_script)
		return 0;
	known = &v8->known[v8_slot(v8->found.shared, V8_KNOWN_BITS)];
	known->object = v8->found.shared;
	known->epoch = v8->epoch;
	known->script = v8->shared_script;
	known->hash = v8->found.hash;
	known->bytecodes = v8->found.bytecodes;
	known->code = v8->found.code;
	__builtin_memcpy(known->words, v8->shared_words, sizeof(known->words));
	return 0;
}
