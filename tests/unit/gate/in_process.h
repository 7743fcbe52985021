/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The gate, put into this very process: an allocator's functions get their jumps, and where a target
 * has a nop for a probe the stubs call the books below. What they tell must be what was done.
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

#include "user/base/util.h"
#include "user/gate/stub.h"

/* ---- the books ---------------------------------------------------------------------------- */

/* They are written from within malloc: no memory, no vector registers. */
#define BOOKED	__attribute__((target("general-regs-only"), used))
#define ENTRIES (1u << 20)

static struct {
	int lock;
	uint64_t blocks[ENTRIES], sizes[ENTRIES]; /* 0: free; 1: was used */
	uint64_t allocated, freed, kept, live, unknown, twice;
	uint64_t last_block, last_size;
} books;

static BOOKED uint64_t *booked(uint64_t block)
{
	uint64_t i = block * GATE_GOLDEN >> 44, *first = NULL;

	for (;; i = (i + 1) % ENTRIES) {
		if (books.blocks[i] == block)
			return &books.blocks[i];
		if (books.blocks[i] <= 1 && !first)
			first = &books.blocks[i];
		if (!books.blocks[i])
			return first;
	}
}

static BOOKED void books_lock(void)
{
	while (__atomic_exchange_n(&books.lock, 1, __ATOMIC_ACQUIRE))
		;
}

static BOOKED void books_unlock(void)
{
	__atomic_store_n(&books.lock, 0, __ATOMIC_RELEASE);
}

static BOOKED void book_allocated(uint64_t block, uint64_t size)
{
	uint64_t *entry;

	books_lock();
	entry = booked(block);
	books.twice += *entry == block;
	books.live += *entry != block;
	*entry = block;
	books.allocated++;
	books.last_block = block;
	books.last_size = size;
	books_unlock();
}

static BOOKED void book_freed(uint64_t block)
{
	uint64_t *entry;

	books_lock();
	entry = booked(block);
	if (*entry == block) {
		*entry = 1;
		books.live--;
	} else {
		books.unknown++;
	}
	books.freed++;
	books_unlock();
}

static BOOKED void book_kept(uint64_t block)
{
	book_allocated(block, 0);
	__atomic_fetch_add(&books.kept, 1, __ATOMIC_RELAXED);
}

/* Called as the kernel would trap: nothing changes for the code around. */
#define HOOK(name, function)                                                       \
	void name(void);                                                           \
	__asm__(".pushsection .text\n" #name ":\n"                                 \
		"push %rax; push %rcx; push %rdx; push %rsi; push %rdi\n"          \
		"push %r8; push %r9; push %r10; push %r11; push %rbp\n"            \
		"mov %rsp, %rbp; and $-16, %rsp\n"                                 \
		"call " #function "\n"                                             \
		"mov %rbp, %rsp; pop %rbp; pop %r11; pop %r10; pop %r9; pop %r8\n" \
		"pop %rdi; pop %rsi; pop %rdx; pop %rcx; pop %rax; ret\n"          \
		".popsection\n")
HOOK(hook_allocated, book_allocated);
HOOK(hook_freed, book_freed);
HOOK(hook_kept, book_kept);

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
	uint8_t *code;
	struct gate_header *header;
	struct gated *functions;
	size_t count;
	int memory; /* /proc/self/mem, which writes to text */
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

/* What a probe is to do: call the hook, or be the nop that it is where nobody looks. */
static void set_hook(uint8_t *code, uint32_t at, unsigned number)
{
	static void (*const hooks[])(void) = {hook_allocated, hook_freed, hook_kept};
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
	memcpy(code + far + sizeof(jmp), &hooks[number], sizeof(hooks[number]));
}

static void map_gate(const void *near)
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
}

static void put_function(uint8_t *code, struct gated *f)
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
	memcpy(bytes, f->function, sizeof(bytes));
	if (displace_plan(&put.request, &put.plan, &why))
		fail_msg("%s: %s", f->name, why);
	assert_int_equal(gate_fill_stub(code, (uintptr_t)gate.code, f->stub, &put), 0);
	f->jump = put.request.address + put.plan.kept;
	memcpy(f->before, bytes + put.plan.kept, DISPLACE_JUMP);
}

/* The functions with their addresses; they stay the caller's. No jump goes there yet. */
static void gate_put(struct gated *functions, size_t count)
{
	uint8_t *code = calloc(1, GATE_CODE_SIZE);
	size_t size;
	const uint8_t *empty = gate_code(&size);

	assert_in_range(size, 1000, GATE_CODE_SIZE - 0x100);
	memcpy(code, empty, size);
	if (!gate.memory)
		gate.memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	map_gate(functions[0].function);
	gate_header_init(gate.header, 0);
	gate.functions = functions;
	gate.count = count;
	for (size_t f = 0; f < count; f++)
		functions[f].stub = unused_stub(functions[f].kind);
	for (size_t f = 0; f < count; f++)
		put_function(code, &functions[f]);
	memcpy(gate.code, code, GATE_CODE_SIZE);
	free(code);
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
				set_hook(gate.code, at[i], i);
			else if (at[i])
				memcpy(gate.code + at[i], empty + at[i], GATE_PROBE);
		}
	}
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
static void sample_by(uint64_t mean)
{
	struct gate_header header;

	gate_header_init(&header, mean);
	memcpy(gate.header->log2, header.log2, sizeof(header.log2));
	__atomic_store_n(&gate.header->mean_ln2, header.mean_ln2, __ATOMIC_SEQ_CST);
	/* The rest of the old distance would be the first one. */
	memset(gate.code + GATE_SLOTS, 0, 64 << GATE_SLOT_BITS);
}

/* Samples: their blocks are also in the set. */
static void assert_books(bool sampled)
{
	assert_int_equal(books.unknown, 0);
	assert_int_equal(books.twice, 0);
	assert_int_equal(gate.header->dropped, 0);
	assert_int_equal(books.allocated - books.freed, books.live);
	if (sampled)
		assert_int_equal(gate.header->sampled - gate.header->removed, books.live);
}

#endif
