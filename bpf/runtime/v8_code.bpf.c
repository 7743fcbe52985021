// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Optimised code of V8, and the functions that have been inlined into it. V8 itself goes by the
 * same when it lists a stack (OptimizedFrame::Summarize()): the places at which it could leave the
 * code for the interpreter. Each call is one of these. They are sent as they are, and user space
 * reads them.
 */
#include "bpf/runtime/v8_read.h"

#include "bpf/loss.h"
#include "bpf/unwind.h"

/* Code is looked for so far in front of a place in it, in steps of V8_CODE_ALIGN; more in one piece no verifier goes through. */
#define V8_CODE_STEPS  4
#define V8_CODE_PIECES 256
/* Of literals likewise. */
#define V8_LITERALS_STEPS 4

struct v8_code_key {
	uint64_t pc;
	uint32_t target_id, pad;
};

/* Code objects by places in them; 0: it is in none. They move, and are dropped: each is looked at again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct v8_code_key);
	__type(value, uint64_t);
	__uint(max_entries, 8192);
} v8_code_places SEC(".maps");

/* Is v8->code an object that is optimised code, with that place? */
static __always_inline bool v8_is_optimised(const struct v8_thread *v8, uint64_t pc)
{
	uint32_t kind = v8->code.kind - v8->row.code_baseline;

	return v8->code.object && kind && kind <= V8_KINDS_OPTIMISED &&
	       v8_code_holds(&v8->code, pc);
}

/*
 * Instructions begin there or in front of that, and a word in front of them leads to what they belong to, which leads back. 0: they do not in this piece, or
 * v8->code.object is it; -1: there is no memory.
 */
__noinline int v8_search_code(struct v8_thread *v8, uint64_t pc, uint64_t at)
{
	uint64_t object;
	uint32_t i;

	if (!v8)
		return -1;
	for (i = 0; i < V8_CODE_STEPS; i++, at -= V8_CODE_ALIGN) {
		object = at - v8->row.code_own + 1;
		if (v8->row.stream_code &&
		    bpf_probe_read_user(&object, sizeof(object),
					(const void *)(at - v8->row.stream_code)))
			return -1;
		if (v8_read_code(v8, object) && v8->code.start == at && v8_is_optimised(v8, pc))
			return 0;
	}
	v8->code.object = 0;
	return 0;
}

static __always_inline void v8_search(struct v8_thread *v8, uint64_t pc)
{
	uint64_t at = (pc - 1) & ~(uint64_t)(V8_CODE_ALIGN - 1);
	uint32_t i;

	for (i = 0; i < V8_CODE_PIECES; i++, at -= V8_CODE_STEPS * V8_CODE_ALIGN) {
		if (v8_search_code(v8, pc, at) < 0)
			break;
		if (v8->code.object)
			return;
	}
	v8->code.object = 0;
}

/* Word number i of an array. */
static __always_inline uint64_t v8_item(uint64_t array, uint32_t i)
{
	uint64_t word = 0;

	if (v8_read(&word, sizeof(word), array, V8_ARRAY_BYTES + 8 * i))
		return 0;
	return word;
}

/* The array of what leads back from v8->code, which has been read last; 0: there is none. How it begins is in v8->words. */
static __always_inline uint64_t v8_deopt_of(struct v8_thread *v8)
{
	uint64_t array = v8_word(v8->code_words, v8->row.code_deopt);

	if (!V8_IS_OBJECT(array) || v8_read(v8->words, sizeof(v8->words), array, 0) ||
	    !v8_is_word(v8, v8->words[0], V8_DEOPT))
		return 0;
	return array;
}

/* The number that no other code of the function has, and one, into v8->code.id; 0: what it was made from is not known. */
__noinline int v8_identify(struct v8_thread *v8)
{
	uint32_t at;
	uint64_t id;

	if (!v8)
		return 0;
	v8->code.id = 0;
	at = V8_ARRAY_BYTES / 8 + v8->row.deopt_id;
	if (!v8_deopt_of(v8) || at >= V8_HEAD_WORDS)
		return 0;
	id = v8->words[at];
	if (V8_IS_NUMBER(id))
		v8->code.id = (id >> 32) + 1;
	return 0;
}

/* As any thread has found it, into v8->code. */
__noinline int v8_find_code_at(struct v8_thread *v8, uint64_t pc)
{
	struct v8_code_key key = {.pc = pc};
	uint64_t *known, found;

	if (!v8)
		return 0;
	v8->code.object = 0;
	key.target_id = v8->target_id;
	known = bpf_map_lookup_elem(&v8_code_places, &key);
	if (known && (!*known || (v8_read_code(v8, *known) && v8_is_optimised(v8, pc))))
		return 0;
	v8_search(v8, pc);
	/* 6.1 takes no value that lies in a function's argument. */
	found = v8->code.object;
	bpf_map_update_elem(&v8_code_places, &key, &found, BPF_ANY);
	return 0;
}

__noinline int v8_code_at(struct v8_thread *v8, uint64_t pc)
{
	struct v8_known_place *known;

	if (!v8)
		return 0;
	v8->code.object = v8->code.id = 0;
	known = &v8->places[v8_slot(pc, V8_PLACES_BITS)];
	if (known->pc != pc || known->epoch != v8->epoch ||
	    (known->code && (!v8_read_code(v8, known->code) || !v8_is_optimised(v8, pc)))) {
		v8_find_code_at(v8, pc);
		known->pc = pc;
		known->epoch = v8->epoch;
		known->code = v8->code.object;
	}
	if (v8->code.object)
		v8_identify(v8);
	return 0;
}

/* Takes down which functions some of the code's literals are, from number `first` on. 0; 1: there is no more. */
__noinline int v8_find_literals(struct v8_thread *v8, uint64_t literals, uint32_t first)
{
	uint32_t i, n;
	uint64_t word;

	if (!v8)
		return 1;
	for (i = 0; i < V8_LITERALS_STEPS; i++) {
		n = v8->inlined_count;
		if (n >= V8_INLINED_MAX || first + i >= v8->literals)
			return 1;
		/* Weak pointers have another tag. */
		word = v8_item(literals, first + i) & ~2ull;
		if (!v8_is(v8, word, V8_SHARED))
			continue;
		v8->inlined[n].code = word;
		v8->inlined[n].literal = first + i;
		v8->inlined_count = n + 1;
	}
	return 0;
}

/* The code's literals, whose number goes into v8->literals; 0: there are none. */
__noinline uint64_t v8_literals_of(struct v8_thread *v8)
{
	uint64_t array, literals, length = 0;

	if (!v8)
		return 0;
	v8->literals = 0;
	array = v8_deopt_of(v8);
	if (!array)
		return 0;
	literals = v8_item(array, v8->row.deopt_literals);
	if (!v8_is(v8, literals, V8_LITERALS) ||
	    v8_read(&length, sizeof(length), literals, V8_ARRAY_LENGTH))
		return 0;
	v8->literals = (uint32_t)(length >> 32);
	return literals;
}

__noinline int v8_find_inlined(struct v8_thread *v8, uint32_t at)
{
	uint64_t literals;
	uint32_t i;

	if (!v8 || at >= RUNTIME_MAX_CALLS || !v8_read_code(v8, v8->codes[at]))
		return -1;
	v8->inlined_count = 0;
	literals = v8_literals_of(v8);
	for (i = 0; i < V8_LITERALS_MAX && literals; i += V8_LITERALS_STEPS) {
		if (v8_find_literals(v8, literals, i))
			break;
	}
	return 0;
}

__noinline int v8_tell_inlined(struct v8_thread *v8)
{
	uint32_t i;
	int told;

	if (!v8)
		return -1;
	for (i = 0; i < V8_INLINED_MAX && i < v8->inlined_count; i++) {
		told = v8_tell_shared(v8, v8->inlined[i].code);
		if (told < 0)
			return -1;
		v8->inlined[i].cookie = (uint32_t)v8->found.hash;
		if (told)
			v8->inlined[i].code = 0;
	}
	return 0;
}

/* Behind its head the array has the places, three numbers of each, those of other exits first. */
static __always_inline void v8_fill_places(struct v8_thread *v8, uint64_t array)
{
	struct v8_code_event *event = &v8->optimised;
	uint32_t first = v8->row.deopt_places;
	uint64_t translations = v8_item(array, 0), length = 0;

	event->exits = (uint32_t)(v8_item(array, first - 3) >> 32);
	event->eager = (uint32_t)(v8_item(array, first - 2) >> 32);
	event->places = (uint32_t)(v8_item(array, first - 1) >> 32);
	event->bytes_size = 0;
	event->places_size =
		v8_append(event->bytes, sizeof(event->bytes), &event->bytes_size,
			  array - 1 + V8_ARRAY_BYTES + 8 * first +
				  V8_DEOPT_PLACE_BYTES * (uint64_t)event->eager,
			  V8_DEOPT_PLACE_BYTES * (uint64_t)event->places, V8_PLACES_BYTES);
	event->translations_size = event->translations_length = 0;
	if (!v8_is(v8, translations, V8_TRANSLATIONS) ||
	    v8_read(&length, sizeof(length), translations, V8_ARRAY_LENGTH))
		return;
	event->translations_length = (uint32_t)(length >> 32);
	event->translations_size =
		v8_append(event->bytes, sizeof(event->bytes), &event->bytes_size,
			  translations - 1 + V8_ARRAY_BYTES, length >> 32, V8_TRANSLATIONS_BYTES);
}

/*
 * Behind its instructions Maglev's code has a table of the places that its calls return to. What is
 * behind that has other forms, and at most as many bytes.
 */
static __always_inline void v8_fill_safepoints(struct v8_thread *v8)
{
	struct v8_code_event *event = &v8->optimised;

	event->safepoints_size = 0;
	event->maglev = v8->code.kind - v8->row.code_baseline == V8_KIND_MAGLEV;
	if (!event->maglev)
		return;
	event->safepoints_size =
		v8_append(event->bytes, sizeof(event->bytes), &event->bytes_size,
			  v8->code.start + v8->code.size,
			  v8_half(v8->code_words, v8->row.code_size + 4), V8_SAFEPOINTS_BYTES);
}

static __always_inline void v8_code_key(const struct v8_thread *v8, uint32_t at,
					struct v8_function_key *key)
{
	key->code = v8->chain.calls[at].code;
	key->cookie = v8->chain.calls[at].cookie;
	key->target_id = v8->target_id;
}

__noinline int v8_code_told(struct v8_thread *v8, uint32_t at)
{
	struct v8_function_key key = {};

	if (!v8 || at >= RUNTIME_MAX_CALLS)
		return 1;
	v8_code_key(v8, at, &key);
	return bpf_map_lookup_elem(&v8_functions, &key) ? 1 : 0;
}

__noinline int v8_send_code(struct v8_thread *v8, uint32_t at)
{
	struct v8_function_key key = {};
	struct v8_code_event *event;
	uint64_t array, size;
	uint8_t value = 1;

	/* What the functions are is read like code. */
	if (!v8 || at >= RUNTIME_MAX_CALLS || !v8_read_code(v8, v8->codes[at]))
		return -1;
	array = v8_deopt_of(v8);
	if (!array)
		return -1;
	v8_code_key(v8, at, &key);
	event = &v8->optimised;
	event->header.type = RUNTIME_EVENT(RUNTIME_V8, RUNTIME_MORE);
	event->header.target_id = v8->target_id;
	event->header.time_ns = bpf_ktime_get_ns();
	event->code = key.code;
	event->cookie = key.cookie;
	event->function_cookie = v8->own_cookie;
	event->inlined_count = v8->inlined_count;
	__builtin_memcpy(event->inlined, v8->inlined, sizeof(event->inlined));
	v8_fill_places(v8, array);
	v8_fill_safepoints(v8);
	size = sizeof(*event) - sizeof(event->bytes) + event->bytes_size;
	barrier_var(size);
	if (size > sizeof(*event) || bpf_ringbuf_output(&events, event, size, 0))
		return -1;
	bpf_map_update_elem(&v8_functions, &key, &value, BPF_ANY);
	return 0;
}
