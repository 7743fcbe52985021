// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Following PHP's frames, which lead from one to the next, and copying what they are called while they run: nobody can free it
 * then. A build without threads of its own (NTS) has them in one variable for the process, and runs PHP in its main thread.
 */
#include "bpf/runtime/php.h"
#include "bpf/runtime/runtime_chain.h"

#include <bpf/bpf_helpers.h>

#include "bpf/loss.h"
#include "bpf/unwind_host.h"

/* What has been sent, as far as there is room. */
struct php_code_key {
	struct runtime_call call;
	uint64_t target_id;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct php_code_key);
	__type(value, uint8_t);
	__uint(max_entries, 16384);
} php_codes SEC(".maps");

static __always_inline int php_read(void *to, uint32_t size, uint64_t address)
{
	return bpf_probe_read_user(to, size, (const void *)address);
}

/* At offsets up to PHP_BODY_WORDS words, which user space sees to. */
static __always_inline uint64_t php_body_word(const struct php_thread *php, uint16_t at)
{
	return at / 8 < PHP_BODY_WORDS ? php->body[at / 8] : 0;
}

/* Over a string: what it holds, of which it keeps a hash of its own, or where it is. 0: none. enum php_failure. */
static __always_inline int php_mix(struct php_thread *php, uint64_t string, uint64_t *hash)
{
	if (!string)
		return PHP_FOLLOWED;
	if (php_read(php->text, sizeof(php->text), string))
		return PHP_UNREADABLE;
	if (!PHP_IS_STRING(php->text[0]))
		return PHP_NO_NAME;
	*hash = unwind_mix(*hash, php->text[PHP_STRING_HASH] ?: string);
	*hash = unwind_mix(*hash, php->text[PHP_STRING_LENGTH]);
	return PHP_FOLLOWED;
}

/* What a function is called: over its name and its class's. enum php_failure. */
static __always_inline int php_mix_names(struct php_thread *php, uint64_t *hash)
{
	uint64_t class[PHP_CLASS_NAME + 1] = {};

	if (php->func[PHP_FUNC_SCOPE]) {
		if (php_read(class, sizeof(class), php->func[PHP_FUNC_SCOPE]))
			return PHP_UNREADABLE;
		if (php_mix(php, class[PHP_CLASS_NAME], hash))
			return PHP_NO_NAME;
	}
	return php_mix(php, php->func[PHP_FUNC_NAME], hash);
}

/* Where in the function, which is written in PHP, the frame stands: php->op; its number, or PHP_NOWHERE. */
static __always_inline uint32_t php_stands(struct php_thread *php, uint64_t opline)
{
	uint64_t from = opline - php_body_word(php, php->row.body_opcodes);
	uint64_t last = (uint32_t)php_body_word(php, php->row.body_last);

	/* While an exception is on its way the frame stands in no function. */
	if (from % sizeof(php->op) || from / sizeof(php->op) >= last ||
	    from / sizeof(php->op) >= PHP_NOWHERE || php_read(php->op, sizeof(php->op), opline)) {
		__builtin_memset(php->op, 0, sizeof(php->op));
		return PHP_NOWHERE;
	}
	return (uint32_t)(from / sizeof(php->op));
}

/* What the function is, into php->func and, of one that is written in PHP, php->body. enum php_failure. */
static __always_inline int php_read_function(struct php_thread *php, uint64_t func)
{
	uint8_t kind;

	if (php_read(php->func, sizeof(php->func), func))
		return PHP_UNREADABLE;
	kind = (uint8_t)php->func[PHP_FUNC_KIND];
	if (kind == PHP_IS_INTERNAL)
		return PHP_FOLLOWED;
	if (kind != PHP_IS_USER && kind != PHP_IS_EVAL)
		return PHP_NO_CODE;
	return php_read(php->body, sizeof(php->body), func) ? PHP_UNREADABLE : PHP_FOLLOWED;
}

/* What the frame runs: enters it. enum php_failure. */
static __always_inline int php_enter(struct php_thread *php, uint64_t func)
{
	uint32_t at = php->count, place = PHP_NOWHERE, entry = 0;
	uint64_t hash = func;
	int failure = php_read_function(php, func);

	if (failure)
		return failure;
	/* What stands for where a fiber begins. */
	if ((uint8_t)php->func[PHP_FUNC_KIND] == PHP_IS_INTERNAL && !php->func[PHP_FUNC_NAME])
		return PHP_FOLLOWED;
	failure = php_mix_names(php, &hash);
	if (failure)
		return failure;
	if ((uint8_t)php->func[PHP_FUNC_KIND] != PHP_IS_INTERNAL) {
		place = php_stands(php, php->words[PHP_FRAME_OPLINE]);
		entry = (uint32_t)php->words[PHP_FRAME_CALL] & PHP_CALL_TOP ? PHP_ENTRY : 0;
		hash = unwind_mix(hash, php_body_word(php, php->row.body_opcodes));
		hash = unwind_mix(hash, php_body_word(php, php->row.body_line));
		hash = unwind_mix(hash, php->op[PHP_OP_LINE]);
		failure = php_mix(php, php_body_word(php, php->row.body_file), &hash);
		if (failure)
			return failure;
	}
	if (at >= RUNTIME_MAX_CALLS) {
		php->cut = 1;
		return PHP_FOLLOWED;
	}
	runtime_chain_add(&php->chain, &php->count, &php->hash, func, (uint32_t)hash,
			  place | entry);
	return PHP_FOLLOWED;
}

/* The frame at php->frame, and on to the one that has called it. enum php_failure. */
__noinline int php_frame(struct php_thread *php)
{
	if (!php)
		return PHP_UNREADABLE;
	php->looked = php->frame;
	if (php_read(php->words, sizeof(php->words), php->frame))
		return PHP_UNREADABLE;
	php->frame = php->words[PHP_FRAME_PREV];
	/* One that stands for a generator that waits for another. */
	if (!php->words[PHP_FRAME_FUNC])
		return PHP_FOLLOWED;
	return php_enter(php, php->words[PHP_FRAME_FUNC]);
}

/* Some are of no function. */
#define PHP_MAX_FRAMES (RUNTIME_MAX_CALLS + 16)

__noinline int php_follow(struct php_thread *php)
{
	uint64_t thread = bpf_get_current_pid_tgid();
	uint32_t i;
	int failure = PHP_FOLLOWED;

	if (!php || !php->row.current)
		return 0;
	php->chain.hash = 0;
	php->count = 0;
	php->cut = 0;
	php->hash = 0;
	php->frame = 0;
	php->looked = php->row.current;
	if (thread >> 32 != (uint32_t)thread)
		return 0;
	if (php_read(&php->frame, sizeof(php->frame), php->row.current))
		failure = PHP_UNREADABLE;
	for (i = 0; i < PHP_MAX_FRAMES && php->frame && !failure && !php->cut; i++)
		failure = php_frame(php);
	if (failure) {
		runtime_fail(RUNTIME_PHP, LOST_PHP, php->target_id, failure, php->looked);
		return 0;
	}
	if (!php->count)
		return 0;
	php->chain.count = php->count;
	php->chain.cut = php->cut || php->frame;
	php->chain.hash = unwind_mix(php->hash, php->chain.cut) ?: 1;
	return 0;
}

/* A string's first bytes; how many it has, 0: there is none, or php->code.unread. */
static __always_inline uint32_t php_copy_text(struct php_thread *php, uint64_t string, uint8_t *to)
{
	uint64_t length, size;

	if (!string)
		return 0;
	if (php_read(php->text, sizeof(php->text), string) || !PHP_IS_STRING(php->text[0])) {
		php->code.unread = 1;
		return 0;
	}
	length = php->text[PHP_STRING_LENGTH];
	size = length < PHP_TEXT_BYTES ? length : PHP_TEXT_BYTES;
	barrier_var(size);
	if (!size)
		return 0;
	if (size > PHP_TEXT_BYTES ||
	    bpf_probe_read_user(to, size, (const void *)(string + 8 * PHP_STRING_WORDS))) {
		php->code.unread = 1;
		return 0;
	}
	return length > 0xffffffff ? 0xffffffff : (uint32_t)length;
}

__noinline int php_copy_names(struct php_thread *php)
{
	uint64_t class[PHP_CLASS_NAME + 1] = {};

	if (!php)
		return 0;
	php->code.unread = 0;
	if (php->func[PHP_FUNC_SCOPE] && php_read(class, sizeof(class), php->func[PHP_FUNC_SCOPE]))
		php->code.unread = 1;
	php->code.function_length =
		php_copy_text(php, php->func[PHP_FUNC_NAME], php->code.function);
	php->code.class_length = php_copy_text(php, class[PHP_CLASS_NAME], php -> code.class);
	php->code.file_length = 0;
	if (php->code.kind != PHP_IS_INTERNAL)
		php->code.file_length =
			php_copy_text(php, php_body_word(php, php->row.body_file), php->code.file);
	return 0;
}

static __always_inline uint32_t php_handler(const struct php_thread *php)
{
	uint64_t handler = php->op[PHP_OP_HANDLER];

	return handler > php->row.code && handler < php->row.code_end
		       ? (uint32_t)(handler - php->row.code)
		       : 0;
}

/* All of the function's instructions, or none of them. */
__noinline int php_copy_ops(struct php_thread *php)
{
	uint64_t opcodes;
	uint32_t last, i;

	if (!php)
		return 0;
	php->code.op_count = 0;
	opcodes = php_body_word(php, php->row.body_opcodes);
	last = (uint32_t)php_body_word(php, php->row.body_last);
	if (last > PHP_MAX_OPS)
		return 0;
	for (i = 0; i < PHP_MAX_OPS && i < last; i++) {
		if (php_read(php->op, sizeof(php->op), opcodes + sizeof(php->op) * (uint64_t)i))
			return 0;
		php->code.ops[i].handler = php_handler(php);
		php->code.ops[i].line = (uint32_t)php->op[PHP_OP_LINE];
	}
	php->code.op_count = last;
	return 0;
}

static __always_inline int php_send_code(struct php_thread *php)
{
	uint64_t size = sizeof(php->code) - sizeof(php->code.ops) +
			sizeof(php->code.ops[0]) * (uint64_t)php->code.op_count;

	php->code.header.type = RUNTIME_EVENT(RUNTIME_PHP, RUNTIME_CODE);
	php->code.header.target_id = php->target_id;
	php->code.header.time_ns = bpf_ktime_get_ns();
	if (size > sizeof(php->code))
		size = sizeof(php->code);
	return bpf_ringbuf_output(&events, &php->code, size, 0) ? -1 : 0;
}

/* 0, or it could not be sent. */
__noinline int php_tell_code(struct php_thread *php, uint32_t at)
{
	struct php_code_key key = {};
	uint64_t opline;
	uint8_t value = 1;

	if (!php || at >= RUNTIME_MAX_CALLS)
		return -1;
	key.call = php->chain.calls[at];
	key.call.place &= ~PHP_ENTRY;
	key.target_id = php->target_id;
	if (bpf_map_lookup_elem(&php_codes, &key))
		return 0;
	if (php_read_function(php, key.call.code))
		return -1;
	php->code.call = key.call;
	php->code.kind = (uint8_t)php->func[PHP_FUNC_KIND];
	php->code.line = php->code.opcode = php->code.handler = php->code.op_count = 0;
	if (php->code.kind != PHP_IS_INTERNAL) {
		opline = php_body_word(php, php->row.body_opcodes) +
			 sizeof(php->op) * (uint64_t)key.call.place;
		php_stands(php, opline);
		php->code.line = (uint32_t)php->op[PHP_OP_LINE];
		php->code.opcode = php->op[PHP_OP_LINE] >> 32 & 0xff;
		php->code.handler = php_handler(php);
		php_copy_ops(php);
	}
	php_copy_names(php);
	if (php_send_code(php))
		return -1;
	/* What is on disk now may be there with the next stack. */
	if (!php->code.unread)
		bpf_map_update_elem(&php_codes, &key, &value, BPF_ANY);
	return 0;
}

__noinline int php_tell(struct php_thread *php)
{
	uint32_t i;

	if (!php)
		return -1;
	for (i = 0; i < RUNTIME_MAX_CALLS && i < php->chain.count; i++) {
		if (php_tell_code(php, i))
			return -1;
	}
	return runtime_chain_tell(&php->chain, RUNTIME_PHP, php->target_id);
}
