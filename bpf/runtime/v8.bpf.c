// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The JavaScript functions of a walk. The walk notes the places of frames that may be theirs. What
 * these are is looked up behind it, so that no function here lies below those that walk. It is
 * looked up while they are being run, since V8's collector moves them.
 */
#include "bpf/runtime/v8_read.h"
#include "bpf/runtime/runtime_chain.h"

#include <bpf/bpf_helpers.h>

#include "bpf/loss.h"
#include "bpf/unwind.h"
#include "bpf/unwind_host.h"

#define V8_STRING_STEPS 4
/* No function has more variables. */
#define V8_SCOPE_MOST (1 << 20)

__noinline int v8_look(const struct unwind_state *state)
{
	struct v8_thread *v8;
	uint32_t at;

	if (!state || !config.task_storage)
		return UNWIND_FRAME_OTHER;
	v8 = bpf_task_storage_get(&v8_threads, bpf_get_current_task_btf(), NULL, 0);
	if (!v8)
		return UNWIND_FRAME_OTHER;
	at = v8->noted;
	if (at >= RUNTIME_MAX_CALLS)
		return UNWIND_FRAME_OTHER;
	v8->noted = at + 1;
	v8->pcs[at] = state->regs.pc;
	v8->fps[at] = state->regs.fp;
	return UNWIND_FRAME_OTHER;
}

/* Of the two words from v8->tail[i] on: characters of the source. */
static __always_inline bool v8_is_place(uint64_t start, uint64_t end)
{
	return V8_IS_NUMBER(start) && V8_IS_NUMBER(end) && V8_NUMBER(start) >= 0 &&
	       V8_NUMBER(start) <= V8_NUMBER(end);
}

/*
 * What a ScopeInfo has behind its variables: the function's name, a number, what its name may be
 * else (a whole script has none). Where the function begins and ends follows, if that is not in
 * front of the variables. In a module one word stands before the variables.
 */
static __always_inline bool v8_take_tail(struct v8_thread *v8, uint32_t i)
{
	const uint64_t *tail = v8->tail + i;
	const uint64_t *place = V8_IS_OBJECT(tail[2]) ? tail + 3 : tail + 2;

	if (v8->row.scope_place)
		place = v8->head + V8_SCOPE_HEAD - 2;
	if ((!V8_IS_OBJECT(tail[0]) && tail[0]) || !V8_IS_NUMBER(tail[1]) ||
	    !v8_is_place(place[0], place[1]))
		return false;
	v8->found.scope_name = tail[0];
	v8->found.scope_inferred = tail[2];
	v8->found.start = V8_NUMBER(place[0]);
	v8->found.end = V8_NUMBER(place[1]);
	return true;
}

static __always_inline int v8_read_scope(struct v8_thread *v8, uint64_t scope)
{
	uint64_t count, at;

	if (v8_read(v8->head, sizeof(v8->head), scope, 0))
		return V8_UNREADABLE;
	count = v8->head[(1 + v8->row.scope_count) & 3];
	if (!V8_IS_NUMBER(count) || V8_NUMBER(count) < 0 || V8_NUMBER(count) > V8_SCOPE_MOST)
		return V8_NO_PLACE;
	count = (uint32_t)V8_NUMBER(count);
	at = 1 + v8->row.scope_first + (count < V8_SCOPE_NAMES ? 2 * count : count + 1);
	if (v8_read(v8->tail, sizeof(v8->tail), scope, at * 8)) {
		/* At the end of the memory there is not more than it has. */
		v8->tail[5] = v8->tail[6] = 0;
		if (v8_read(v8->tail, 5 * 8, scope, at * 8))
			return V8_UNREADABLE;
	}
	if (!v8_take_tail(v8, 0) && !v8_take_tail(v8, 1))
		return V8_NO_PLACE;
	v8->found.has_scope = 1;
	return V8_FOLLOWED;
}

/* Over what the script is called and how long it is: another one may come to lie where it was. */
static __always_inline void v8_mix_script(struct v8_thread *v8)
{
	uint32_t length = 0;

	v8->found.source_length = 0;
	v8_read(&length, sizeof(length), v8->found.script_words[0], V8_STRING_LENGTH);
	v8->found.source_length = length;
	v8->text[2] = v8->text[3] = 0;
	v8_read(v8->text, sizeof(v8->text),
		v8->found.script_words[(v8->row.script_name - v8->row.script_source) >> 3 & 1], 0);
	v8->found.hash = unwind_mix(v8->found.hash, length);
	v8->found.hash = unwind_mix(v8->found.hash, v8->text[2]);
	v8->found.hash = unwind_mix(v8->found.hash, v8->text[3]);
}

/* Sets found.bytecodes, and where its baseline code is, if it has any: what says so has to agree with what else is known of it. */
static __always_inline void v8_find_code(struct v8_thread *v8)
{
	struct v8_found *found = &v8->found;

	if (v8_is(v8, found->data, V8_BYTECODES)) {
		found->bytecodes = found->data;
		return;
	}
	if (!v8_read_code(v8, found->data) || v8->code.kind != v8->row.code_baseline)
		return;
	found->code_words[0] = v8_word(v8->code_words, v8->row.code_bytecodes);
	found->code_words[1] = v8_word(v8->code_words, v8->row.code_bytecodes + 8);
	if (!v8_is(v8, found->code_words[0], V8_BYTECODES))
		return;
	found->bytecodes = found->code_words[0];
	if (v8_is(v8, found->code_words[1], V8_BYTES))
		found->code = found->data;
}

__noinline int v8_find_shared(struct v8_thread *v8, uint64_t shared)
{
	uint64_t word;
	int failure;

	if (!v8)
		return V8_UNREADABLE;
	v8->found.hash = 0;
	v8->found.has_script = v8->found.has_scope = 0;
	v8->found.data = v8->found.bytecodes = v8->found.code = 0;
	v8->found.start = v8->found.end = -1;
	v8->found.source_length = 0;
	if (!v8_is(v8, shared, V8_SHARED))
		return V8_NO_SHARED;
	v8->found.shared = shared;
	if (v8_read(&v8->found.name, sizeof(uint64_t), shared, v8->row.shared_name) ||
	    v8_read(&v8->found.script, sizeof(uint64_t), shared, v8->row.shared_script))
		return V8_UNREADABLE;
	if (!v8_read(&v8->found.data, sizeof(uint64_t), shared, v8->row.shared_data))
		v8_find_code(v8);
	if (v8_is(v8, v8->found.script, V8_SCRIPT)) {
		if (v8_read(v8->found.script_words, sizeof(v8->found.script_words),
			    v8->found.script, v8->row.script_source))
			return V8_UNREADABLE;
		v8->found.has_script = 1;
	}
	if (v8_is(v8, v8->found.name, V8_SCOPE)) {
		failure = v8_read_scope(v8, v8->found.name);
		if (failure)
			return failure;
	}
	word = unwind_mix(v8->found.name, v8->found.script);
	v8->found.hash = unwind_mix(word, (uint64_t)(uint32_t)v8->found.start << 32 |
						  (uint32_t)v8->found.end);
	if (v8->found.has_script) {
		v8->found.hash = unwind_mix(v8->found.hash, v8->found.script_words[0]);
		v8->found.hash = unwind_mix(v8->found.hash, v8->found.script_words[1]);
		v8_mix_script(v8);
	}
	return V8_FOLLOWED;
}

static __always_inline void v8_fail(struct v8_thread *v8, uint32_t failure, uint64_t address)
{
	if (v8->failure)
		return;
	v8->failure = failure;
	v8->failed_at = address;
}

/* One for baseline code, which is compiled again somewhere else, and counts otherwise. */
static __always_inline uint32_t v8_baseline_cookie(const struct v8_thread *v8)
{
	return (uint32_t)unwind_mix(v8->found.hash, v8->code.start);
}

/*
 * How far the frame is in its function: call->at. In those places of its frame optimised code may
 * have left-overs from before it was compiled. So it is looked up first whose code it is. User
 * space says whether the return address is in the interpreter.
 */
static __always_inline void v8_place(struct v8_thread *v8, uint32_t at, uint64_t pc)
{
	struct runtime_call *call = &v8->chain.calls[at];
	int32_t number = V8_NUMBER(v8->frame[0]);

	if (!v8->found.shared || !v8->row.code_deopt)
		return;
	if (v8->found.code && v8_code_holds(&v8->code, pc)) {
		call->at = (uint32_t)(pc - v8->code.start);
		call->cookie = v8_baseline_cookie(v8);
		v8->baseline[at] = 1;
		return;
	}
	v8_code_at(v8, pc);
	if (v8->code.id) {
		v8->codes[at] = v8->code.object;
		call->at = (uint32_t)(pc - v8->code.start);
		call->cookie = (uint32_t)unwind_mix(unwind_mix(v8->found.hash, v8->code.start),
						    v8->code.id);
		return;
	}
	/* From where the object begins. */
	if (v8->found.bytecodes && v8->frame[1] == v8->found.bytecodes &&
	    V8_IS_NUMBER(v8->frame[0]) && number + 1 >= v8->row.bytecodes_first)
		call->at = (uint32_t)(number + 2 - v8->row.bytecodes_first);
}

/* The SharedFunctionInfo of a frame's function; false: it is none. */
static __always_inline bool v8_shared_of(struct v8_thread *v8, uint64_t function, uint64_t *shared)
{
	uint32_t at = v8->row.function_shared;
	uint64_t map;

	/* It ends behind that at the earliest. */
	if (!V8_IS_OBJECT(function) || v8_read(v8->words, V8_FUNCTION_WORDS * 8, function, 0))
		return false;
	map = v8_map_of(v8->words[0]);
	if (!v8_is_map(v8, map, V8_FUNCTION, &v8->function_maps[map >> 3 & (V8_FUNCTION_MAPS - 1)]))
		return false;
	*shared = v8_word(v8->words, at);
	return at < V8_FUNCTION_WORDS * 8 || !v8_read(shared, sizeof(*shared), function, at);
}

/* The frame that was taken down as number i, if it is one of JavaScript's. */
__noinline int v8_frame(struct v8_thread *v8, uint32_t i)
{
	struct runtime_call *call;
	uint64_t function, shared = 0;
	uint32_t at;
	int failure = 0;

	if (!v8 || i >= RUNTIME_MAX_CALLS)
		return 0;
	if (bpf_probe_read_user(v8->frame, V8_FRAME_WORDS * 8,
				(const void *)(v8->fps[i] - V8_FRAME_WORDS * 8)))
		return 0;
	function = v8->frame[3];
	/* Else it is no context, but says which frame of V8's own this is. */
	if (!V8_IS_OBJECT(v8->frame[4]) || !v8_shared_of(v8, function, &shared))
		return 0;
	if (!v8_recall(v8, shared)) {
		failure = v8_find_shared(v8, shared);
		if (!failure)
			v8_remember(v8);
	}
	if (failure) {
		v8_fail(v8, failure, function);
		/* It keeps its place as one without a name: calls of interpreted code differ by nothing else. */
		v8->found.shared = v8->found.hash = v8->found.bytecodes = 0;
	}
	at = v8->count;
	if (at >= RUNTIME_MAX_CALLS)
		return 0;
	v8->count = at + 1;
	call = &v8->chain.calls[at];
	call->code = v8->found.shared;
	call->cookie = (uint32_t)v8->found.hash;
	call->place = (uint32_t)v8->pcs[i];
	call->at = 0;
	v8->codes[at] = v8->baseline[at] = 0;
	v8_place(v8, at, v8->pcs[i]);
	v8->hash = unwind_mix(unwind_mix(v8->hash, call->code),
			      (uint64_t)call->cookie << 32 | call->place);
	v8->hash = unwind_mix(v8->hash, call->at);
	return 0;
}

/* What failed is counted, and told once. Not in v8_end(), whose stack lies above those of all that looks for code. */
__noinline int v8_tell_failure(struct v8_thread *v8)
{
	struct runtime_failed_event event = {};
	struct target_stats *stats;

	if (!v8)
		return 0;
	stats = target_stats_of(v8->target_id);
	if (!stats || __sync_fetch_and_add(&stats->lost[LOST_V8], 1))
		return 0;
	event.header.type = RUNTIME_EVENT(RUNTIME_V8, RUNTIME_FAILED);
	event.header.target_id = v8->target_id;
	event.header.time_ns = bpf_ktime_get_ns();
	event.failure = v8->failure;
	event.address = v8->failed_at;
	bpf_ringbuf_output(&events, &event, sizeof(event), 0);
	return 0;
}

__noinline int v8_end(struct runtime_hashes *found, uint32_t flags)
{
	struct v8_thread *v8;
	uint32_t i;

	if (!found || !config.task_storage || !(flags & TARGET_V8))
		return 0;
	v8 = bpf_task_storage_get(&v8_threads, bpf_get_current_task_btf(), NULL, 0);
	if (!v8)
		return 0;
	for (i = 0; i < RUNTIME_MAX_CALLS; i++) {
		if (i >= v8->noted)
			break;
		v8_frame(v8, i);
	}
	v8->chain.count = v8->count;
	v8->chain.cut = 0;
	v8->chain.hash = v8->count ? (v8->hash ?: 1) : 0;
	found->of[RUNTIME_V8] = v8->chain.hash;
	if (v8->failure)
		v8_tell_failure(v8);
	return 0;
}

/* Its map, its length, and the two words behind them into v8->text. The type; V8_NO_TYPE: it is no string. */
static __always_inline uint32_t v8_read_string(struct v8_thread *v8, uint64_t string)
{
	uint32_t type;

	if (!V8_IS_OBJECT(string))
		return V8_NO_TYPE;
	/* At the end of the memory a short one may have less. */
	if (v8_read(v8->text, sizeof(v8->text), string, 0)) {
		v8->text[2] = v8->text[3] = 0;
		if (v8_read(v8->text, 16, string, 0))
			return V8_NO_TYPE;
	}
	type = v8_type_by_map(&v8->row, v8_map_of(v8->text[0]));
	return type < v8->row.strings ? type : V8_NO_TYPE;
}

/* Where a string's characters are, if they lie in one piece, into v8->flat; its width is 0: they do not. */
static __always_inline void v8_flatten(struct v8_thread *v8, uint64_t string)
{
	uint32_t type = 0, form, i, skip = 0, rest = 0;

	v8->flat.data = 0;
	v8->flat.width = 0;
	for (i = 0; i < V8_STRING_STEPS && !v8->flat.data; i++) {
		type = v8_read_string(v8, string);
		if (type == V8_NO_TYPE)
			return;
		form = type & V8_STRING_FORM;
		if (!i)
			v8->flat.length = (uint32_t)(v8->text[1] >> 32);
		if (form == V8_FORM_SEQUENTIAL)
			v8->flat.data = string - 1 + V8_STRING_BYTES;
		else if (form == V8_FORM_EXTERNAL)
			v8->flat.data = v8->text[3];
		else if (form == V8_FORM_SLICED)
			skip += (uint32_t)V8_NUMBER(v8->text[3]);
		/* One that has been put in one piece has nothing for its second part. */
		else if (form == V8_FORM_CONS &&
			 (v8_read(&rest, sizeof(rest), v8->text[3], V8_STRING_LENGTH) || rest))
			return;
		string = v8->text[2];
	}
	if (!v8->flat.data)
		return;
	v8->flat.width = type & V8_STRING_ONE_BYTE ? 1 : 2;
	v8->flat.data += (uint64_t)skip * v8->flat.width;
}

/* A string's first characters; width 0: they are in more than one piece, or cannot be read. */
__noinline int v8_copy_text(struct v8_thread *v8, struct runtime_text *to, uint64_t string)
{
	uint64_t size;

	if (!v8 || !to)
		return 0;
	to->length = to->width = 0;
	v8_flatten(v8, string);
	size = (uint64_t)v8->flat.length * v8->flat.width;
	if (size > RUNTIME_TEXT_BYTES)
		size = RUNTIME_TEXT_BYTES;
	barrier_var(size);
	if (size > RUNTIME_TEXT_BYTES ||
	    bpf_probe_read_user(to->bytes, size, (const void *)v8->flat.data))
		return 0;
	to->width = v8->flat.width;
	to->length = v8->flat.length;
	return 0;
}

/* `first`: where the bytes begin in it. */
__noinline int v8_copy_table(struct v8_thread *v8, uint32_t table, uint64_t array, uint32_t first)
{
	uint64_t length = 0;

	if (!v8 || table >= V8_TABLES)
		return 0;
	if (v8_read(&length, sizeof(length), array, V8_ARRAY_LENGTH) || !V8_IS_NUMBER(length))
		return 0;
	length >>= 32;
	v8->function.lengths[table] = (uint32_t)length;
	v8->function.sizes[table] =
		v8_append(v8->function.bytes, sizeof(v8->function.bytes), &v8->function.bytes_size,
			  array - 1 + first, length, V8_TABLE_BYTES);
	return 0;
}

/* What leads from a place in its code to one in the script. */
static __always_inline void v8_copy_tables(struct v8_thread *v8)
{
	uint64_t positions = 0;

	if (!v8->found.bytecodes ||
	    v8_read(&positions, sizeof(positions), v8->found.bytecodes,
		    v8->row.bytecodes_positions) ||
	    !v8_is(v8, positions, V8_BYTES))
		return;
	v8_copy_table(v8, V8_POSITIONS, positions, V8_ARRAY_BYTES);
	if (!v8->function.baseline)
		return;
	v8_copy_table(v8, V8_OFFSETS, v8->found.code_words[1], V8_ARRAY_BYTES);
	v8_copy_table(v8, V8_OPCODES, v8->found.bytecodes, v8->row.bytecodes_first);
}

/* The script up to the function's end, whose script may be gone when user space comes to read it. */
__noinline int v8_copy_source(struct v8_thread *v8, uint64_t source)
{
	uint64_t size;

	if (!v8)
		return 0;
	v8->function.text_size = 0;
	if (v8->found.start < 0)
		return 0;
	v8_flatten(v8, source);
	v8->function.text_width = v8->flat.width;
	size = ((uint64_t)(uint32_t)v8->found.end + 1) * v8->flat.width;
	if ((uint32_t)v8->found.end >= v8->flat.length)
		size = (uint64_t)v8->flat.length * v8->flat.width;
	if (size > V8_TEXT_BYTES || (uint32_t)v8->found.start >= v8->flat.length)
		return 0;
	v8->function.text_size =
		v8_append(v8->function.bytes, sizeof(v8->function.bytes), &v8->function.bytes_size,
			  v8->flat.data, size, V8_TEXT_BYTES);
	return 0;
}

/* The same, of one that is made of two, the first of which may be made of two again. */
__noinline int v8_copy_texts(struct v8_thread *v8, struct v8_text *to, uint64_t string)
{
	uint32_t type, i;
	uint64_t first;

	if (!v8 || !to)
		return 0;
	for (i = 0; i < V8_TEXT_PARTS; i++) {
		to->parts[i].length = 0;
		to->parts[i].width = 1;
	}
	/* From the last part on. */
	for (i = V8_TEXT_PARTS - 1; i; i--) {
		type = v8_read_string(v8, string);
		if (type != V8_NO_TYPE && (type & V8_STRING_FORM) == V8_FORM_THIN) {
			string = v8->text[2];
			type = v8_read_string(v8, string);
		}
		if (type == V8_NO_TYPE || (type & V8_STRING_FORM) != V8_FORM_CONS)
			break;
		first = v8->text[2];
		v8_copy_text(v8, &to->parts[i], v8->text[3]);
		string = first;
	}
	v8_copy_text(v8, &to->parts[i], string);
	return 0;
}

static __always_inline void v8_fill_function(struct v8_thread *v8)
{
	struct v8_found *found = &v8->found;

	v8->function.start = found->start;
	v8->function.script = v8->function.source = 0;
	v8->function.first_line = 0;
	v8->function.text_size = v8->function.bytes_size = 0;
	__builtin_memset(v8->function.sizes, 0, sizeof(v8->function.sizes));
	__builtin_memset(v8->function.lengths, 0, sizeof(v8->function.lengths));
	v8->function.source_length = found->source_length;
	v8_copy_texts(v8, &v8->function.name, found->has_scope ? found->scope_name : found->name);
	v8_copy_texts(v8, &v8->function.inferred, found->has_scope ? found->scope_inferred : 0);
	v8_copy_texts(
		v8, &v8->function.file,
		found->has_script
			? found->script_words[(v8->row.script_name - v8->row.script_source) >> 3 &
					      1]
			: 0);
	if (!found->has_script)
		return;
	v8->function.script = found->script;
	v8->function.source = found->script_words[0];
	if (v8->row.script_line)
		v8->function.first_line = V8_NUMBER(found->script_words[2]);
	v8_copy_source(v8, v8->function.source);
	v8_copy_tables(v8);
}

/* What has been found, under that key. 0, or it could not be sent. */
static __always_inline int v8_send_function(struct v8_thread *v8, const struct v8_function_key *key)
{
	uint8_t value = 1;
	uint64_t size;

	v8->function.header.type = RUNTIME_EVENT(RUNTIME_V8, RUNTIME_CODE);
	v8->function.header.target_id = v8->target_id;
	v8->function.header.time_ns = bpf_ktime_get_ns();
	v8->function.code = key->code;
	v8->function.cookie = key->cookie;
	v8_fill_function(v8);
	size = sizeof(v8->function) - sizeof(v8->function.bytes) + v8->function.bytes_size;
	barrier_var(size);
	if (size > sizeof(v8->function) || bpf_ringbuf_output(&events, &v8->function, size, 0))
		return -1;
	bpf_map_update_elem(&v8_functions, key, &value, BPF_ANY);
	return 0;
}

__noinline int v8_tell_shared(struct v8_thread *v8, uint64_t shared)
{
	struct v8_function_key key = {};

	if (!v8 || v8_find_shared(v8, shared))
		return 1;
	key.code = shared;
	key.cookie = (uint32_t)v8->found.hash;
	key.target_id = v8->target_id;
	if (bpf_map_lookup_elem(&v8_functions, &key))
		return 0;
	v8->function.baseline = 0;
	return v8_send_function(v8, &key);
}

/* 0, or it could not be sent. */
__noinline int v8_tell_function(struct v8_thread *v8, uint32_t at)
{
	struct v8_function_key key = {};

	if (!v8 || at >= RUNTIME_MAX_CALLS)
		return -1;
	key.code = v8->chain.calls[at].code;
	if (!key.code)
		return 0;
	key.cookie = v8->chain.calls[at].cookie;
	key.target_id = v8->target_id;
	if (bpf_map_lookup_elem(&v8_functions, &key))
		return 0;
	v8->function.baseline = v8->baseline[at];
	if (v8_find_shared(v8, key.code) ||
	    (v8->function.baseline ? v8_baseline_cookie(v8) : (uint32_t)v8->found.hash) !=
		    key.cookie)
		return -1;
	return v8_send_function(v8, &key);
}

/*
 * Sends optimised code, and before that the functions in it. 0, or it could not be sent. It is a
 * part of v8_tell(), and goes one step after the other. Each function between v8_tell() and
 * v8_copy_text() takes from the stack that kernels before 6.8 allow for all of them.
 */
static __always_inline int v8_tell_code(struct v8_thread *v8, uint32_t at)
{
	if (v8_code_told(v8, at))
		return 0;
	if (v8_tell_shared(v8, v8->chain.calls[at].code))
		return -1;
	v8->own_cookie = (uint32_t)v8->found.hash;
	if (v8_find_inlined(v8, at) || v8_tell_inlined(v8) || v8_send_code(v8, at))
		return -1;
	return 0;
}

__noinline int v8_tell(struct runtime_hashes *found)
{
	struct v8_thread *v8;
	uint32_t i;

	if (!found || !config.task_storage || !found->of[RUNTIME_V8])
		return 0;
	v8 = bpf_task_storage_get(&v8_threads, bpf_get_current_task_btf(), NULL, 0);
	if (!v8)
		return 0;
	for (i = 0; i < RUNTIME_MAX_CALLS && i < v8->chain.count; i++) {
		if (v8->codes[i] ? v8_tell_code(v8, i) : v8_tell_function(v8, i))
			return -1;
	}
	return runtime_chain_tell(&v8->chain, RUNTIME_V8, v8->target_id);
}
