// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Finds out what a frame of the JVM is. The table of the heap of code says how large compiled code
 * is. An interpreter's frame says which method it runs. User space reads the names
 * (user/runtime/java/java_names.c).
 */
#include "bpf/runtime/java.h"

#include <bpf/bpf_helpers.h>

#include "bpf/loss.h"
#include "bpf/runtime/runtime_chain.h"
#include "bpf/unwind_host.h"

/* HotSpot's own searches take so many steps at the most: one leads 254 segments back, and pieces of code are cut into few. */
#define SEGMENT_STEPS 48
#define SEGMENT_FREE  0xff

/* No frame is larger. */
#define FRAME_MAX_WORDS (1u << 16)

/* CodeBlob::_name begins so; little-endian. */
#define NAME_NMETHOD	 0x00646f6874656d6eull /* "nmethod" */
#define NAME_NATIVE	 0x6e2065766974616eull /* "native n" */
#define NAME_INTERPRETER 0x6572707265746e49ull /* "Interpre" */

static __always_inline int java_read(void *to, uint32_t size, uint64_t address)
{
	return bpf_probe_read_user(to, size, (const void *)address);
}

static __always_inline uint64_t blob_word(const struct hotspot_thread *java, uint16_t at)
{
	return *(const uint64_t *)((const uint8_t *)java->blob + (at & 0x1f8));
}

static __always_inline uint32_t blob_half(const struct hotspot_thread *java, uint16_t at)
{
	return *(const uint32_t *)((const uint8_t *)java->blob + (at & 0x1fc));
}

static __always_inline uint16_t const_half(const struct hotspot_thread *java, uint16_t at)
{
	return *(const uint16_t *)((const uint8_t *)java->const_method + (at & 0x3e));
}

static __always_inline void java_fail(struct hotspot_thread *java, uint32_t failure,
				      uint64_t address)
{
	if (java->failure)
		return;
	java->failure = failure;
	java->failed_at = address;
}

static __always_inline void java_enter(struct hotspot_thread *java, uint64_t code, uint32_t cookie,
				       uint32_t place)
{
	runtime_chain_add(&java->chain, &java->count, &java->hash, code, cookie, place);
}

/* The heap that it lies in; NULL: none. */
static __always_inline const struct hotspot_heap *java_heap(const struct hotspot_row *row,
							    uint64_t pc)
{
	uint32_t i;

	for (i = 0; i < HOTSPOT_HEAPS; i++) {
		if (pc >= row->heaps[i].start && pc < row->heaps[i].end)
			return &row->heaps[i];
	}
	return NULL;
}

static __always_inline bool java_read_heap(struct hotspot_thread *java, struct hotspot_heap *to,
					   uint64_t heap)
{
	const struct hotspot_row *row = &java->row;
	uint32_t shift = 0;

	if (java_read(&to->start, sizeof(to->start), heap + row->heap_low) ||
	    java_read(&to->end, sizeof(to->end), heap + row->heap_high) ||
	    java_read(&to->segments, sizeof(to->segments), heap + row->heap_segments) ||
	    java_read(&shift, sizeof(shift), heap + row->heap_shift))
		return false;
	java->row.segment_shift = (uint8_t)shift;
	return to->start && to->start < to->end && to->end - to->start <= HOTSPOT_HEAP_MAX &&
	       shift >= HOTSPOT_SHIFT_MIN && shift <= HOTSPOT_SHIFT_MAX;
}

/* One of `length` heaps, or no more of them: true. `data`: where a list of several has them; 0: `list` is the only one. */
static __always_inline bool java_find_heap(struct hotspot_thread *java, uint32_t i, uint32_t length,
					   uint64_t list, uint64_t data)
{
	uint64_t heap = list;

	if (i >= length)
		return true;
	if (data && java_read(&heap, sizeof(heap), data + 8 * (uint64_t)i))
		return false;
	return heap && java_read_heap(java, &java->row.heaps[i], heap);
}

/*
 * As hotspot_row_read() (user/runtime/java/hotspot_layout.c), which enters them soon. Without a loop: 6.1 refuses one whose way back
 * is no jump, which is how the compiler would lay it out.
 */
__noinline int hotspot_find_heaps(struct hotspot_thread *java)
{
	uint64_t list = 0, data = 0;
	uint32_t length = 1;

	_Static_assert(HOTSPOT_HEAPS == 4, "each is asked for below");
	if (!java || java_read(&list, sizeof(list), java->row.heaps_at) || !list)
		return 0;
	if (java->row.list_length != HOTSPOT_NO_LIST &&
	    (java_read(&length, sizeof(length), list + java->row.list_length) ||
	     java_read(&data, sizeof(data), list + java->row.list_data) || !data || !length ||
	     length > HOTSPOT_HEAPS))
		return 0;
	if (!java_find_heap(java, 0, length, list, data) ||
	    !java_find_heap(java, 1, length, list, data) ||
	    !java_find_heap(java, 2, length, list, data) ||
	    !java_find_heap(java, 3, length, list, data))
		__builtin_memset(java->row.heaps, 0, sizeof(java->row.heaps));
	return 0;
}

/* Where the piece of code begins that it lies in, its header into java->blob; 0: it is in none. */
__noinline uint64_t hotspot_find_blob(struct hotspot_thread *java, uint64_t pc)
{
	const struct hotspot_heap *heap;
	uint64_t segment, blob;
	uint32_t i, size;
	uint8_t back = 0;

	if (!java)
		return 0;
	heap = java_heap(&java->row, pc);
	if (!heap)
		return 0;
	segment = (pc - heap->start) >> (java->row.segment_shift & 31);
	for (i = 0; i < SEGMENT_STEPS; i++) {
		if (java_read(&back, sizeof(back), heap->segments + segment))
			return 0;
		if (!back || back == SEGMENT_FREE || back > segment)
			break;
		segment -= back;
	}
	if (back)
		return 0;
	blob = heap->start + (segment << (java->row.segment_shift & 31)) + java->row.block_header;
	size = java->row.blob_bytes;
	barrier_var(size);
	if (size > HOTSPOT_BLOB_BYTES)
		size = HOTSPOT_BLOB_BYTES;
	return java_read(java->blob, size, blob) ? 0 : blob;
}

/* The class's name, zeros behind it. */
static __always_inline int java_read_class(struct hotspot_thread *java, uint64_t pool)
{
	const struct hotspot_row *row = &java->row;
	uint64_t at = 0;
	uint16_t length = 0;

	__builtin_memset(java->name, 0, sizeof(java->name));
	if (java_read(&at, sizeof(at), pool + row->pool_holder) ||
	    java_read(&at, sizeof(at), at + row->klass_name) ||
	    java_read(&length, sizeof(length), at + row->symbol_length))
		return -1;
	if (length > sizeof(java->name))
		length = sizeof(java->name);
	return java_read(java->name, length, at + row->symbol_body);
}

/* Which method an interpreted frame is of. Entered as unknown, and a failure, where its words are none of a frame's. */
__noinline int hotspot_interpreted(struct hotspot_thread *java, uint64_t fp)
{
	uint64_t method, at = 0, pool, place;
	uint32_t size;
	int failure = HOTSPOT_UNREADABLE;

	if (!java)
		return 0;
	size = java->row.const_bytes;
	barrier_var(size);
	if (size > HOTSPOT_CONST_BYTES)
		size = HOTSPOT_CONST_BYTES;
	if (java_read(java->words, sizeof(java->words), fp - sizeof(java->words)))
		goto failed;
	method = java->words[HOTSPOT_METHOD_WORD];
	if (java_read(&at, sizeof(at), method + java->row.method_const) ||
	    java_read(java->const_method, size, at))
		goto failed;
	pool = *(const uint64_t *)((const uint8_t *)java->const_method +
				   (java->row.const_pool & 0x38));
	if (java_read_class(java, pool))
		goto failed;
	place = java->words[java->row.bcp_word & 7] - at - java->row.const_bytes;
	failure = HOTSPOT_ELSEWHERE;
	if (!const_half(java, java->row.const_code_size))
		place = HOTSPOT_NATIVE;
	else if (place >= const_half(java, java->row.const_code_size)) {
		/* 8 has the code that replaces it there while it makes that frame: a method, and no line. */
		if (!java_heap(&java->row, java->words[java->row.bcp_word & 7]))
			goto failed;
		place = HOTSPOT_NATIVE;
	}
	java_enter(java, method,
		   hotspot_cookie(pool, const_half(java, java->row.const_code_size),
				  const_half(java, java->row.const_name),
				  const_half(java, java->row.const_signature),
				  const_half(java, java->row.const_whole), java->name),
		   (uint32_t)place);
	return 0;
failed:
	java_fail(java, failure, fp);
	java_enter(java, 0, 0, 0);
	return 0;
}

__noinline int hotspot_look(const struct unwind_state *state)
{
	struct hotspot_thread *java;
	uint64_t pc, blob, name = 0;
	uint32_t words;

	if (!state || !config.task_storage)
		return UNWIND_FRAME_OTHER;
	java = bpf_task_storage_get(&hotspot_threads, bpf_get_current_task_btf(), NULL, 0);
	pc = state->regs.pc;
	if (!java || !java_heap(&java->row, pc))
		return UNWIND_FRAME_OTHER;
	if (pc - java->row.interpreter < java->row.interpreter_end - java->row.interpreter)
		goto interpreted;
	blob = hotspot_find_blob(java, pc);
	if (!blob || java_read(&name, sizeof(name), blob_word(java, java->row.blob_name))) {
		java_fail(java, HOTSPOT_NO_BLOB, pc);
		java_enter(java, 0, 0, 0);
		return UNWIND_FRAME_LOST;
	}
	if (name == NAME_INTERPRETER)
		goto interpreted;
	java_enter(java, blob,
		   name == NAME_NMETHOD || name == NAME_NATIVE
			   ? blob_half(java, java->row.compile_id)
			   : 0,
		   ((uint32_t)(pc - blob) & ~HOTSPOT_COMPILED) | HOTSPOT_COMPILED);
	words = blob_half(java, java->row.blob_frame_size);
	if (words < FRAME_MAX_WORDS)
		return (int)(words * 8);
	java_fail(java, HOTSPOT_NO_FRAME, pc);
	return UNWIND_FRAME_LOST;
interpreted:
	hotspot_interpreted(java, state->regs.fp);
	return UNWIND_FRAME_INTERPRETED;
}

__noinline int hotspot_end(struct runtime_hashes *found, uint32_t flags)
{
	struct runtime_failed_event event = {};
	struct hotspot_thread *java;
	struct target_stats *stats;

	if (!found || !config.task_storage || !(flags & TARGET_JAVA))
		return 0;
	java = bpf_task_storage_get(&hotspot_threads, bpf_get_current_task_btf(), NULL, 0);
	if (!java)
		return 0;
	java->chain.count = java->count;
	java->chain.cut = 0;
	java->chain.hash = java->count ? (java->hash ?: 1) : 0;
	found->of[RUNTIME_JVM] = java->chain.hash;
	if (!java->failure)
		return 0;
	stats = target_stats_of(java->target_id);
	if (!stats || __sync_fetch_and_add(&stats->lost[LOST_JAVA], 1))
		return 0;
	event.header.type = RUNTIME_EVENT(RUNTIME_JVM, RUNTIME_FAILED);
	event.header.target_id = java->target_id;
	event.header.time_ns = bpf_ktime_get_ns();
	event.failure = java->failure;
	event.address = java->failed_at;
	bpf_ringbuf_output(&events, &event, sizeof(event), 0);
	return 0;
}

__noinline int hotspot_tell(struct hotspot_thread *java)
{
	uint64_t size;

	if (!java)
		return -1;
	java->chain.header.type = RUNTIME_EVENT(RUNTIME_JVM, RUNTIME_CHAIN);
	java->chain.header.target_id = java->target_id;
	java->chain.header.time_ns = bpf_ktime_get_ns();
	size = sizeof(java->chain) - sizeof(java->chain.calls) +
	       sizeof(java->chain.calls[0]) * (uint64_t)java->chain.count;
	if (size > sizeof(java->chain))
		size = sizeof(java->chain);
	return bpf_ringbuf_output(&events, &java->chain, size, 0) ? -1 : 0;
}
