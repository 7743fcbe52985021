/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Guard sampling, put into this very process: the functions of a second C library get their jumps, the
 * pool is mapped as a target has it, and where a target has a nop for a probe the stubs call the books.
 */
#ifndef MEMLEAKBPF_TESTS_UNIT_GUARD_GUARD_IN_PROCESS_H
#define MEMLEAKBPF_TESTS_UNIT_GUARD_GUARD_IN_PROCESS_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/gate/copied.h"
#include "tests/unit/gate/hook.h"
#include "user/base/util.h"
#include "user/guard/guard_stub.h"

#define PLACES 256u

/* ---- the functions ------------------------------------------------------------------------ */

struct function {
	const char *name;
	uint32_t kind;
	unsigned arguments;
	void *function;
	const struct guard_stub *stub;
	uint64_t jump; /* where that is */
};

/* All of the C library's that take a block, and those that give one. */
static struct function functions[] = {
	{.name = "malloc", .kind = GUARD_KIND_SIZE_1, .arguments = 1},
	{.name = "calloc", .kind = GUARD_KIND_CALLOC, .arguments = 2},
	{.name = "realloc", .kind = GUARD_KIND_REALLOC, .arguments = 2},
	{.name = "reallocarray", .kind = GUARD_KIND_REALLOC_ARRAY, .arguments = 3},
	{.name = "free", .kind = GUARD_KIND_FREE, .arguments = 1},
	{.name = "memalign", .kind = GUARD_KIND_SIZE_2, .arguments = 2},
	{.name = "aligned_alloc", .kind = GUARD_KIND_SIZE_2, .arguments = 2},
	{.name = "posix_memalign", .kind = GUARD_KIND_POSIX, .arguments = 3},
	{.name = "malloc_usable_size", .kind = GUARD_KIND_USABLE, .arguments = 1},
};
#define IS_MALLOC	 0
#define IS_REALLOC	 2
#define IS_REALLOC_ARRAY 3
#define IS_FREE		 4

/* The second library's. */
static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	size_t (*malloc_usable_size)(void *);
} c;

/* ---- the books ---------------------------------------------------------------------------- */

static struct {
	uint64_t blocks[PLACES]; /* what each place has, as was told; 0: none */
	uint64_t allocated, freed, bad, twice, unknown;
	uint64_t last_block, last_size, last_stub, last_wrong;
} books;

static uint64_t pool;

static BOOKED void count_one(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
}

static BOOKED uint64_t *booked(uint64_t block)
{
	return &books.blocks[(block - pool) / GUARD_PLACE];
}

static BOOKED void book_allocated(uint64_t block, uint64_t size)
{
	if (__atomic_exchange_n(booked(block), block, __ATOMIC_SEQ_CST))
		count_one(&books.twice);
	count_one(&books.allocated);
	books.last_block = block;
	books.last_size = size;
}

static BOOKED void book_freed(uint64_t block, uint64_t wrong, uint64_t stub)
{
	(void)wrong;
	if (__atomic_exchange_n(booked(block), 0, __ATOMIC_SEQ_CST) != block)
		count_one(&books.unknown);
	count_one(&books.freed);
	books.last_block = block;
	books.last_stub = stub;
}

static BOOKED void book_bad(uint64_t block, uint64_t wrong, uint64_t stub)
{
	count_one(&books.bad);
	books.last_block = block;
	books.last_wrong = wrong;
	books.last_stub = stub;
}

HOOK(hook_allocated, book_allocated);
HOOK(hook_freed, book_freed);
HOOK(hook_bad, book_bad);

/* ---- the guards --------------------------------------------------------------------------- */

static struct {
	uint8_t *code; /* where it is in the process */
	struct guard_header *header;
	struct guard_pool *pool;
	struct guard_meta *metas;
	struct guard_slot *slots;
	uint8_t *saved;
	int file, memory; /* the pool's, and /proc/self/mem, which writes to text */
	uint8_t written[GUARD_CODE_SIZE];
	bool hooked;
} guard;

static inline bool is_guarded(const void *block)
{
	return (uintptr_t)block - pool < guard_pool_size(PLACES);
}

static inline struct guard_meta *meta_of(const void *block)
{
	return &guard.metas[((uintptr_t)block - pool) / GUARD_PLACE];
}

static inline void write_text(uint64_t address, const void *bytes, size_t size)
{
	assert_int_equal(pwrite(guard.memory, bytes, size, (off_t)address), size);
}

static inline uint64_t stub_number(size_t function)
{
	size_t count;

	return (uint64_t)(functions[function].stub - guard_stubs(&count));
}

/* Where nothing is for `size` bytes, below an address, at a multiple of `alignment`. */
static inline uint8_t *map_below(uintptr_t at, uint64_t size, uint64_t alignment, int protection,
				 int flags, int file)
{
	void *mapped;

	for (at = (at - size) & ~(alignment - 1);; at -= alignment) {
		mapped = mmap((void *)at, size, protection,
			      flags | MAP_FIXED_NOREPLACE | MAP_NORESERVE, file, 0);
		if (mapped != MAP_FAILED)
			return mapped;
		assert_int_equal(errno, EEXIST);
	}
}

static inline void map_guard(const void *near)
{
	uintptr_t below = (uintptr_t)near - (256 << 20);
	uint64_t size = guard_pool_size(PLACES);

	guard.code = map_below(below, GUARD_SIZE, 1 << 20, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1);
	guard.header = (void *)(guard.code + GUARD_HEADER);
	guard.pool = (void *)(guard.code + GUARD_POOL);
	guard.metas = (void *)(guard.code + GUARD_META);
	guard.slots = (void *)(guard.code + GUARD_SLOTS);
	assert_int_equal(madvise(guard.header, GUARD_POOL - GUARD_HEADER, MADV_WIPEONFORK), 0);
	guard.file = memfd_create("guard-pool", MFD_CLOEXEC);
	assert_int_equal(ftruncate(guard.file, (off_t)size), 0);
	pool = (uintptr_t)map_below(below - GUARD_SIZE, size, size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE, guard.file);
	guard.saved = map_below(pool, size, size, PROT_READ | PROT_WRITE, MAP_SHARED, guard.file);
	/* Transparent huge pages of a file would disarm guards. */
	assert_int_equal(madvise((void *)pool, size, MADV_NOHUGEPAGE), 0);
	assert_int_equal(madvise(guard.saved, size, MADV_NOHUGEPAGE), 0);
	guard_header_init(guard.header, 0, 0, false);
	guard_pool_init(guard.pool, pool, (uintptr_t)guard.saved, PLACES, false);
	guard.memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
}

/* What a probe is to do: call the hook. Or the nop again. */
static inline void set_site(uint32_t at, unsigned number, uint64_t hook)
{
	static const uint8_t jmp[6] = {0xff, 0x25}; /* jmp *0(%rip) */
	uint32_t far = GUARD_CODE_SIZE - 0x100 + 32 * number;
	uint8_t *code = guard.written;
	size_t size;

	if (!at)
		return;
	/* As the tool needs it. */
	assert_true(at % 4096 + GATE_PROBE <= 4096);
	memcpy(code + at, guard_code(&size) + at, GATE_PROBE);
	if (!guard.hooked)
		return;
	assert_int_equal(
		displace_jump((uintptr_t)guard.code + at, (uintptr_t)guard.code + far, code + at),
		0);
	code[at] = 0xe8;
	memcpy(code + far, jmp, sizeof(jmp));
	memcpy(code + far + sizeof(jmp), &hook, sizeof(hook));
}

/* Nobody runs there. */
static inline void set_hooks(bool hooked)
{
	guard.hooked = hooked;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		set_site(functions[i].stub->allocated, 0, (uintptr_t)hook_allocated);
		set_site(functions[i].stub->freed, 1, (uintptr_t)hook_freed);
		set_site(functions[i].stub->bad, 2, (uintptr_t)hook_bad);
	}
	write_text((uintptr_t)guard.code, guard.written, GUARD_CODE_SIZE);
}

/* The first stub of the kind that no function before has. */
static inline const struct guard_stub *unused_stub(size_t function)
{
	size_t count;
	const struct guard_stub *stubs = guard_stubs(&count);

	for (size_t i = 0; i < count; i++) {
		bool used = stubs[i].kind != functions[function].kind;

		for (size_t f = 0; f < function; f++)
			used |= functions[f].stub == &stubs[i];
		if (!used)
			return &stubs[i];
	}
	fail();
	return NULL;
}

static inline void put_function(size_t function)
{
	struct function *f = &functions[function];
	uint8_t bytes[DISPLACE_CODE_MAX];
	struct guard_function put = {.request = {.size = sizeof(bytes),
						 .code = bytes,
						 .address = (uintptr_t)f->function,
						 .arguments = f->arguments}};
	const char *why = "";

	if (f->kind == GUARD_KIND_REALLOC || f->kind == GUARD_KIND_REALLOC_ARRAY)
		put.instead = functions[IS_MALLOC].stub;
	/* The library is a copy, in which nobody has probes. */
	assert_int_equal(pread(guard.memory, bytes, sizeof(bytes), (off_t)(uintptr_t)f->function),
			 sizeof(bytes));
	if (displace_plan(&put.request, &put.plan, &why))
		fail_msg("%s: %s", f->name, why);
	assert_int_equal(
		guard_fill_stub(guard.written, (uintptr_t)guard.code, f->stub, &put, pool, PLACES),
		0);
	f->jump = put.request.address + put.plan.kept;
}

static inline int open_guard(void **state)
{
	void *library = open_copy(dlsym(RTLD_NEXT, "malloc")), *all[ARRAY_SIZE(functions)];
	const uint8_t *empty;
	size_t size;

	(void)state;
	for (size_t f = 0; f < ARRAY_SIZE(functions); f++) {
		all[f] = functions[f].function = dlsym(library, functions[f].name);
		assert_non_null(all[f]);
	}
	_Static_assert(sizeof(c) == sizeof(all), "a function each");
	memcpy(&c, all, sizeof(c));
	map_guard(functions[0].function);
	empty = guard_code(&size);
	assert_in_range(size, 1000, GUARD_CODE_SIZE - 0x100);
	memcpy(guard.written, empty, size);
	for (size_t f = 0; f < ARRAY_SIZE(functions); f++)
		functions[f].stub = unused_stub(f);
	for (size_t f = 0; f < ARRAY_SIZE(functions); f++)
		put_function(f);
	set_hooks(true);
	for (size_t f = 0; f < ARRAY_SIZE(functions); f++) {
		uint8_t jump[DISPLACE_JUMP];

		assert_int_equal(
			displace_jump(functions[f].jump,
				      guard_jump_target((uintptr_t)guard.code, functions[f].stub),
				      jump),
			0);
		write_text(functions[f].jump, jump, sizeof(jump));
	}
	return 0;
}

/* As the tool does it: one word, while the program runs; and no slot has a distance of before. */
static inline void guard_by(uint64_t period)
{
	__atomic_store_n(&guard.header->period, period, __ATOMIC_SEQ_CST);
	memset(guard.slots, 0, sizeof(*guard.slots) << GUARD_SLOT_BITS);
}

/* What was told is what the stubs have counted, and what the pool has. */
static inline void assert_books(void)
{
	uint64_t live = 0, told = 0, at_sites = 0;

	for (size_t i = 0; i < PLACES; i++) {
		live += guard.metas[i].state == GUARD_LIVE;
		told += books.blocks[i] != 0;
		assert_true(guard.metas[i].state != GUARD_BUSY);
	}
	for (size_t i = 0; i < 1 << GUARD_SITE_BITS; i++)
		at_sites += guard.pool->sites[i];
	assert_int_equal(books.twice, 0);
	assert_int_equal(books.unknown, 0);
	assert_int_equal(books.allocated, guard.header->guarded);
	assert_int_equal(books.freed, guard.header->freed);
	assert_int_equal(books.allocated - books.freed, live);
	assert_int_equal(told, live);
	assert_int_equal(guard.pool->live, live);
	assert_int_equal(at_sites, live);
	assert_int_equal(books.bad, guard.header->double_freed + guard.header->invalid_freed +
					    guard.header->changed);
}

#endif
