// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Following the chain of CPython's frames, of the thread that runs, and copying code objects while
 * they are being run: nobody can free them then.
 */
#include "bpf/runtime/python.h"
#include "bpf/runtime/runtime_chain.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/config.h"
#include "bpf/loss.h"
#include "bpf/unwind.h"
#include "bpf/unwind_host.h"

/* Of Objects/object.h, bytesobject.h and unicodeobject.h. */
#define OBJECT_TYPE   8
#define OBJECT_LENGTH 16
#define TEXT_HASH     24
#define TEXT_STATE    32
#define BYTES_DATA    32

/*
 * PyASCIIObject's bits. `interned` has two bits, or a uint16_t in some headers of 3.14 and 3.15, of
 * which never more than two are in use. The width of a string is never 0.
 */
#define TEXT_BITS(word) ((uint32_t)((word) >> 2 & 7 ? (word) : (word) >> 14))

#define TEXT_WIDTH(state)   ((state) >> 2 & 7)
#define TEXT_COMPACT(state) ((state) >> 5 & 1)
#define TEXT_ASCII(state)   ((state) >> 6 & 1)

/* Code objects are no longer than that, in units of two bytes. */
#define PLACE_MAX (1u << 27)

/* Code objects that user space has, as far as there is room. */
struct python_code_key {
	uint64_t code;
	uint32_t cookie;
	uint32_t target_id;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct python_code_key);
	__type(value, uint8_t);
	__uint(max_entries, 8192);
} python_codes SEC(".maps");

static __always_inline int python_read(void *to, uint32_t size, uint64_t address)
{
	return bpf_probe_read_user(to, size, (const void *)address);
}

/* Of the frame that was read last: 128 bytes, whatever it has. */
static __always_inline const uint8_t *frame_bytes(const struct python_thread *py)
{
	uint64_t at = py->frame_at;

	barrier_var(at);
	return py->frames +
	       (at < PYTHON_WINDOW_BYTES ? at & (PYTHON_WINDOW_BYTES - 8) : PYTHON_WINDOW_BYTES);
}

static __always_inline uint64_t frame_word(const struct python_thread *py, uint8_t at)
{
	return *(const uint64_t *)(frame_bytes(py) + (at & 0x78));
}

static __always_inline uint64_t code_word(const struct python_thread *py, uint8_t at)
{
	return *(const uint64_t *)(py->code_bytes + (at & 0xf8));
}

/*
 * Where the state of the thread is found, by its key. 0: it has none. A thread that never ran
 * Python has none, nor has any before the interpreter begins and after it was unmapped.
 */
static __always_inline uint64_t python_state_place(const struct python_row *row)
{
	uint32_t key[2] = {};

	if (python_read(key, sizeof(key), row->key) || key[0] != 1)
		return 0;
	return runtime_key_place(row->thread_data, key[1]);
}

/*
 * The thread's state; 0: none. What the thread has set for a key stays where it is, with a number
 * for its owner (`seq`). The number changes once the key has been deleted and made anew. While the
 * number is there the key is not looked at again.
 */
static __always_inline uint64_t python_state(const struct python_row *row, struct python_thread *py)
{
	uint64_t data[RUNTIME_KEY_BYTES / 8] = {};

	if (py->key_data && !python_read(data, sizeof(data), py->key_data) &&
	    data[0] == py->key_seq && data[1])
		return data[1];
	py->key_data = python_state_place(row);
	if (!py->key_data || python_read(data, sizeof(data), py->key_data)) {
		py->key_data = 0;
		return 0;
	}
	py->key_seq = data[0];
	return data[1];
}

/* The innermost one into py->frame; 0: there is none. enum python_failure. */
static __always_inline int python_first_frame(const struct python_row *row,
					      struct python_thread *py)
{
	uint64_t at = python_state(row, py);

	py->frame = 0;
	if (!at)
		return PYTHON_FOLLOWED;
	py->looked = at;
	if (python_read(&at, sizeof(at), at + row->state_frame))
		return PYTHON_NO_STATE;
	if (at && row->cframe_frame != PYTHON_NOWHERE &&
	    python_read(&at, sizeof(at), at + row->cframe_frame))
		return PYTHON_NO_STATE;
	py->frame = at;
	return PYTHON_FOLLOWED;
}

/*
 * Reads the frame at py->looked into py->frames. From 3.11 on a function's frame lies right behind
 * its caller's, in memory of the thread's own. A read of 8 bytes costs as much as one of many. So
 * the bytes in front of a frame are read with it, from its page, which is there. Frames of
 * generators and of calls from C lie elsewhere, and leave the earlier read as it is.
 */
static __always_inline int python_read_frame(const struct python_row *row, struct python_thread *py)
{
	uint64_t at = py->looked, size = row->frame_bytes & (PYTHON_FRAME_BYTES - 1);
	uint64_t offset = at - py->window, before = at & 4095;
	uint64_t from_last = py->last - at, from_window = py->window - at;

	if (offset < PYTHON_WINDOW_BYTES && offset + size <= py->window_size && !(offset & 7)) {
		py->frame_at = offset;
		py->last = at;
		return PYTHON_FOLLOWED;
	}
	if (row->place_form != PYTHON_PLACE_ADDRESS || (at & 7) ||
	    (py->last && from_last >= 4096 && from_window >= 4096)) {
		py->frame_at = PYTHON_WINDOW_BYTES;
		py->last = at;
		return python_read(py->frames + PYTHON_WINDOW_BYTES, size, at) ? PYTHON_UNREADABLE
									       : PYTHON_FOLLOWED;
	}
	if (before > PYTHON_WINDOW_BYTES - PYTHON_FRAME_BYTES)
		before = PYTHON_WINDOW_BYTES - PYTHON_FRAME_BYTES;
	size += before;
	barrier_var(size);
	if (size > PYTHON_WINDOW_BYTES || python_read(py->frames, size, at - before)) {
		py->window_size = 0;
		return PYTHON_UNREADABLE;
	}
	py->window = at - before;
	py->window_size = size;
	py->frame_at = before;
	py->last = at;
	return PYTHON_FOLLOWED;
}

/* Its code object into py->code_bytes: enum python_failure. */
static __always_inline int python_read_code(const struct python_row *row, struct python_thread *py,
					    uint64_t code)
{
	if (python_read(py->code_bytes, row->code_bytes, code))
		return PYTHON_UNREADABLE;
	return code_word(py, OBJECT_TYPE) == row->code_type ? PYTHON_FOLLOWED : PYTHON_NO_CODE;
}

/* The object and what is behind it into py->text; at the end of the memory just what it says that it has. */
static __always_inline int python_read_text(struct python_thread *py, uint64_t object,
					    uint32_t first)
{
	uint64_t size;

	if (!python_read(py->text, sizeof(py->text), object))
		return 0;
	if (python_read(py->text, OBJECT_LENGTH + 8, object))
		return -1;
	size = py->text[OBJECT_LENGTH / 8];
	size = size < sizeof(py->text) ? first + size : sizeof(py->text);
	barrier_var(size);
	if (size > sizeof(py->text))
		size = sizeof(py->text);
	return python_read(py->text, size, object);
}

/*
 * Over the length of the string or bytes object and its beginning, from byte `first` of the object
 * on. It stays in py->text. What cannot be read changes nothing.
 */
__noinline uint64_t python_mix_text(struct python_thread *py, uint64_t hash, uint64_t object,
				    uint32_t first)
{
	uint64_t word, left;
	uint32_t i;

	if (!py || python_read_text(py, object, first))
		return hash;
	left = py->text[OBJECT_LENGTH / 8];
	hash = unwind_mix(hash, left);
	for (i = first / 8; i < PYTHON_TEXT_WORDS && left; i++) {
		word = py->text[i];
		if (left < 8) {
			word &= (1ull << 8 * left) - 1;
			left = 8;
		}
		hash = unwind_mix(hash, word);
		left -= 8;
	}
	return hash;
}

/*
 * The same of the name of a code object's file, which most functions of a stack have in common. If
 * that name begins with `<`, of its table of lines as well. Neither is freed while they are being
 * run.
 */
static __always_inline uint64_t python_mix_file(const struct python_row *row,
						struct python_thread *py)
{
	uint64_t file = code_word(py, row->code_file);
	struct python_known_text *known = &py->files[file >> 4 & (PYTHON_KNOWN_FILES - 1)];

	if (known->walk != py->walk || known->object != file) {
		py->text[row->text_ascii >> 3 & 7] = 0;
		known->hash = python_mix_text(py, 0, file, row->text_ascii);
		known->is_made = (uint8_t)py->text[row->text_ascii >> 3 & 7] == '<';
		known->object = file;
		known->walk = py->walk;
	}
	return known->is_made ? python_mix_text(py, known->hash, code_word(py, row->code_table),
						BYTES_DATA)
			      : known->hash;
}

/*
 * What tells the code object from another one at the same address later. A name's hash is one of
 * its characters. The other objects are its own. It has some length (before 3.11 that of an object
 * with its instructions). From 3.12 on it has a number, and needs no name. Before, code that was
 * made from a text ("<string>", "<ipython-input-3>") may be like the code before it in all of that.
 */
static __always_inline uint32_t python_cookie(const struct python_row *row,
					      struct python_thread *py)
{
	uint64_t hash = 0, length = code_word(py, OBJECT_LENGTH), version = 0;

	if (row->code_version)
		version = *(const uint32_t *)(py->code_bytes + (row->code_version & 0xfc));
	/* 0: there are no more numbers. */
	if (!version)
		python_read(&hash, sizeof(hash), code_word(py, row->code_name) + TEXT_HASH);
	if (row->code_bytecode)
		python_read(&length, sizeof(length),
			    code_word(py, row->code_bytecode) + OBJECT_LENGTH);
	hash = unwind_mix(hash, *(const uint32_t *)(py->code_bytes + (row->code_line & 0xfc)));
	hash = unwind_mix(hash, code_word(py, row->code_file));
	hash = unwind_mix(hash, code_word(py, row->code_table));
	hash = unwind_mix(hash, length);
	return (uint32_t)unwind_mix(hash, version ?: python_mix_file(row, py));
}

/* Which instruction it is at, + 1: the one before the first has not begun. */
static __always_inline uint64_t python_place(const struct python_row *row,
					     const struct python_thread *py, uint64_t code)
{
	uint64_t word = frame_word(py, row->frame_place);

	if (row->place_form == PYTHON_PLACE_UNITS)
		return (uint32_t)word + 1u;
	if (row->place_form == PYTHON_PLACE_BYTES)
		return ((uint32_t)word + 2u) / 2;
	return (word + 2 - code - row->code_first) / 2;
}

/* Nothing is known of any code object from now on. */
static __always_inline void python_forget_codes(struct python_thread *py)
{
	uint32_t i;

	if (++py->stamp)
		return;
	py->stamp = 1;
	for (i = 0; i < PYTHON_KNOWN_CODES; i++)
		py->codes[i].stamp = 0;
}

/* The thread that probes hang on has ended, which user space may have yet to see. A function of its own, for its stack. */
__noinline int python_misses_ends(uint32_t target_id)
{
	const struct target_stats *stats = target_stats_of(target_id);

	return !stats || *(volatile const uint64_t *)&stats->anchor_ended;
}

/*
 * Nobody frees a code object that is being run: a walk that has come through a function reads no more of it. Nor does a later one, where we
 * are told of all that are freed, as long as none has been since.
 */
static __always_inline void python_renew_codes(const struct python_row *row,
					       struct python_thread *py)
{
	bool told = row->tells_code_ends && !python_misses_ends(py->target_id);
	uint64_t ends = *(volatile uint64_t *)&shared.code_ends;

	if (told && py->code_ends == ends && py->stamp)
		return;
	py->code_ends = ends;
	python_forget_codes(py);
}

static __always_inline bool python_knows(struct python_thread *py,
					 const struct python_known_code *known, uint64_t code)
{
	if (known->stamp != py->stamp ||
	    known->code << (64 - PYTHON_CODE_BITS) != code << (64 - PYTHON_CODE_BITS))
		return false;
	py->cookie = known->cookie;
	py->traceable = known->code >> PYTHON_CODE_BITS;
	return true;
}

/* What there is to know of a code object into py->cookie and py->traceable: enum python_failure. */
static __always_inline int python_know_code(const struct python_row *row, struct python_thread *py,
					    uint64_t code)
{
	uint64_t at = code * 0x9e3779b97f4a7c15ull >> 56;
	struct python_known_code *set = &py->codes[at & (PYTHON_KNOWN_CODES - 2)];
	int failure;

	if (!(code >> PYTHON_CODE_BITS) &&
	    (python_knows(py, set, code) || python_knows(py, set + 1, code)))
		return PYTHON_FOLLOWED;
	failure = python_read_code(row, py, code);
	if (failure)
		return failure;
	py->cookie = python_cookie(row, py);
	py->traceable = row->code_traceable
				? *(const uint32_t *)(py->code_bytes + (row->code_traceable & 0xfc))
				: 0;
	if (code >> PYTHON_CODE_BITS || py->traceable >> (64 - PYTHON_CODE_BITS))
		return PYTHON_FOLLOWED;
	/* Of three in a set two stay, whichever way the walks go. */
	if (set->stamp == py->stamp && (set[1].stamp != py->stamp || py->walk & 1))
		set++;
	set->code = code | (uint64_t)py->traceable << PYTHON_CODE_BITS;
	set->stamp = py->stamp;
	set->cookie = py->cookie;
	return PYTHON_FOLLOWED;
}

/* The frame at py->frame: enters it, and goes on to its caller. enum python_failure. */
__noinline int python_frame(const struct python_row *row, struct python_thread *py)
{
	uint32_t at, entry;
	uint64_t place;
	uint8_t owner;
	int failure;

	if (!row || !py)
		return PYTHON_UNREADABLE;
	py->looked = py->frame;
	failure = python_read_frame(row, py);
	if (failure)
		return failure;
	py->frame = frame_word(py, row->frame_back);
	owner = frame_bytes(py)[row->frame_owner & (PYTHON_FRAME_BYTES - 1)];
	entry = owner >= row->owner_first && owner <= row->owner_last ? PYTHON_ENTRY : 0;
	at = py->count;
	if (entry && row->owner_bare) {
		/* Of the function before it; or the last one there has just returned. */
		if (at && at <= RUNTIME_MAX_CALLS &&
		    !(py->chain.calls[at - 1].place & PYTHON_ENTRY)) {
			py->chain.calls[at - 1].place |= PYTHON_ENTRY;
			py->hash = unwind_mix(py->hash, PYTHON_ENTRY);
			return PYTHON_FOLLOWED;
		}
	}
	if (at >= RUNTIME_MAX_CALLS) {
		py->cut = 1;
		return PYTHON_FOLLOWED;
	}
	if (entry && row->owner_bare) {
		py->count = at + 1;
		py->chain.calls[at].code = 0;
		py->chain.calls[at].cookie = 0;
		py->chain.calls[at].place = entry;
		py->hash = unwind_mix(py->hash, entry);
		return PYTHON_FOLLOWED;
	}
	py->chain.calls[at].code = frame_word(py, row->frame_code) & ~7ull;
	failure = python_know_code(row, py, py->chain.calls[at].code);
	if (failure)
		return failure;
	place = python_place(row, py, py->chain.calls[at].code);
	if (place >= PLACE_MAX)
		return PYTHON_ELSEWHERE;
	if (row->code_traceable && owner != row->owner_generator && place <= py->traceable) {
		/* Neither does Python show it: _PyFrame_IsIncomplete(). */
		return PYTHON_FOLLOWED;
	}
	runtime_chain_add(&py->chain, &py->count, &py->hash, py->chain.calls[at].code, py->cookie,
			  (uint32_t)place | entry);
	return PYTHON_FOLLOWED;
}

static __always_inline void python_fail(struct python_thread *py, int failure)
{
	struct runtime_failed_event event = {.failure = failure, .number = py->count + 1};
	struct target_stats *stats = target_stats_of(py->target_id);

	if (!stats || __sync_fetch_and_add(&stats->lost[LOST_PYTHON], 1))
		return;
	event.header.type = RUNTIME_EVENT(RUNTIME_PYTHON, RUNTIME_FAILED);
	event.header.target_id = py->target_id;
	event.header.time_ns = bpf_ktime_get_ns();
	event.address = py->looked;
	bpf_ringbuf_output(&events, &event, sizeof(event), 0);
}

__noinline int python_follow(const struct python_row *row, struct python_thread *py)
{
	uint32_t i;
	int failure;

	if (!row || !py)
		return 0;
	py->walk++;
	python_renew_codes(row, py);
	py->chain.hash = 0;
	py->count = 0;
	py->cut = 0;
	py->hash = 0;
	py->window_size = 0;
	py->window = 0;
	py->last = 0;
	failure = python_first_frame(row, py);
	if (!failure && !py->frame)
		return 0;
	/* The last turn is for what stands before the last function. */
	for (i = 0; i <= RUNTIME_MAX_CALLS && py->frame && !failure; i++)
		failure = python_frame(row, py);
	if (failure) {
		/* The interpreter may have been unmapped since, which makes no thread forget what it has set. */
		if (python_state_place(row) == py->key_data)
			python_fail(py, failure);
		py->key_data = 0;
		return 0;
	}
	py->chain.count = py->count;
	py->chain.cut = py->cut || py->frame;
	py->chain.hash = unwind_mix(py->hash, py->chain.cut) ?: 1;
	return 0;
}

/* A string's first characters. */
__noinline int python_copy_text(const struct python_row *row, struct runtime_text *to,
				uint64_t object)
{
	uint64_t head[5] = {}, size;
	uint32_t state, width;

	if (!row || !to)
		return 0;
	to->length = to->width = 0;
	if (python_read(head, sizeof(head), object) || head[OBJECT_TYPE / 8] != row->text_type)
		return 0;
	state = TEXT_BITS((uint32_t)head[TEXT_STATE / 8]);
	width = TEXT_WIDTH(state);
	if (!TEXT_COMPACT(state) || !width || width > 4)
		return 0;
	size = head[OBJECT_LENGTH / 8] * width;
	if (head[OBJECT_LENGTH / 8] > RUNTIME_TEXT_BYTES || size > RUNTIME_TEXT_BYTES)
		size = RUNTIME_TEXT_BYTES;
	/* For the verifier, which loses count. */
	barrier_var(size);
	if (size > RUNTIME_TEXT_BYTES)
		return 0;
	object += TEXT_ASCII(state) ? row->text_ascii : row->text_other;
	if (bpf_probe_read_user(to->bytes, size, (const void *)object))
		return 0;
	to->length = head[OBJECT_LENGTH / 8] > 0xffffffff ? 0xffffffff : head[OBJECT_LENGTH / 8];
	to->width = width;
	return 0;
}

/* The table of lines. */
static __always_inline void python_copy_table(const struct python_row *row,
					      struct python_thread *py, uint64_t object)
{
	uint64_t head[3] = {}, size;

	py->code.table_size = 0;
	py->code.table_state = PYTHON_TABLE_UNREAD;
	if (python_read(head, sizeof(head), object) || head[OBJECT_TYPE / 8] != row->bytes_type)
		return;
	size = head[OBJECT_LENGTH / 8];
	if (size > PYTHON_TABLE_BYTES)
		size = PYTHON_TABLE_BYTES;
	barrier_var(size);
	if (size > PYTHON_TABLE_BYTES ||
	    bpf_probe_read_user(py->code.table, size, (const void *)(object + BYTES_DATA)))
		return;
	py->code.table_size = size;
	py->code.table_state =
		head[OBJECT_LENGTH / 8] > size ? PYTHON_TABLE_CUT : PYTHON_TABLE_WHOLE;
}

/* 0, or it could not be sent. */
__noinline int python_tell_code(const struct python_row *row, struct python_thread *py, uint32_t at)
{
	struct python_code_key key = {};
	uint8_t value = 1;
	uint64_t size;

	if (!row || !py || at >= RUNTIME_MAX_CALLS)
		return -1;
	key.code = py->chain.calls[at].code;
	key.cookie = py->chain.calls[at].cookie;
	key.target_id = py->target_id;
	if (!key.code || bpf_map_lookup_elem(&python_codes, &key))
		return 0;
	if (python_read_code(row, py, key.code))
		return -1;
	py->code.header.type = RUNTIME_EVENT(RUNTIME_PYTHON, RUNTIME_CODE);
	py->code.header.target_id = py->target_id;
	py->code.header.time_ns = bpf_ktime_get_ns();
	py->code.code = key.code;
	py->code.cookie = key.cookie;
	py->code.first_line = *(const int32_t *)(py->code_bytes + (row->code_line & 0xfc));
	python_copy_text(row, &py->code.function, code_word(py, row->code_qualname));
	python_copy_text(row, &py->code.file, code_word(py, row->code_file));
	python_copy_table(row, py, code_word(py, row->code_table));
	size = sizeof(py->code) - PYTHON_TABLE_BYTES + py->code.table_size;
	barrier_var(size);
	if (size > sizeof(py->code) || bpf_ringbuf_output(&events, &py->code, size, 0))
		return -1;
	/* What is on disk now may be there with the next stack. */
	if (py->code.function.width && py->code.file.width && py->code.table_state)
		bpf_map_update_elem(&python_codes, &key, &value, BPF_ANY);
	return 0;
}

__noinline int python_tell(const struct python_row *row, struct python_thread *py)
{
	uint32_t i;

	if (!row || !py)
		return -1;
	for (i = 0; i < RUNTIME_MAX_CALLS && i < py->chain.count; i++) {
		if (python_tell_code(row, py, i))
			return -1;
	}
	return runtime_chain_tell(&py->chain, RUNTIME_PYTHON, py->target_id);
}
