// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Follows CRuby's control frames of the running thread, which lie one behind the other at the end
 * of its VM's stack. Copies their names while they run, when nobody can free them.
 */
#include "bpf/runtime/ruby.h"
#include "bpf/runtime/runtime_chain.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/loss.h"
#include "bpf/unwind_host.h"

/* glibc: in the thread's own block the vector of blocks, of two words each, which says in front of it how many there are. */
#define VECTOR_AT	8
#define VECTOR_BYTES	16
#define VECTOR_UNMAPPED (~0ull)
#define MODULES_MAX	4096

/* A string's and an array's own flags and words. */
#define STRING_ELSEWHERE      (1ull << 13)
#define STRING_FLAG_LENGTH(f) ((f) >> 14 & 31)
#define STRING_LENGTH	      2
#define STRING_POINTER	      3
#define ARRAY_HERE	      (1ull << 13)
#define ARRAY_FIRST	      2
#define ARRAY_POINTER	      4

/* Of a symbol that is an object: its text and ID; the others have their ID in themselves. */
#define SYMBOL_TEXT   3
#define SYMBOL_ID     4
#define SYMBOL_OF(id) ((id) << 8 | 0x0c)

/*
 * symbol.c: an array leads to arrays with that many texts and symbols by turns. Some bits of an ID
 * say what it names.
 */
#define SYMBOLS_IDS    16
#define SYMBOLS_UNIT   512
#define ID_SCOPE_SHIFT 4

/*
 * The table that says how many runs of a line begin up to an instruction (iseq.c: struct
 * succ_index_table). The first instructions are in words of 9 numbers with 7 bits each. All others
 * are in blocks of 512 bits. In front of a block is the sum of all that is before it. Further
 * numbers of 9 bits have the sums before its words, except the first word.
 */
#define TABLE_FIRST	  54
#define TABLE_FIRST_WORDS 6
#define TABLE_BLOCK_BITS  512
#define TABLE_BLOCK_WORDS 10

#define INFOS_MAX (1u << 20)

/* What has been sent, as far as there is room. */
struct ruby_code_key {
	struct runtime_call call;
	uint64_t target_id;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct ruby_code_key);
	__type(value, uint8_t);
	__uint(max_entries, 16384);
} ruby_codes SEC(".maps");

static __always_inline int ruby_read(void *to, uint32_t size, uint64_t address)
{
	return bpf_probe_read_user(to, size, (const void *)address);
}

/* The thread's execution context; 0: it has none. */
static __always_inline uint64_t ruby_context(const struct ruby_row *row)
{
	uint64_t module = row->module, vector = 0, count = 0, block = 0, context = 0;

	if (row->module_slot && ruby_read(&module, sizeof(module), row->module_slot))
		return 0;
	if (!module || module >= MODULES_MAX ||
	    ruby_read(&vector, sizeof(vector), runtime_thread_pointer() + VECTOR_AT) ||
	    ruby_read(&count, sizeof(count), vector - VECTOR_BYTES) || module > count ||
	    ruby_read(&block, sizeof(block), vector + VECTOR_BYTES * module) ||
	    block == VECTOR_UNMAPPED || ruby_read(&context, sizeof(context), block + row->context))
		return 0;
	return context;
}

/* The thread's frames, from the innermost on. enum ruby_failure. */
static __always_inline int ruby_first_frame(struct ruby_thread *ruby)
{
	uint64_t words[3] = {}; /* the VM's stack, how many words it has, the innermost frame */

	ruby->frame = ruby->end = 0;
	ruby->looked = ruby_context(&ruby->row);
	if (!ruby->looked)
		return RUBY_FOLLOWED;
	if (ruby_read(words, sizeof(words), ruby->looked))
		return RUBY_UNREADABLE;
	/* It has not begun. */
	if (!words[0] || !words[2])
		return RUBY_FOLLOWED;
	/* The last one is nobody's. */
	ruby->end = words[0] + 8 * words[1] - ruby->row.frame_bytes;
	ruby->frame = words[2];
	return words[1] >> 32 || ruby->frame < words[0] || ruby->frame > ruby->end ||
			       (ruby->end - ruby->frame) % ruby->row.frame_bytes
		       ? RUBY_NO_STACK
		       : RUBY_FOLLOWED;
}

/* At offsets up to RUBY_BODY_WORDS words, which user space sees to. */
static __always_inline uint64_t ruby_body_word(const struct ruby_thread *ruby, uint16_t at)
{
	return at / 8 < RUBY_BODY_WORDS ? ruby->body[at / 8] : 0;
}

/* Over the object at this offset of the body: what it holds, for its flags say how old it is, too. */
static __always_inline int ruby_mix(struct ruby_thread *ruby, uint16_t at, uint64_t *hash)
{
	uint64_t object = ruby_body_word(ruby, at);
	int i;

	if (ruby_read(ruby->object, sizeof(ruby->object), object))
		return -1;
	for (i = 1; i < RUBY_OBJECT_WORDS; i++)
		*hash = unwind_mix(*hash, ruby->object[i]);
	return 0;
}

/* There is no room for a further one. */
static __always_inline bool ruby_is_full(struct ruby_thread *ruby)
{
	if (ruby->count < RUNTIME_MAX_CALLS)
		return false;
	ruby->cut = 1;
	return true;
}

static __always_inline void ruby_add(struct ruby_thread *ruby, uint64_t code, uint64_t hash,
				     uint32_t place)
{
	runtime_chain_add(&ruby->chain, &ruby->count, &ruby->hash, code, (uint32_t)hash, place);
}

/* What the frame runs: enters it. enum ruby_failure. */
static __always_inline int ruby_enter(struct ruby_thread *ruby, uint64_t iseq, uint64_t pc,
				      uint32_t entry)
{
	uint64_t words[3] = {}, hash, place;
	uint32_t i, size = ruby->row.body_bytes;

	if (ruby_is_full(ruby))
		return RUBY_FOLLOWED;
	if (ruby_read(words, sizeof(words), iseq))
		return RUBY_UNREADABLE;
	if (!RUBY_IS_ISEQ(words[RUBY_ISEQ_FLAGS]))
		return RUBY_NO_CODE;
	barrier_var(size);
	if (size > sizeof(ruby->body))
		size = sizeof(ruby->body);
	if (ruby_read(ruby->body, size, words[RUBY_ISEQ_BODY]))
		return RUBY_UNREADABLE;
	place = (pc - ruby->body[RUBY_BODY_ENCODED]) / 8;
	if (place > ruby->body[RUBY_BODY_SIZE] >> 32 || place >= RUBY_OF_C)
		return RUBY_ELSEWHERE;
	hash = words[RUBY_ISEQ_BODY];
	for (i = 0; i < RUBY_BODY_WORDS && i < ruby->row.body_bytes / 8; i++)
		hash = unwind_mix(hash, ruby->body[i]);
	if (ruby_mix(ruby, ruby->row.body_label, &hash) ||
	    ruby_mix(ruby, ruby->row.body_path, &hash))
		return RUBY_UNREADABLE;
	ruby_add(ruby, iseq, hash, (uint32_t)place | entry);
	return RUBY_FOLLOWED;
}

/* The same of a method that is written in C, by what defines it: methods of classes that share it are made anew. */
static __always_inline int ruby_enter_c(struct ruby_thread *ruby, uint32_t entry)
{
	uint64_t definition, hash;

	if (ruby_is_full(ruby))
		return RUBY_FOLLOWED;
	if (ruby_read(ruby->object, sizeof(ruby->object), ruby->env[RUBY_ENV_METHOD]))
		return RUBY_UNREADABLE;
	if (!RUBY_IS_METHOD(ruby->object[0]))
		return RUBY_NO_CODE;
	definition = ruby->object[RUBY_METHOD_DEFINITION];
	if (ruby_read(ruby->object, sizeof(ruby->object), definition))
		return RUBY_UNREADABLE;
	hash = unwind_mix(unwind_mix(definition, ruby->object[RUBY_DEFINED_FUNCTION]),
			  ruby->object[RUBY_DEFINED_ID]);
	ruby_add(ruby, definition, hash, RUBY_OF_C | entry);
	return RUBY_FOLLOWED;
}

/* The frame at ruby->frame, and on to the one that has called it. enum ruby_failure. */
__noinline int ruby_frame(struct ruby_thread *ruby)
{
	uint32_t entry;

	if (!ruby)
		return RUBY_UNREADABLE;
	ruby->looked = ruby->frame;
	if (ruby_read(ruby->words, sizeof(ruby->words), ruby->frame) ||
	    ruby_read(ruby->env, sizeof(ruby->env),
		      ruby->words[RUBY_FRAME_EP] - 8 * RUBY_ENV_FLAGS))
		return RUBY_UNREADABLE;
	ruby->frame += ruby->row.frame_bytes;
	entry = ruby->env[RUBY_ENV_FLAGS] & RUBY_FLAG_FINISH ? RUBY_ENTRY : 0;
	if (ruby->words[RUBY_FRAME_ISEQ] && ruby->words[RUBY_FRAME_PC])
		return ruby_enter(ruby, ruby->words[RUBY_FRAME_ISEQ], ruby->words[RUBY_FRAME_PC],
				  entry);
	if (!ruby->words[RUBY_FRAME_ISEQ] && ruby->row.symbols &&
	    RUBY_IS_OF_C(ruby->env[RUBY_ENV_FLAGS]))
		return ruby_enter_c(ruby, entry);
	/* One that has not begun. Others are the thread's first, and blocks that are written in C. */
	if (ruby->words[RUBY_FRAME_ISEQ] && entry && !ruby_is_full(ruby))
		ruby_add(ruby, 0, 0, entry);
	return RUBY_FOLLOWED;
}

/* Not all are taken down. */
#define RUBY_MAX_FRAMES (2 * RUNTIME_MAX_CALLS)

__noinline int ruby_follow(struct ruby_thread *ruby)
{
	uint32_t i;
	int failure;

	if (!ruby || !ruby->row.frame_bytes)
		return 0;
	ruby->chain.hash = 0;
	ruby->count = 0;
	ruby->cut = 0;
	ruby->hash = 0;
	failure = ruby_first_frame(ruby);
	for (i = 0; i < RUBY_MAX_FRAMES && ruby->frame < ruby->end && !failure && !ruby->cut; i++)
		failure = ruby_frame(ruby);
	if (failure) {
		runtime_fail(RUNTIME_RUBY, LOST_RUBY, ruby->target_id, failure, ruby->looked);
		return 0;
	}
	if (!ruby->count)
		return 0;
	ruby->chain.count = ruby->count;
	ruby->chain.cut = ruby->cut || ruby->frame < ruby->end;
	ruby->chain.hash = unwind_mix(ruby->hash, ruby->chain.cut) ?: 1;
	return 0;
}

/* A string's first bytes; how many it has, 0: it is none. */
__noinline uint32_t ruby_copy_text(struct ruby_thread *ruby, uint64_t object, uint32_t is_file)
{
	uint64_t length, from, size;

	if (!ruby || ruby_read(ruby->object, sizeof(ruby->object), object) ||
	    RUBY_TYPE(ruby->object[0]) != RUBY_STRING)
		return 0;
	length = ruby->object[STRING_LENGTH];
	if (ruby->object[0] & STRING_ELSEWHERE) {
		from = ruby->object[STRING_POINTER];
	} else if (ruby->row.length_in_flags) {
		length = STRING_FLAG_LENGTH(ruby->object[0]);
		from = object + 8 * STRING_LENGTH;
	} else {
		from = object + 8 * STRING_POINTER;
	}
	size = length < RUBY_TEXT_BYTES ? length : RUBY_TEXT_BYTES;
	barrier_var(size);
	if (!size || size > RUBY_TEXT_BYTES ||
	    bpf_probe_read_user(is_file ? ruby->code.file : ruby->code.function, size,
				(const void *)from))
		return 0;
	return length > 0xffffffff ? 0xffffffff : (uint32_t)length;
}

/* Where the array has its elements; 0: it is none. */
static __always_inline uint64_t ruby_elements(struct ruby_thread *ruby, uint64_t array)
{
	if (ruby_read(ruby->object, sizeof(ruby->object), array) ||
	    RUBY_TYPE(ruby->object[0]) != RUBY_ARRAY)
		return 0;
	return ruby->object[0] & ARRAY_HERE ? array + 8 * ARRAY_FIRST : ruby->object[ARRAY_POINTER];
}

/*
 * The name of a method that is written in C, by the ID in what defines it, as rb_id2str() finds it. What is found there is the ID's
 * text if the symbol beside it is the ID's. As ruby_copy_text().
 */
__noinline uint32_t ruby_copy_name_of_c(struct ruby_thread *ruby, uint64_t definition)
{
	uint64_t id, number, at = 0;

	if (!ruby || ruby_read(ruby->object, sizeof(ruby->object), definition))
		return 0;
	id = ruby->object[RUBY_DEFINED_ID];
	number = (uint32_t)(id > ruby->row.last_operator ? id >> ID_SCOPE_SHIFT : id);
	if (ruby_read(&at, sizeof(at), ruby->row.symbols + SYMBOLS_IDS))
		return 0;
	at = ruby_elements(ruby, at);
	if (!at || ruby_read(&at, sizeof(at), at + 8 * (number / SYMBOLS_UNIT)))
		return 0;
	at = ruby_elements(ruby, at);
	if (!at || ruby_read(ruby->env, 16, at + 16 * (number % SYMBOLS_UNIT)))
		return 0;
	if (ruby->env[1] != SYMBOL_OF(id) &&
	    (ruby_read(ruby->object, sizeof(ruby->object), ruby->env[1]) ||
	     RUBY_TYPE(ruby->object[0]) != RUBY_SYMBOL || ruby->object[SYMBOL_ID] != id ||
	     ruby->object[SYMBOL_TEXT] != ruby->env[0]))
		return 0;
	return ruby_copy_text(ruby, ruby->env[0], 0);
}

/* As backtraces have it: a string, or the first of an array, whose other is where links lead. */
static __always_inline uint32_t ruby_copy_path(struct ruby_thread *ruby)
{
	uint64_t object = ruby_body_word(ruby, ruby->row.body_path);

	if (ruby_read(ruby->object, sizeof(ruby->object), object))
		return 0;
	if (RUBY_TYPE(ruby->object[0]) == RUBY_ARRAY) {
		if (ruby->object[0] & ARRAY_HERE)
			object = ruby->object[ARRAY_FIRST];
		else if (ruby_read(&object, sizeof(object), ruby->object[ARRAY_POINTER]))
			return 0;
	}
	return ruby_copy_text(ruby, object, 1);
}

static __always_inline uint32_t ruby_ones(uint64_t bits)
{
	bits -= bits >> 1 & 0x5555555555555555ull;
	bits = (bits & 0x3333333333333333ull) + (bits >> 2 & 0x3333333333333333ull);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (uint32_t)(bits * 0x0101010101010101ull >> 56);
}

/* How many runs of a line begin up to that instruction; 0: unknown. */
static __always_inline uint32_t ruby_runs(uint64_t table, uint32_t at)
{
	uint64_t sums[2] = {}, bits = 0;
	uint32_t bit, word, count;

	if (at < TABLE_FIRST)
		return ruby_read(&bits, sizeof(bits), table + 8 * (uint64_t)(at / 9))
			       ? 0
			       : (uint32_t)(bits >> 7 * (at % 9)) & 127;
	bit = (at - TABLE_FIRST) % TABLE_BLOCK_BITS;
	word = bit / 64;
	table += 8 * (TABLE_FIRST_WORDS +
		      TABLE_BLOCK_WORDS * (uint64_t)((at - TABLE_FIRST) / TABLE_BLOCK_BITS));
	if (ruby_read(sums, sizeof(sums), table) ||
	    ruby_read(&bits, sizeof(bits), table + sizeof(sums) + 8 * (uint64_t)word))
		return 0;
	count = (uint32_t)sums[0] + ruby_ones(bits << (63 - bit % 64));
	return word ? count + (uint32_t)(sums[1] >> 9 * (word - 1) & 511) : count;
}

/* The line of the instruction; 0: unknown. */
__noinline uint32_t ruby_line(struct ruby_thread *ruby, uint32_t at)
{
	uint32_t count, run = 1;
	int32_t line = 0;

	if (!ruby)
		return 0;
	count = (uint32_t)ruby_body_word(ruby, ruby->row.body_info_count);
	if (!count || count > INFOS_MAX)
		return 0;
	if (count > 1)
		run = ruby_runs(ruby_body_word(ruby, ruby->row.body_info_table), at);
	if (!run || run > count ||
	    ruby_read(&line, sizeof(line),
		      ruby_body_word(ruby, ruby->row.body_infos) +
			      (uint64_t)ruby->row.info_bytes * (run - 1)) ||
	    line < 0)
		return 0;
	return (uint32_t)line;
}

/* Where the interpreter has the instruction at this word, and the one before it: that is what they begin with. */
__noinline int ruby_instructions(struct ruby_thread *ruby, uint32_t at)
{
	uint32_t i, first = at < RUBY_CODE_WORDS - 1 ? at : RUBY_CODE_WORDS - 1, n = first + 1;
	uint64_t size = 8 * (uint64_t)n, word;

	if (!ruby)
		return 0;
	__builtin_memset(ruby->code_words, 0, sizeof(ruby->code_words));
	barrier_var(size);
	if (size > sizeof(ruby->code_words) ||
	    ruby_read(ruby->code_words, size,
		      ruby->body[RUBY_BODY_ENCODED] + 8 * (uint64_t)(at - first)))
		return 0;
	for (i = 0; i < RUBY_CODE_WORDS; i++) {
		word = ruby->code_words[i];
		if (word < ruby->row.code || word >= ruby->row.code_end)
			continue;
		if (i + 1 == n)
			ruby->code.code_at = word;
		else
			ruby->code.code_before = word;
	}
	return 0;
}

/* What is called there, if it is written in Ruby. 0, or it could not be read. */
static __always_inline int ruby_describe(struct ruby_thread *ruby, uint64_t code, uint32_t place)
{
	uint64_t iseq[3] = {};
	uint32_t size;

	size = ruby->row.body_bytes;
	barrier_var(size);
	if (size > sizeof(ruby->body))
		size = sizeof(ruby->body);
	if (ruby_read(iseq, sizeof(iseq), code) ||
	    ruby_read(ruby->body, size, iseq[RUBY_ISEQ_BODY]))
		return -1;
	/* The pc of what calls something is behind that instruction. */
	ruby->code.line = ruby_line(ruby, place ? place - 1 : 0);
	ruby->code.line_at = ruby_line(ruby, place);
	ruby_instructions(ruby, place);
	ruby->code.function_length =
		ruby_copy_text(ruby, ruby_body_word(ruby, ruby->row.body_label), 0);
	ruby->code.file_length = ruby_copy_path(ruby);
	return 0;
}

/* 0, or it could not be sent. */
__noinline int ruby_tell_code(struct ruby_thread *ruby, uint32_t at)
{
	struct ruby_code_key key = {};
	uint8_t value = 1;

	if (!ruby || at >= RUNTIME_MAX_CALLS)
		return -1;
	key.call = ruby->chain.calls[at];
	key.call.place &= ~RUBY_ENTRY;
	key.target_id = ruby->target_id;
	if (!key.call.code || bpf_map_lookup_elem(&ruby_codes, &key))
		return 0;
	ruby->code.header.type = RUNTIME_EVENT(RUNTIME_RUBY, RUNTIME_CODE);
	ruby->code.header.target_id = ruby->target_id;
	ruby->code.header.time_ns = bpf_ktime_get_ns();
	ruby->code.call = key.call;
	ruby->code.code_at = ruby->code.code_before = 0;
	ruby->code.line = ruby->code.line_at = ruby->code.file_length = 0;
	if (key.call.place & RUBY_OF_C)
		ruby->code.function_length = ruby_copy_name_of_c(ruby, key.call.code);
	else if (ruby_describe(ruby, key.call.code, key.call.place))
		return -1;
	if (bpf_ringbuf_output(&events, &ruby->code, sizeof(ruby->code), 0))
		return -1;
	/* What is on disk now may be there with the next stack. */
	if (ruby->code.function_length &&
	    (key.call.place & RUBY_OF_C || (ruby->code.file_length && ruby->code.line)))
		bpf_map_update_elem(&ruby_codes, &key, &value, BPF_ANY);
	return 0;
}

__noinline int ruby_tell(struct ruby_thread *ruby)
{
	uint32_t i;

	if (!ruby)
		return -1;
	for (i = 0; i < RUNTIME_MAX_CALLS && i < ruby->chain.count; i++) {
		if (ruby_tell_code(ruby, i))
			return -1;
	}
	return runtime_chain_tell(&ruby->chain, RUNTIME_RUBY, ruby->target_id);
}
