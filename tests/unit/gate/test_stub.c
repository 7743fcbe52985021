// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The gate, put into this very process: the functions of a second C library, a copy that nobody else
 * traces, get their jumps, and where a target has a nop for a probe the stubs call the books below.
 * What they tell must be what was done.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/gate/stub.h"
#include "user/process/maps.h"

#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__)
int main(void)
{
	puts("1..0 # SKIP x86_64 only, and the C library's own malloc");
	return 0;
}
#else

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

static const struct {
	const char *name;
	uint32_t kind;
	unsigned arguments;
} functions[] = {
	{"malloc", GATE_KIND_SIZE_1, 1},   {"calloc", GATE_KIND_CALLOC, 2},
	{"realloc", GATE_KIND_REALLOC, 2}, {"free", GATE_KIND_FREE, 1},
	{"memalign", GATE_KIND_SIZE_2, 2}, {"posix_memalign", GATE_KIND_POSIX, 3},
};

/* The second library's. */
static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
} c;

static struct {
	uint8_t *code;
	struct gate_header *header;
	uint64_t jumps[ARRAY_SIZE(functions)];
	uint8_t before[ARRAY_SIZE(functions)][DISPLACE_JUMP];
	int memory; /* /proc/self/mem, which writes to text */
} gate;

static void write_text(uint64_t address, const void *bytes, size_t size)
{
	assert_int_equal(pwrite(gate.memory, bytes, size, (off_t)address), size);
}

static const struct gate_stub *stub_of(uint32_t kind)
{
	size_t count;
	const struct gate_stub *stubs = gate_stubs(&count);

	for (size_t i = 0; i < count; i++) {
		if (stubs[i].kind == kind)
			return &stubs[i];
	}
	fail();
	return NULL;
}

/* GATE_PROBE bytes that call the hook, by an absolute jump at `far`. */
static void set_hook(uint8_t *code, uint32_t at, uint8_t *far, void (*hook)(void))
{
	static const uint8_t jmp[6] = {0xff, 0x25}; /* jmp *0(%rip) */

	if (!at)
		return;
	assert_int_equal(displace_jump((uintptr_t)gate.code + at,
				       (uintptr_t)gate.code + (uint64_t)(far - code), code + at),
			 0);
	code[at] = 0xe8;
	memcpy(far, jmp, sizeof(jmp));
	memcpy(far + sizeof(jmp), &hook, sizeof(hook));
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

static void put_function(uint8_t *code, size_t f, const void *function)
{
	uint8_t bytes[DISPLACE_CODE_MAX];
	struct displace_request request = {.size = sizeof(bytes),
					   .code = bytes,
					   .address = (uintptr_t)function,
					   .arguments = functions[f].arguments};
	const struct gate_stub *stub = stub_of(functions[f].kind);
	struct displaced plan;
	const char *why;

	memcpy(bytes, function, sizeof(bytes));
	assert_int_equal(displace_plan(&request, &plan, &why), 0);
	assert_int_equal(gate_fill_stub(code, (uintptr_t)gate.code, stub, &request, &plan), 0);
	/* glibc's realloc(NULL, size) goes to malloc, which counts it. */
	if (stub->null)
		assert_int_equal(displace_jump((uintptr_t)gate.code + stub->null,
					       (uintptr_t)gate.code + stub->room,
					       code + stub->null),
				 0);
	set_hook(code, stub->allocated, code + 0x7f00, hook_allocated);
	set_hook(code, stub->reallocated, code + 0x7f00, hook_allocated);
	set_hook(code, stub->freed, code + 0x7f20, hook_freed);
	set_hook(code, stub->kept, code + 0x7f40, hook_kept);
	gate.jumps[f] = request.address + plan.kept;
	memcpy(gate.before[f], bytes + plan.kept, DISPLACE_JUMP);
}

/* A copy in a namespace of its own: the program's own malloc stays as it is. */
static void *open_library(void)
{
	char copy[] = "/tmp/test_stub.XXXXXX", buffer[65536];
	int from, to = mkstemp(copy);
	const struct mapping *m;
	struct maps *maps;
	void *library;
	ssize_t n;

	assert_int_equal(maps_read(getpid(), &maps), 0);
	m = maps_find(maps, (uintptr_t)dlsym(RTLD_NEXT, "malloc"));
	assert_non_null(m);
	from = open(m->path, O_RDONLY | O_CLOEXEC);
	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(to, buffer, (size_t)n), n);
	close(from);
	close(to);
	maps_free(maps);
	library = dlmopen(LM_ID_NEWLM, copy, RTLD_NOW);
	if (!library)
		print_message("%s\n", dlerror());
	unlink(copy);
	assert_non_null(library);
	return library;
}

static int open_gate(void **state)
{
	void *library = open_library(), *all[ARRAY_SIZE(functions)];
	uint8_t *code = calloc(1, GATE_CODE_SIZE), jump[DISPLACE_JUMP];
	size_t size;
	const uint8_t *empty = gate_code(&size);

	(void)state;
	assert_in_range(size, 1000, 0x7f00);
	memcpy(code, empty, size);
	gate.memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	map_gate(dlsym(library, "malloc"));
	gate_header_init(gate.header, 0);
	for (size_t f = 0; f < ARRAY_SIZE(functions); f++) {
		all[f] = dlsym(library, functions[f].name);
		put_function(code, f, all[f]);
	}
	_Static_assert(sizeof(c) == sizeof(all), "a function each");
	memcpy(&c, all, sizeof(c));
	memcpy(gate.code, code, GATE_CODE_SIZE);
	free(code);
	for (size_t f = 0; f < ARRAY_SIZE(functions); f++) {
		displace_jump(gate.jumps[f],
			      gate_jump_target((uintptr_t)gate.code, stub_of(functions[f].kind)),
			      jump);
		write_text(gate.jumps[f], jump, sizeof(jump));
	}
	return 0;
}

static int close_gate(void **state)
{
	(void)state;
	for (size_t f = 0; f < ARRAY_SIZE(functions); f++)
		write_text(gate.jumps[f], gate.before[f], DISPLACE_JUMP);
	return 0;
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

static void assert_books(void)
{
	assert_int_equal(books.unknown, 0);
	assert_int_equal(books.twice, 0);
	assert_int_equal(gate.header->dropped, 0);
	assert_int_equal(books.allocated - books.freed, books.live);
	assert_int_equal(gate.header->sampled - gate.header->removed, books.live);
}

/* ---- tests -------------------------------------------------------------------------------- */

static void *volatile kept;

/* The first draw of a slot is no sample of the distribution: it comes at once. */
static void begin(uint64_t mean)
{
	sample_by(mean);
	kept = c.malloc(1);
	c.free(kept);
}

static void off(void **state)
{
	uint64_t before = books.allocated;

	(void)state;
	begin(0);
	for (int i = 0; i < 1000000; i++) {
		kept = c.malloc(100);
		c.free(kept);
	}
	assert_int_equal(books.allocated, before);
}

static void assert_rate(size_t size, uint64_t mean, unsigned calls)
{
	double p = 1 - exp(-(double)size / (double)mean), z;
	uint64_t before;

	begin(mean);
	before = books.allocated;
	for (unsigned i = 0; i < calls; i++) {
		kept = c.malloc(size);
		c.free(kept);
	}
	z = ((double)(books.allocated - before) - calls * p) / sqrt(calls * p * (1 - p));
	print_message("%zu bytes by %lu: %lu samples of %u calls, z %.2f\n", size,
		      (unsigned long)mean, (unsigned long)(books.allocated - before), calls, z);
	assert_true(fabs(z) < 5);
	assert_books();
}

static void rate(void **state)
{
	(void)state;
	assert_rate(16, 4096, 8000000);
	assert_rate(100, 4096, 2000000);
	assert_rate(5000, 4096, 200000);
	assert_rate(100000, 64 << 10, 20000);
	assert_rate(64, 512 << 10, 20000000);
}

static void each_function(void **state)
{
	void *aligned = NULL;
	uint64_t live;

	(void)state;
	begin(1); /* every call */
	live = books.live;
#define TOLD(call, size_told)                                        \
	do {                                                         \
		kept = (call);                                       \
		assert_int_equal(books.last_block, (uintptr_t)kept); \
		assert_int_equal(books.last_size, size_told);        \
		assert_int_equal(books.live, live + 1);              \
		c.free(kept);                                        \
		assert_int_equal(books.live, live);                  \
	} while (0)
	TOLD(c.malloc(1000), 1000);
	TOLD(c.calloc(10, 200), 2000);
	TOLD(c.realloc(NULL, 3000), 3000);
	TOLD(c.memalign(64, 4000), 4000);
	TOLD((assert_int_equal(c.posix_memalign(&aligned, 64, 7000), 0), aligned), 7000);
	TOLD(c.realloc(c.malloc(100), 8000), 8000);
	TOLD(c.realloc(c.malloc(100000), 9000), 9000);
	/* What fails is told by nobody, and leaves what was there. */
	volatile size_t absurd = SIZE_MAX / 4;
	uint64_t told = books.allocated;

	assert_null(c.malloc(absurd));
	assert_null(c.calloc(absurd, 8));
	assert_null(c.memalign(64, absurd));
	assert_int_equal(c.posix_memalign(&aligned, 3, 100), EINVAL);
	assert_int_equal(books.allocated, told);
	kept = c.malloc(100);
	void *failed = c.realloc(kept, absurd);
	assert_null(failed);
	assert_int_equal(books.kept, 1);
	assert_int_equal(books.live, live + 1);
	assert_int_equal(books.last_block, (uintptr_t)kept);
	/* realloc to nothing is free. */
	volatile size_t nothing = 0;
	failed = c.realloc(kept, nothing);
	assert_null(failed);
	assert_int_equal(books.live, live);
	/* Its filter byte, with which free(NULL) goes to look. */
	gate.code[GATE_FILTER]++;
	c.free(NULL);
	gate.code[GATE_FILTER]--;
	assert_int_equal(books.live, live);
	assert_books();
	sample_by(0);
}

#define THREADS 4
#define SHARED	256

static void *blocks[THREADS * SHARED];

/* Blocks go from thread to thread. */
static void *work(void *arg)
{
	unsigned random = (unsigned)(uintptr_t)arg * 7919 + 1;

	for (unsigned i = 0; i < 400000; i++) {
		void *block, **place = &blocks[rand_r(&random) % ARRAY_SIZE(blocks)];
		size_t size = (size_t)rand_r(&random) % 3000;

		block = __atomic_exchange_n(place, NULL, __ATOMIC_ACQ_REL);
		switch (rand_r(&random) % 8) {
		case 0:
			c.free(block);
			block = c.calloc(3, size / 3 + 1);
			break;
		case 1:
			c.free(block);
			block = c.memalign(32, size * 32);
			break;
		case 2:
			c.free(block);
			block = NULL;
			if (c.posix_memalign(&block, 128, size + 1))
				block = NULL;
			break;
		case 3 ... 5:
			block = c.realloc(block, size + 1);
			break;
		default:
			c.free(block);
			block = c.malloc(size);
		}
		c.free(__atomic_exchange_n(place, block, __ATOMIC_ACQ_REL));
	}
	return NULL;
}

static void threads(void **state)
{
	pthread_t running[THREADS];

	(void)state;
	begin(2000);
	for (uintptr_t round = 0; round < 4; round++) {
		for (uintptr_t i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&running[i], NULL, work,
							(void *)(round * THREADS + i)),
					 0);
		for (size_t i = 0; i < THREADS; i++)
			pthread_join(running[i], NULL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		c.free(blocks[i]);
		blocks[i] = NULL;
	}
	print_message("%lu samples\n", (unsigned long)books.allocated);
	sample_by(0);
	assert_books();
}

static void forked(void **state)
{
	void *sampled;
	int status;
	pid_t child;

	(void)state;
	begin(1);
	sampled = c.malloc(100);
	child = fork();
	if (!child) {
		uint64_t told = books.allocated + books.freed;

		c.free(sampled);
		for (int i = 0; i < 100000; i++) {
			kept = c.malloc(100);
			kept = c.realloc(kept, 1000);
			c.free(kept);
		}
		_exit(told != books.allocated + books.freed);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	c.free(sampled);
	sample_by(0);
	assert_books();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off),	   cmocka_unit_test(each_function), cmocka_unit_test(rate),
		cmocka_unit_test(threads), cmocka_unit_test(forked),
	};

	return cmocka_run_group_tests(tests, open_gate, close_gate);
}
#endif
