/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The gate, put into this very process, or into another one that waits: an allocator's functions get
 * their jumps, and where a target has a nop for a probe the stubs call the books. What they tell must
 * be what was done.
 */
#ifndef MEMLEAKBPF_TESTS_UNIT_GATE_IN_PROCESS_H
#define MEMLEAKBPF_TESTS_UNIT_GATE_IN_PROCESS_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/gate/books.h"
#include "tests/unit/gate/copied.h"
#include "user/base/util.h"
#include "user/gate/stub.h"

/* ---- the gate ----------------------------------------------------------------------------- */

struct gated {
	const char *name;
	uint32_t kind;
	unsigned arguments;
	bool calls_others;
	const char
		*instead; /* the name of the function that takes the place of one that may throw */

	void *function;
	const struct gate_stub *stub;
	uint64_t jump; /* where that is */
	uint8_t before[DISPLACE_JUMP];
};

static struct {
	uint8_t *code;		    /* where it is in the process */
	struct gate_header *header; /* and this */
	uint8_t written[GATE_CODE_SIZE];
	struct gated *functions;
	size_t count;
	int memory; /* /proc/PID/mem, which writes to text */
	/* That book an allocation, an end, that a block is there still. */
	uint64_t hooks[3];
} gate;

static void write_text(uint64_t address, const void *bytes, size_t size)
{
	assert_int_equal(pwrite(gate.memory, bytes, size, (off_t)address), size);
}

/* The first stub of the kind that no function has. */
static const struct gate_stub *unused_stub(uint32_t kind)
{
	size_t count;
	const struct gate_stub *stubs = gate_stubs(&count);

	for (size_t i = 0; i < count; i++) {
		bool used = stubs[i].kind != kind;

		for (size_t f = 0; f < gate.count; f++)
			used |= gate.functions[f].stub == &stubs[i];
		if (!used)
			return &stubs[i];
	}
	fail();
	return NULL;
}

/* What a probe is to do: call the hook. */
static void set_hook(uint8_t *code, uint32_t at, unsigned number)
{
	static const uint8_t jmp[6] = {0xff, 0x25}; /* jmp *0(%rip) */
	uint32_t far = GATE_CODE_SIZE - 0x100 + 32 * number;

	if (!at)
		return;
	/* As the tool needs it. */
	assert_true(at % 4096 + GATE_PROBE <= 4096);
	assert_int_equal(
		displace_jump((uintptr_t)gate.code + at, (uintptr_t)gate.code + far, code + at), 0);
	code[at] = 0xe8;
	memcpy(code + far, jmp, sizeof(jmp));
	memcpy(code + far + sizeof(jmp), &gate.hooks[number], sizeof(gate.hooks[number]));
}

static inline void map_gate(const void *near)
{
	uintptr_t at = ((uintptr_t)near & ~0xfffull) - (256 << 20);

	for (;; at -= 1 << 20) {
		gate.code = mmap((void *)at, GATE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (gate.code != MAP_FAILED)
			break;
		assert_int_equal(errno, EEXIST);
	}
	gate.header = (void *)(gate.code + GATE_HEADER);
	assert_int_equal(madvise(gate.header, GATE_SIZE - GATE_HEADER, MADV_WIPEONFORK), 0);
	gate_header_init(gate.header, 0);
	if (!gate.memory)
		gate.memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	gate.hooks[0] = (uintptr_t)hook_allocated;
	gate.hooks[1] = (uintptr_t)hook_freed;
	gate.hooks[2] = (uintptr_t)hook_kept;
}

static void put_function(struct gated *f)
{
	uint8_t bytes[DISPLACE_CODE_MAX];
	struct gate_function put = {.request = {.size = sizeof(bytes),
						.code = bytes,
						.address = (uintptr_t)f->function,
						.arguments = f->arguments},
				    .calls_others = f->calls_others};
	const char *why = "";

	for (size_t i = 0; f->instead && i < gate.count; i++) {
		if (!strcmp(gate.functions[i].name, f->instead))
			put.instead = gate.functions[i].stub;
	}
	/* The library is a copy, in which nobody has probes. */
	assert_int_equal(pread(gate.memory, bytes, sizeof(bytes), (off_t)(uintptr_t)f->function),
			 sizeof(bytes));
	if (displace_plan(&put.request, &put.plan, &why))
		fail_msg("%s: %s", f->name, why);
	assert_int_equal(gate_fill_stub(gate.written, (uintptr_t)gate.code, f->stub, &put), 0);
	f->jump = put.request.address + put.plan.kept;
	memcpy(f->before, bytes + put.plan.kept, DISPLACE_JUMP);
}

/* The functions with their addresses; they stay the caller's. No jump goes there yet. */
static void gate_put(struct gated *functions, size_t count)
{
	size_t size;
	const uint8_t *empty = gate_code(&size);

	assert_in_range(size, 1000, GATE_CODE_SIZE - 0x100);
	memset(gate.written, 0, sizeof(gate.written));
	memcpy(gate.written, empty, size);
	gate.functions = functions;
	gate.count = count;
	for (size_t f = 0; f < count; f++)
		functions[f].stub = unused_stub(functions[f].kind);
	for (size_t f = 0; f < count; f++)
		put_function(&functions[f]);
	write_text((uintptr_t)gate.code, gate.written, GATE_CODE_SIZE);
}

/* With hooks, or the nops. Nobody runs there. */
static void gate_hook(bool hooked)
{
	size_t size;
	const uint8_t *empty = gate_code(&size);

	for (size_t f = 0; f < gate.count; f++) {
		const struct gate_stub *stub = gate.functions[f].stub;
		const uint32_t at[] = {stub->allocated, stub->freed, stub->kept};

		for (unsigned i = 0; i < ARRAY_SIZE(at); i++) {
			if (hooked)
				set_hook(gate.written, at[i], i);
			else if (at[i])
				memcpy(gate.written + at[i], empty + at[i], GATE_PROBE);
		}
	}
	write_text((uintptr_t)gate.code, gate.written, GATE_CODE_SIZE);
}

enum gate_mode { GATE_NONE, GATE_SAMPLED, GATE_EXACT };

static void gate_set(enum gate_mode mode)
{
	for (size_t i = 0; i < gate.count; i++) {
		const struct gated *f = &gate.functions[i];
		uint8_t jump[DISPLACE_JUMP];

		if (mode == GATE_NONE) {
			write_text(f->jump, f->before, sizeof(jump));
			continue;
		}
		assert_int_equal(displace_jump(f->jump,
					       gate_jump_target((uintptr_t)gate.code, f->stub,
								mode == GATE_EXACT),
					       jump),
				 0);
		write_text(f->jump, jump, sizeof(jump));
	}
}

/* As the tool does it: one word, while the program runs. */
static inline void sample_by(uint64_t mean)
{
	struct gate_header header;

	gate_header_init(&header, mean);
	memcpy(gate.header->log2, header.log2, sizeof(header.log2));
	__atomic_store_n(&gate.header->mean_ln2, header.mean_ln2, __ATOMIC_SEQ_CST);
	/* The rest of the old distance would be the first one. */
	memset(gate.code + GATE_SLOTS, 0, 64 << GATE_SLOT_BITS);
}

/* Samples: their blocks are also in the set. */
static inline void assert_books(bool sampled)
{
	assert_int_equal(books.unknown, 0);
	assert_int_equal(books.twice, 0);
	assert_int_equal(gate.header->dropped, 0);
	assert_int_equal(books.allocated - books.freed, books.live);
	if (sampled)
		assert_int_equal(gate.header->sampled - gate.header->removed, books.live);
}

#endif
