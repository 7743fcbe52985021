/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The unwinder compiled for user space: tables in plain memory, the stack read by a function of the
 * test. Included by one .c file per program, after UNWIND_AARCH64 has been defined or not.
 */
#ifndef MEMLEAKBPF_TESTS_UNWIND_MEMORY_H
#define MEMLEAKBPF_TESTS_UNWIND_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "bpf/unwind_host.h"
#include "user/unwind/publish.h"

struct unwind_memory {
	uint32_t *chunks[UNWIND_MAX_CHUNKS];
	struct unwind_rule rules[UNWIND_MAX_RULES];
	struct unwind_target targets[ABI_TARGET_SLOTS];
	int (*read)(void *to, uint32_t size, uint64_t address);
	bool not_code; /* what lies outside of all mappings is no code; else nobody knows */
	size_t chunk_count, waits, adds;
};

static __always_inline const uint8_t *unwind_chunk(const struct unwind_state *state, uint32_t word)
{
	return word / UNWIND_CHUNK_WORDS < UNWIND_MAX_CHUNKS
		       ? (const uint8_t *)state->memory->chunks[word / UNWIND_CHUNK_WORDS]
		       : NULL;
}

static __always_inline const struct unwind_rule *unwind_rule_at(const struct unwind_state *state,
								uint32_t number)
{
	return number < UNWIND_MAX_RULES ? &state->memory->rules[number] : NULL;
}

static __always_inline const struct unwind_target *unwind_target_of(
	const struct unwind_state *state)
{
	const struct unwind_target *target =
		&state->memory->targets[state->target_id % ABI_TARGET_SLOTS];

	return target->target_id == state->target_id ? target : NULL;
}

static __always_inline int unwind_read(const struct unwind_state *state, void *to, uint32_t size,
				       uint64_t address)
{
	return state->memory->read(to, size, address);
}

static __always_inline int unwind_ask_kernel(struct unwind_state *state, uint64_t pc)
{
	(void)pc;
	return state->memory->not_code ? UNWIND_NOT_CODE : UNWIND_UNKNOWN;
}

static __always_inline bool unwind_undo_return_probe(struct unwind_state *state)
{
	(void)state;
	return false;
}

static __always_inline int unwind_frame_size(const struct unwind_state *state)
{
	(void)state;
	return UNWIND_FRAME_OTHER;
}

#include "bpf/unwind_walk.h"

struct stack_event;

/* What unwind_stack() of bpf/unwind.bpf.c does. */
static inline uint32_t memory_walk(struct unwind_state *state, struct stack_event *event)
{
	uint32_t count = 0;

	unwind_begin(state);
	while (count < state->max_frames) {
		uint64_t pc = state->regs.pc;
		int outcome = unwind_one(state);

		if (outcome == UNWIND_DROP)
			break;
		event->frames[count++] = pc;
		if (outcome != UNWIND_NEXT)
			break;
	}
	unwind_finish(state, event, count);
	return count;
}

static inline int memory_add_chunks(void *arg, const uint32_t *numbers, size_t count,
				    uint32_t **words)
{
	struct unwind_memory *memory = arg;

	memory->adds++;
	for (size_t i = 0; i < count; i++) {
		words[i] = calloc(1, UNWIND_CHUNK_BYTES);
		if (!words[i])
			abort();
		memory->chunks[numbers[i]] = words[i];
		memory->chunk_count++;
	}
	return 0;
}

static inline void memory_drop_chunks(void *arg, const uint32_t *numbers, size_t count,
				      uint32_t **words)
{
	struct unwind_memory *memory = arg;

	for (size_t i = 0; i < count; i++) {
		free(words[i]);
		memory->chunks[numbers[i]] = NULL;
		memory->chunk_count--;
	}
}

static inline void memory_wait(void *arg)
{
	((struct unwind_memory *)arg)->waits++;
}

static inline struct unwind_backend memory_backend(struct unwind_memory *memory)
{
	return (struct unwind_backend){
		.chunks = {.add = memory_add_chunks, .drop = memory_drop_chunks, .arg = memory},
		.rules = memory->rules,
		.targets = memory->targets,
		.wait = memory_wait,
		.arg = memory,
	};
}

#endif
