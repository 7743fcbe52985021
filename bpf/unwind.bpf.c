// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The unwinder as a BPF program: its maps, and its answers to bpf/unwind_host.h. */
#include "bpf/unwind_maps.h"

#include <bpf/bpf_helpers.h>

#include "bpf/kernel_read.h"
#include "bpf/loss.h"
#include "bpf/unwind_trails_map.h"

#if defined(__TARGET_ARCH_arm64)
#define UNWIND_AARCH64
#define ADDRESS_BITS 48
#else
#define ADDRESS_BITS 47
#endif

#define VM_EXEC 4ul
/* No page is smaller, so a read up to such a limit stays in one. */
#define KERNEL_PAGE 4096ull

/* Set before loading. */
const volatile struct unwind_config unwind_config __attribute__((weak)) = {};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_MAX_RULES);
	__type(key, uint32_t);
	__type(value, struct unwind_rule);
} unwind_rules __weak SEC(".maps");

/* Objects whose tables are loaded, for code that was mapped a moment ago. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, UNWIND_MAX_OBJECTS);
	__type(key, struct unwind_object_key);
	__type(value, struct unwind_object);
} unwind_objects __weak SEC(".maps");

static __always_inline const struct unwind_rule *unwind_rule_at(const struct unwind_state *state,
								uint32_t number)
{
	(void)state;
	return bpf_map_lookup_elem(&unwind_rules, &number);
}

static __always_inline int unwind_read(const struct unwind_state *state, void *to, uint32_t size,
				       uint64_t address)
{
	(void)state;
	return bpf_probe_read_user(to, size, (void *)address);
}

/* The kernel's answer about an address of the current process. */
struct vma_answer {
	struct unwind_object_key key;
	uint64_t start, end, file_offset;
	bool exec, anonymous;
};

static long read_vma(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
	struct vma_answer *answer = arg;
	struct file *file = vma->vm_file;

	(void)task;
	answer->start = vma->vm_start;
	answer->end = vma->vm_end;
	answer->file_offset = vma->vm_pgoff * unwind_config.page_size;
	answer->exec = vma->vm_flags & VM_EXEC;
	answer->anonymous = !file;
	if (file) {
		answer->key.ino = file->f_inode->i_ino;
		answer->key.dev = file->f_inode->i_sb->s_dev;
	}
	return 0;
}

/*
 * Fills in the mapping from a loaded object's tables, if it has a segment for this part of the
 * file.
 */
static __always_inline bool enter_object(struct unwind_state *state, const struct vma_answer *vma)
{
	const struct unwind_object *object = bpf_map_lookup_elem(&unwind_objects, &vma->key);
	uint32_t i;

	if (!object)
		return false;
	for (i = 0; i < UNWIND_OBJECT_SEGMENTS; i++) {
		const struct unwind_object_segment *segment = &object->segments[i];

		if (vma->file_offset < segment->offset || vma->file_offset >= segment->end)
			continue;
		state->map_start = vma->start;
		state->map_end = vma->end;
		state->map_base = vma->start - vma->file_offset + segment->delta;
		state->directory = segment->directory;
		state->pages = segment->pages;
		state->object = object->id;
		return true;
	}
	return false;
}

static __always_inline int unwind_ask_kernel(struct unwind_state *state, uint64_t pc)
{
	struct vma_answer vma = {};
	long err;

	if (!unwind_config.has_find_vma)
		return UNWIND_UNKNOWN;
	err = bpf_find_vma(bpf_get_current_task_btf(), pc, read_vma, &vma, 0);
	if (err == -2) /* ENOENT; everything else (EBUSY) says nothing about the address */
		return UNWIND_NOT_CODE;
	if (err)
		return UNWIND_UNKNOWN;
	if (!vma.exec)
		return UNWIND_NOT_CODE;
	if (!vma.anonymous)
		return enter_object(state, &vma) ? UNWIND_KNOWN : UNWIND_UNKNOWN;
	state->map_start = vma.start;
	state->map_end = vma.end;
	state->map_base = vma.start;
	state->pages = 0;
	state->object = 0;
	return UNWIND_KNOWN;
}

/* From kernel/events/uprobes.c: it leaves further return probes out. */
#define MAX_RETURN_PROBES 64

/* What stands in the place of such a return address. 0: none does, in this process. */
static __always_inline uint64_t return_trampoline(struct task_struct *task)
{
	return kernel_read(task, mm, uprobes_state.xol_area, vaddr);
}

/*
 * The kernel lists the calls whose return address it has replaced, the innermost first. Its own
 * walks by frame pointers use the list (arch/x86/events/core.c,
 * fixup_uretprobe_trampoline_entries()). We search it by the address's place: calls ended by an
 * exception or longjmp stay in it for a while. If one place has several (a tail call), each knows
 * the program's address (prepare_uretprobe()). A function of its own, for the loop.
 */
#ifdef MEMLEAKBPF_MANAGED
int unwind_find_return(struct unwind_state *state);
#else
__noinline int unwind_find_return(struct unwind_state *state)
{
	struct task_struct *task = kernel_current_task();
	struct return_instance *call;
	uint64_t place, address;
	uint32_t i;

	if (!state || state->regs.pc != return_trampoline(task))
		return 0;
#ifdef UNWIND_AARCH64
	place = state->regs.sp; /* the stack pointer at the function's entry */
#else
	place = state->regs.sp - 8;
#endif
	call = kernel_read(task, utask, return_instances);
	for (i = 0; i < MAX_RETURN_PROBES && call; i++) {
		if (kernel_read(call, stack) == place) {
			address = kernel_read(call, orig_ret_vaddr);
			if (address == state->regs.pc)
				return 0;
			state->regs.pc = address;
			return 1;
		}
		call = kernel_read(call, next);
	}
	return 0;
}
#endif

static __always_inline bool unwind_undo_return_probe(struct unwind_state *state)
{
	return unwind_find_return(state);
}

static __always_inline int unwind_frame_size(const struct unwind_state *state)
{
	int size = UNWIND_FRAME_OTHER;

#ifdef MEMLEAKBPF_MANAGED
	if (state->flags & UNWIND_HOTSPOT)
		size = hotspot_look(state);
	if (size == UNWIND_FRAME_OTHER && state->flags & UNWIND_V8)
		size = v8_look(state);
#else
	(void)state;
#endif
	return size;
}

#ifndef MEMLEAKBPF_MANAGED
#include "bpf/unwind_trail.h"
#else
#include "bpf/unwind_walk.h"
#endif

/* A function of its own: the verifier checks it once, not once for each frame. */
__noinline int unwind_step(struct unwind_state *state)
{
	return state ? unwind_one(state) : UNWIND_LAST;
}

__noinline int unwind_stack(struct unwind_state *state, struct stack_event *event)
{
	uint32_t n, count = 0, max;

	if (!state || !event)
		return 0;
	count_walk(state->target_id);
	unwind_begin(state);
	max = state->max_frames;
	for (n = 0; n < ABI_MAX_FRAMES; n++) {
		uint64_t pc = state->regs.pc;
		int outcome;

		if (n >= max)
			break;
		outcome = unwind_step(state);
		if (outcome == UNWIND_SAME) {
			pc = state->regs.pc;
			outcome = unwind_step(state);
		}
		if (outcome == UNWIND_DROP)
			break;
		event->frames[n] = pc;
		count = n + 1;
		if (outcome != UNWIND_NEXT)
			break;
	}
	unwind_finish(state, event, count);
	return count;
}

#ifndef MEMLEAKBPF_MANAGED
static __always_inline struct unwind_trails *trails_of_thread(uint64_t flags)
{
	if (!config.task_storage)
		return NULL;
	return bpf_task_storage_get(&thread_trails, bpf_get_current_task_btf(), NULL, flags);
}

/* Room for the thread's trails; NULL: as many threads have some as may have, or the kernel has no memory. */
static __always_inline struct unwind_trails *trails_for_thread(void)
{
	struct unwind_trails *trails;

	if (*(volatile uint32_t *)&shared.trail_threads >= config.trail_threads)
		return NULL;
	trails = trails_of_thread(BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (trails)
		__sync_fetch_and_add(&shared.trail_threads, 1);
	return trails;
}

__noinline uint64_t unwind_recall(struct unwind_state *state)
{
	const struct unwind_target *target;
	const struct unwind_kept *kept;
	struct unwind_trails *trails;

	if (!state)
		return ABI_NO_SLOT;
	trails = trails_of_thread(0);
	target = unwind_target_of(state);
	if (!trails || !target)
		return ABI_NO_SLOT;
	kept = unwind_trail_find(state, trails, *(const volatile uint32_t *)&target->generation);
	return kept ? kept->number : ABI_NO_SLOT;
}

__noinline int unwind_remember(struct unwind_state *state, uint64_t number)
{
	struct unwind_trails *trails;

	if (!state || !unwind_trail_is_whole(state))
		return 0;
	state->remembered++;
	trails = trails_of_thread(0);
	if (!trails && state->remembered % UNWIND_WALKS_BETWEEN == UNWIND_WALKS_BEFORE_TRAILS)
		trails = trails_for_thread();
	if (trails)
		unwind_trail_keep(state, trails, number);
	return 0;
}

/*
 * More unknown code lies around unknown code: its object's other segments, and the libraries that
 * came with it.
 */
#define UNKNOWN_REACH (64ull << 20)

/* Could the word be a return address? A function of its own, for the loop below. */
__noinline int unwind_is_code(struct unwind_state *state, uint64_t word)
{
	struct vma_answer vma = {};
	long err;

	if (!state || word < KERNEL_PAGE || word >> ADDRESS_BITS)
		return 0;
	if (unwind_in_set(state, word))
		return 1;
	/*
	 * While user space reads the mappings anew there is no set at all: then code may be
	 * anywhere. Where nobody can be asked (before 5.17) too many numbers would pass for code.
	 */
	if ((state->set || !unwind_config.has_find_vma) &&
	    word - (state->regs.pc - UNKNOWN_REACH) >= 2 * UNKNOWN_REACH)
		return 0;
	if (!unwind_config.has_find_vma)
		return 1;
	err = bpf_find_vma(bpf_get_current_task_btf(), word, read_vma, &vma, 0);
	return err != -2 && (err || vma.exec); /* ENOENT; with EBUSY it could be */
}

/* Copies page by page, as far as there is a stack: it may end soon. Returns bytes. */
static __always_inline uint32_t copy_words(struct stack_copy_event *event, uint64_t sp)
{
	uint32_t filled = KERNEL_PAGE - (sp & (KERNEL_PAGE - 1)), i;
	uint8_t *to = (uint8_t *)event->words;

	if (bpf_probe_read_user(to, filled, (const void *)sp))
		return 0;
	for (i = 1; i < ABI_COPY_SIZE / KERNEL_PAGE; i++) {
		/* Never true: only for the verifier, which loses count. */
		barrier_var(filled);
		if (filled > ABI_COPY_SIZE - KERNEL_PAGE)
			break;
		if (bpf_probe_read_user(to + filled, KERNEL_PAGE, (const void *)(sp + filled)))
			break;
		filled += KERNEL_PAGE;
	}
	return filled;
}

/*
 * One call hashes so many words: kernels before 6.4 follow every turn of a loop, and there are
 * 2,048 words.
 */
#define HASHED_AT_ONCE 64

/* Adds the words from number `first` on to event->stack.stack_id. */
__noinline int unwind_hash_words(struct unwind_state *state, struct stack_copy_event *event,
				 uint32_t first)
{
	uint32_t i, end;
	uint64_t hash;

	if (!state || !event)
		return 0;
	hash = event->stack.stack_id;
	end = event->size / 8;
	for (i = 0; i < HASHED_AT_ONCE; i++) {
		uint64_t at = first + i, word;

		/* Compares the very register that is used then, for the verifier to see. */
		barrier_var(at);
		if (at >= end || at >= ABI_COPY_SIZE / 8)
			break;
		word = event->words[at] & UNWIND_ADDRESS_MASK;
		hash = unwind_mix(hash, word & -(uint64_t)(unwind_is_code(state, word) != 0));
	}
	event->stack.stack_id = hash;
	return 0;
}

#ifndef UNWIND_AARCH64
struct returns_copy {
	struct stack_copy_event *event;
	struct return_instance *call;
	uint64_t trampoline;
};

/* 1: enough. */
static long unwind_copy_return(uint32_t i, struct returns_copy *copy)
{
	struct return_instance *call = copy->call;
	uint64_t at;

	(void)i;
	if (!call)
		return 1;
	at = (kernel_read(call, stack) - copy->event->sp) / 8;
	/* Compare the very register that is used then, for the verifier to see. */
	barrier_var(at);
	if (at < ABI_COPY_SIZE / 8 && copy->event->words[at] == copy->trampoline)
		copy->event->words[at] = kernel_read(call, orig_ret_vaddr);
	copy->call = kernel_read(call, next);
	return 0;
}

/* User space cannot ask for the list: it gets the program's return addresses. */
__noinline int unwind_copy_returns(struct stack_copy_event *event)
{
	struct task_struct *task = kernel_current_task();
	struct returns_copy copy = {
		.event = event,
		.call = kernel_read(task, utask, return_instances),
		.trampoline = return_trampoline(task),
	};
	uint32_t i;

	if (!event)
		return 0;
	/* The verifier follows each turn of a loop, but goes through a callback once. */
	if (config.loops) {
		bpf_loop(MAX_RETURN_PROBES, unwind_copy_return, &copy, 0);
		return 0;
	}
	for (i = 0; i < MAX_RETURN_PROBES; i++) {
		if (unwind_copy_return(i, &copy))
			break;
	}
	return 0;
}
#endif

__noinline int unwind_copy(struct unwind_state *state, struct stack_copy_event *event)
{
	uint32_t i, size;

	if (!state || !event || unwind_need_fp(state))
		return 0;
	size = copy_words(event, state->regs.sp);
	if (!size)
		return 0;
	event->pc = state->regs.pc;
	event->sp = state->regs.sp;
	event->fp = state->regs.fp;
	event->lr = state->regs.lr;
	event->hash = state->hash_before;
	event->exact = state->exact;
	event->first = state->first;
	event->size = size;
#ifndef UNWIND_AARCH64
	unwind_copy_returns(event);
#endif
	event->stack.stack_id = unwind_mix(unwind_mix(state->hash, state->regs.sp), state->regs.fp);
	for (i = 0; i < size / 8 && i < ABI_COPY_SIZE / 8; i += HASHED_AT_ONCE)
		unwind_hash_words(state, event, i);
	event->stack.stack_id = event->stack.stack_id ?: 1;
	return 1;
}

/* Sets of mappings read before this moment are not to be trusted. */
static __always_inline int unwind_unmarked(struct unwind_target *target)
{
	__sync_fetch_and_add(&target->unmarked, 1);
	__sync_fetch_and_add(&target->generation, 1);
	return 0;
}

__noinline int unwind_remapped(uint32_t target_id, uint64_t start, uint64_t size)
{
	struct unwind_target *target = target_row(target_id);
	uint32_t word, count, at, i, k;
	struct unwind_mapping *mapping;
	uint64_t set, end = start + size;
	uint8_t *chunk;

	if (!target)
		return 0;
	/*
	 * Before the set is read: user space relies on having seen all whose marks are in another
	 * one.
	 */
	__sync_fetch_and_add(&target->remaps, 1);
	set = *(volatile uint64_t *)&target->set;
	word = (uint32_t)set;
	count = set >> 32;
	at = UNWIND_BYTE(word);
	/* User space may be about to publish a set that it read before this mapping. */
	chunk = count ? (uint8_t *)unwind_chunk(NULL, word) : NULL;
	if (!chunk)
		return unwind_unmarked(target);
	i = unwind_search_set(chunk, at, count, start);
	at += (count * 8 + UNWIND_SET_ALIGN - 1) & ~(UNWIND_SET_ALIGN - 1);
	/* The mappings of one object follow each other: a new one covers few of those known. */
	for (k = 0; k < UNWIND_MAX_REMAPPED; k++, i++) {
		if (i >= count || (k && *(uint64_t *)(chunk + ((UNWIND_BYTE(word) + i * 8) &
							       (UNWIND_CHUNK_BYTES - 8))) >= end))
			return 0;
		mapping = (void *)(chunk + ((at + i * UNWIND_SET_ALIGN) &
					    (UNWIND_CHUNK_BYTES - UNWIND_SET_ALIGN)));
		if (mapping->end > start && !mapping->stale) {
			mapping->stale = 1;
			__sync_fetch_and_add(&target->generation, 1);
		}
	}
	/* Too many to mark one by one. */
	return unwind_unmarked(target);
}

__noinline int unwind_forked(uint32_t parent_id, uint32_t child_id)
{
	struct unwind_target *parent = target_row(parent_id);
	uint32_t row = child_id % ABI_TARGET_SLOTS;
	struct unwind_target *child = bpf_map_lookup_elem(&unwind_targets, &row);

	if (!parent || !child)
		return 0;
	child->set = unwind_trusted_set(parent);
	child->valid_from = child->unmarked;
	child->target_id = child_id;
	__sync_fetch_and_add(&child->generation, 1);
	return 0;
}
#endif
