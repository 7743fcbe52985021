// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Follows Perl's contexts, which lie one behind the other. There is a stack of them for each time
 * that C has called Perl by itself (sort, tie, a signal). Copies their names while they run, when
 * nobody can free them. The result is what caller() says.
 */
#include "bpf/runtime/perl.h"
#include "bpf/runtime/runtime_chain.h"

#include <bpf/bpf_helpers.h>

#include "bpf/loss.h"
#include "bpf/unwind_host.h"

/* Blocks and loops have contexts as well. */
#define PERL_MAX_STEPS 512

/* What has been sent, as far as there is room. */
struct perl_code_key {
	struct runtime_call call;
	uint64_t target_id;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct perl_code_key);
	__type(value, uint8_t);
	__uint(max_entries, 16384);
} perl_codes SEC(".maps");

static __always_inline int perl_read(void *to, uint32_t size, uint64_t address)
{
	return bpf_probe_read_user(to, size, (const void *)address);
}

/* The thread's interpreter; 0: it has none. */
static __always_inline uint64_t perl_interpreter(const struct perl_thread *perl)
{
	uint64_t place, data[2] = {};
	uint32_t key = 0;

	if (perl_read(&key, sizeof(key), perl->row.key))
		return 0;
	place = runtime_key_place(perl->row.thread_data, key);
	return !place || perl_read(data, sizeof(data), place) ? 0 : data[1];
}

/* The next stack of contexts, the one at hand if there is none yet. enum perl_failure. */
static __always_inline int perl_begin_info(struct perl_thread *perl, uint64_t info)
{
	uint64_t words[PERL_INFO_WORDS] = {};

	perl->looked = info;
	if (perl_read(words, sizeof(words), info))
		return PERL_UNREADABLE;
	perl->contexts = words[PERL_INFO_CONTEXTS];
	perl->index = (int32_t)words[PERL_INFO_INDEX];
	perl->prev = words[PERL_INFO_TYPE] >> 32 == PERL_INFO_MAIN ? 0 : words[PERL_INFO_PREV];
	return PERL_FOLLOWED;
}

/* What a value is: its type, 0: it cannot be read. */
static __always_inline uint32_t perl_value(uint64_t value, uint64_t *body)
{
	uint64_t words[2] = {};

	if (perl_read(words, sizeof(words), value))
		return 0;
	*body = words[0];
	return (uint32_t)PERL_TYPE(words[1]);
}

/* By what a subroutine is called, as cv_name() has it: perl->name and perl->stash. enum perl_failure. */
static __always_inline int perl_find_name(struct perl_thread *perl, uint64_t cv)
{
	uint64_t body = 0, flags;
	uint32_t type = perl_value(cv, &body);

	perl->name = perl->stash = 0;
	if (!type)
		return PERL_UNREADABLE;
	if (type != PERL_TYPE_CODE && type != PERL_TYPE_FORM)
		return PERL_NO_CODE;
	if (perl_read(perl->body, sizeof(perl->body), body))
		return PERL_UNREADABLE;
	flags = perl->body[PERL_CODE_FLAGS] >> 32;
	if (flags & PERL_CODE_NAMED) {
		perl->name = perl->body[PERL_CODE_GLOB];
		perl->stash = flags & PERL_CODE_LEXICAL ? 0 : perl->body[PERL_CODE_STASH];
		return PERL_FOLLOWED;
	}
	if (!perl->body[PERL_CODE_GLOB])
		return PERL_FOLLOWED;
	type = perl_value(perl->body[PERL_CODE_GLOB], &body);
	if (type != PERL_TYPE_GLOB)
		return type ? PERL_NO_NAME : PERL_UNREADABLE;
	if (perl_read(perl->body, 8 * (PERL_GLOB_STASH + 1), body))
		return PERL_UNREADABLE;
	perl->name = perl->body[PERL_GLOB_NAME];
	perl->stash = perl->body[PERL_GLOB_STASH];
	return PERL_FOLLOWED;
}

/* By what a package is called, perl->stash: a HEK; 0: by nothing, or perl->code.unread. perl->body is not kept. */
static __always_inline uint64_t perl_package(struct perl_thread *perl)
{
	uint64_t body = 0, name = 0;
	int32_t count;

	if (!perl->stash)
		return 0;
	if (perl_value(perl->stash, &body) != PERL_TYPE_HASH ||
	    perl_read(perl->body, 8 * PERL_STASH_WORDS, body + perl->row.stash_names)) {
		perl->code.unread = 1;
		return 0;
	}
	count = (int32_t)(perl->body[PERL_STASH_COUNT] >> 32);
	name = perl->body[PERL_STASH_NAME];
	if (!count || count == -1 || !name)
		return count ? 0 : name;
	if (perl_read(&name, sizeof(name), name + (count < 0 ? 8 : 0))) {
		perl->code.unread = 1;
		return 0;
	}
	return name;
}

/* The statement's file into perl->text, zeros behind it: how long it is; 0: it has none; below 0: it cannot be read. */
static __always_inline long perl_read_file(struct perl_thread *perl)
{
	uint64_t file = perl->at[PERL_COP_FILE];

	__builtin_memset(perl->text, 0, sizeof(perl->text));
	return file ? bpf_probe_read_user_str(perl->text, sizeof(perl->text), (const void *)file)
		    : 0;
}

/* Over where it stands: perl->at; that its file is another one is seen by where that is and how it begins. enum perl_failure. */
static __always_inline int perl_mix_place(struct perl_thread *perl, uint64_t *hash)
{
	long length;
	uint32_t i;

	if (perl_read(perl->at, sizeof(perl->at), perl->cop + 32))
		return PERL_UNREADABLE;
	length = perl_read_file(perl);
	if (length < 0)
		return PERL_UNREADABLE;
	*hash = unwind_mix(*hash, (uint64_t)length);
	/* Left where the text ends: old kernels' verifier goes on for each length that there may be. */
	for (i = 0; i < PERL_TEXT_BYTES / 8; i++) {
		if (8 * (long)i >= length)
			break;
		*hash = unwind_mix(*hash, perl->text[i]);
	}
	return PERL_FOLLOWED;
}

/* Enters what runs there, at perl->cop. `cv`: a CV, or what stands in its place. enum perl_failure. */
static __always_inline int perl_enter(struct perl_thread *perl, uint64_t cv, uint32_t entry)
{
	uint32_t at = perl->count, place;
	uint64_t code = cv, name = 0, package, hash;
	int failure;

	if (cv > PERL_LEFT) {
		failure = perl_find_name(perl, cv);
		if (failure)
			return failure;
		/* A name's hash and its length. Not which CV it is: each time that a closure is made it is another one. */
		if (perl->name && perl_read(&name, sizeof(name), perl->name))
			return PERL_UNREADABLE;
		/* The package's likewise: another one may come to lie where one was. What cannot be read has no name then. */
		package = perl_package(perl);
		if (package && perl_read(&package, sizeof(package), package))
			package = 0;
		code = unwind_mix(name, package) | PERL_NAMED;
	}
	hash = code;
	failure = perl_mix_place(perl, &hash);
	if (failure)
		return failure;
	if (at >= RUNTIME_MAX_CALLS) {
		perl->cut = 1;
		return PERL_FOLLOWED;
	}
	place = (uint32_t)(perl->at[PERL_COP_LINE] >> 32) & ~PERL_ENTRY;
	/*
	 * A file that is being compiled (PL_compiling lies in the interpreter): how far that has come would be another stack for each
	 * of its lines. lintian has 508,000 stacks so, and more than a million with them.
	 */
	if (!at && perl->cop - perl->interpreter < perl->row.bytes)
		place = 0;
	place |= entry;
	perl->cops[at] = perl->cop;
	perl->cvs[at] = cv;
	runtime_chain_add(&perl->chain, &perl->count, &perl->hash, code, (uint32_t)hash, place);
	return PERL_FOLLOWED;
}

/* The context at hand, and on to the one around it. enum perl_failure. */
static __always_inline int perl_context(struct perl_thread *perl)
{
	uint64_t cv = PERL_EVAL, kind;
	int failure;

	perl->looked = perl->contexts + PERL_CONTEXT_BYTES * (uint64_t)perl->index;
	if (perl_read(perl->words, sizeof(perl->words), perl->looked))
		return PERL_UNREADABLE;
	perl->index--;
	kind = PERL_KIND(perl->words[0]);
	if (kind < PERL_KIND_SUB || kind > PERL_KIND_EVAL ||
	    (kind != PERL_KIND_FORMAT && PERL_IS_FAKE(perl->words[0])))
		return PERL_FOLLOWED;
	if (kind != PERL_KIND_EVAL)
		cv = perl->words[PERL_CONTEXT_CV] ?: PERL_LEFT;
	if (kind != PERL_KIND_EVAL && cv < PERL_LEFT)
		return PERL_NO_CODE;
	failure = perl_enter(perl, cv, perl->words[PERL_CONTEXT_RETURN] ? 0 : PERL_ENTRY);
	perl->cop = perl->words[PERL_CONTEXT_COP];
	return failure;
}

/* -1: there are no more. Else enum perl_failure. */
__noinline int perl_step(struct perl_thread *perl)
{
	uint64_t prev;

	if (!perl)
		return PERL_UNREADABLE;
	if (perl->index >= 0)
		return perl_context(perl);
	prev = perl->prev;
	if (prev)
		return perl_begin_info(perl, prev);
	return perl_enter(perl, PERL_MAIN, PERL_ENTRY) ?: -1;
}

__noinline int perl_follow(struct perl_thread *perl)
{
	uint64_t info = 0;
	uint32_t i;
	int failure = PERL_FOLLOWED;

	if (!perl)
		return 0;
	perl->chain.hash = 0;
	perl->count = 0;
	perl->cut = 0;
	perl->hash = 0;
	perl->cop = 0;
	perl->interpreter = perl_interpreter(perl);
	if (!perl->interpreter)
		return 0;
	perl->looked = perl->interpreter;
	if (perl_read(&perl->cop, sizeof(perl->cop), perl->interpreter + perl->row.cop) ||
	    perl_read(&info, sizeof(info), perl->interpreter + perl->row.info))
		failure = PERL_UNREADABLE;
	else if (!perl->cop || !info)
		return 0; /* it is being made, or taken down */
	else
		failure = perl_begin_info(perl, info);
	for (i = 0; i < PERL_MAX_STEPS && !failure && !perl->cut; i++)
		failure = perl_step(perl);
	/* Stacks without contexts, one in front of the other for ever. */
	if (!failure && !perl->count)
		failure = PERL_UNREADABLE;
	if (failure > 0) {
		runtime_fail(RUNTIME_PERL, LOST_PERL, perl->target_id, failure, perl->looked);
		return 0;
	}
	perl->cut |= !failure;
	if (!perl->count)
		return 0;
	perl->chain.count = perl->count;
	perl->chain.cut = perl->cut;
	perl->chain.hash = unwind_mix(perl->hash, perl->chain.cut) ?: 1;
	return 0;
}

/* A name's first bytes; how many it has, 0: there is none, or perl->code.unread. */
static __always_inline uint32_t perl_copy_name(struct perl_thread *perl, uint64_t name, uint8_t *to)
{
	uint32_t hek[2] = {}, size;

	if (!name)
		return 0;
	if (perl_read(hek, sizeof(hek), name) || hek[1] >> 31) {
		perl->code.unread = 1;
		return 0;
	}
	size = hek[1] < PERL_TEXT_BYTES ? hek[1] : PERL_TEXT_BYTES;
	barrier_var(size);
	if (!size)
		return 0;
	if (size > PERL_TEXT_BYTES || perl_read(to, size, name + sizeof(hek))) {
		perl->code.unread = 1;
		return 0;
	}
	return hek[1];
}

__noinline int perl_copy_texts(struct perl_thread *perl)
{
	long length;

	if (!perl)
		return 0;
	perl->code.unread = 0;
	perl->code.function_length = perl->code.package_length = perl->code.file_length = 0;
	if (perl->cv > PERL_LEFT) {
		if (perl_find_name(perl, perl->cv))
			perl->code.unread = 1;
		perl->code.function_length = perl_copy_name(perl, perl->name, perl->code.function);
		perl->code.package_length =
			perl_copy_name(perl, perl_package(perl), perl->code.package);
	}
	length = perl_read_file(perl);
	if (length < 0)
		perl->code.unread = 1;
	if (length <= 0)
		return 0;
	__builtin_memcpy(perl->code.file, perl->text, sizeof(perl->text));
	/* With its end; one that is cut has that in place of its last character. */
	perl->code.file_length = (uint32_t)length - 1;
	return 0;
}

/* 0, or it could not be sent. */
__noinline int perl_tell_code(struct perl_thread *perl, uint32_t at)
{
	struct perl_code_key key = {};
	uint8_t value = 1;

	if (!perl || at >= RUNTIME_MAX_CALLS)
		return -1;
	key.call = perl->chain.calls[at];
	key.call.place &= ~PERL_ENTRY;
	key.target_id = perl->target_id;
	if (bpf_map_lookup_elem(&perl_codes, &key))
		return 0;
	if (perl_read(perl->at, sizeof(perl->at), perl->cops[at] + 32))
		return -1;
	perl->code.call = key.call;
	perl->cv = perl->cvs[at];
	perl_copy_texts(perl);
	perl->code.header.type = RUNTIME_EVENT(RUNTIME_PERL, RUNTIME_CODE);
	perl->code.header.target_id = perl->target_id;
	perl->code.header.time_ns = bpf_ktime_get_ns();
	if (bpf_ringbuf_output(&events, &perl->code, sizeof(perl->code), 0))
		return -1;
	/* What is on disk now may be there with the next stack. */
	if (!perl->code.unread)
		bpf_map_update_elem(&perl_codes, &key, &value, BPF_ANY);
	return 0;
}

__noinline int perl_tell(struct perl_thread *perl)
{
	uint32_t i;

	if (!perl)
		return -1;
	for (i = 0; i < RUNTIME_MAX_CALLS && i < perl->chain.count; i++) {
		if (perl_tell_code(perl, i))
			return -1;
	}
	return runtime_chain_tell(&perl->chain, RUNTIME_PERL, perl->target_id);
}
