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
#include <time.h>
#include <unistd.h>

#include "user/process/maps.h"

#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__)
int main(void)
{
	puts("1..0 # SKIP x86_64 only, and the C library's own malloc");
	return 0;
}
#else
#include "tests/unit/gate/in_process.h"
#include "tests/unit/rounds.h"

/* ---- the gate ----------------------------------------------------------------------------- */

static struct gated functions[] = {
	{"malloc", GATE_KIND_SIZE_1, 1, .calls_others = false},
	{"calloc", GATE_KIND_CALLOC, 2, .calls_others = false},
	{"realloc", GATE_KIND_REALLOC, 2, .calls_others = true},
	{"free", GATE_KIND_FREE, 1, .calls_others = true},
	{"memalign", GATE_KIND_SIZE_2, 2, .calls_others = true},
	{"posix_memalign", GATE_KIND_POSIX, 3, .calls_others = true},
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

static int open_gate(void **state)
{
	void *library = open_copy(dlsym(RTLD_NEXT, "malloc")), *all[ARRAY_SIZE(functions)];

	(void)state;
	for (size_t f = 0; f < ARRAY_SIZE(functions); f++)
		all[f] = functions[f].function = dlsym(library, functions[f].name);
	_Static_assert(sizeof(c) == sizeof(all), "a function each");
	memcpy(&c, all, sizeof(c));
	map_gate(functions[0].function);
	gate_put(functions, ARRAY_SIZE(functions));
	gate_hook(true);
	gate_set(GATE_SAMPLED);
	return 0;
}

static int close_gate(void **state)
{
	(void)state;
	gate_set(GATE_NONE);
	return 0;
}

/* ---- tests -------------------------------------------------------------------------------- */

static void *volatile kept;

/* Each slot anew. */
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

/* Ways to get a block; each is to be counted once, whatever it calls inside. */
static void *by_malloc(size_t size)
{
	return c.malloc(size);
}

static void *by_calloc(size_t size)
{
	return c.calloc(2, size / 2);
}

static void *by_realloc_null(size_t size)
{
	return c.realloc(NULL, size);
}

/* To one byte first, which is counted too and changes the odds by nothing to speak of. */
static void *by_realloc(size_t size)
{
	return c.realloc(c.malloc(1), size);
}

/* The C library's goes to malloc. */
static void *by_memalign_8(size_t size)
{
	return c.memalign(8, size);
}

static void *by_memalign_64(size_t size)
{
	return c.memalign(64, size);
}

static void *by_posix_memalign(size_t size)
{
	void *block = NULL;

	assert_int_equal(c.posix_memalign(&block, 8, size), 0);
	return block;
}

static const struct {
	const char *name;
	void *(*get)(size_t size);
} ways[] = {
	{"malloc", by_malloc},
	{"calloc", by_calloc},
	{"realloc(NULL)", by_realloc_null},
	{"realloc", by_realloc},
	{"memalign(8)", by_memalign_8},
	{"memalign(64)", by_memalign_64},
	{"posix_memalign", by_posix_memalign},
};

static void assert_rate(size_t way, size_t size, uint64_t mean, int all)
{
	unsigned calls = (unsigned)rounds(all);
	double p = 1 - exp(-(double)size / (double)mean), z;
	uint64_t before;

	begin(mean);
	before = books.allocated;
	for (unsigned i = 0; i < calls; i++) {
		kept = ways[way].get(size);
		c.free(kept);
	}
	z = ((double)(books.allocated - before) - calls * p) / sqrt(calls * p * (1 - p));
	print_message("%s, %zu bytes by %lu: %lu samples of %u calls, z %.2f\n", ways[way].name,
		      size, (unsigned long)mean, (unsigned long)(books.allocated - before), calls,
		      z);
	assert_true(fabs(z) < 6);
	assert_books(true);
}

static void rate(void **state)
{
	(void)state;
	/* Of a mean in whole bytes these would be 30 and 8 % short, with z of some -90 and -30. */
	assert_rate(0, 1, 2, 200000);
	assert_rate(0, 16, 16, 200000);
	assert_rate(0, 16, 4096, 8000000);
	assert_rate(0, 100, 4096, 2000000);
	assert_rate(0, 5000, 4096, 200000);
	assert_rate(0, 100000, 64 << 10, 20000);
	assert_rate(0, 64, 512 << 10, 20000000);
	/* Counted twice, z would be some +100. */
	for (size_t way = 1; way < ARRAY_SIZE(ways); way++)
		assert_rate(way, 1000, 32 << 10, 500000);
}

/* A thread's first call is no likelier to be a sample than any other one. */
static void first_calls(void **state)
{
	double p = 1 - exp(-1000.0 / 4096), z;
	struct gate_slot *slots = (void *)(gate.code + GATE_SLOTS);
	unsigned calls = (unsigned)rounds(100000);
	uint64_t before;

	(void)state;
	begin(4096);
	before = books.allocated;
	for (unsigned i = 0; i < calls; i++) {
		struct gate_slot *home =
			&slots[(uintptr_t)__builtin_thread_pointer() * GATE_GOLDEN >>
			       (64 - GATE_SLOT_BITS)];

		*home = (struct gate_slot){0};
		gate.header->seed = i * GATE_GOLDEN;
		kept = c.malloc(1000);
		c.free(kept);
	}
	z = ((double)(books.allocated - before) - calls * p) / sqrt(calls * p * (1 - p));
	print_message("%lu samples of %u first calls, z %.2f\n",
		      (unsigned long)(books.allocated - before), calls, z);
	assert_true(fabs(z) < 6);
	assert_books(true);
	sample_by(0);
}

/*
 * The mean changes while distances are under way. Each sample says with which one its own was drawn, and with that what
 * samples stand for adds up to what was allocated.
 */
static void levels(void **state)
{
	double truth = 0, told = 0, variance = 0, z;
	unsigned random = 1, calls = (unsigned)rounds(1000000), levels_told = 0;
	uint64_t before;

	(void)state;
	begin(4096);
	for (unsigned i = 0; i < calls; i++) {
		size_t size = (size_t)rand_r(&random) % (i % 16 ? 300 : 30000) + 1, way = i % 7;

		/* As often as a sample comes, so that most end at another level than that of the time. */
		if (i % 8 == 0)
			gate.header->level = (unsigned)rand_r(&random) / 16 % 6;
		before = books.allocated;
		kept = ways[way].get(size);
		truth += (double)(ways[way].get == by_calloc ? size / 2 * 2 : size);
		if (books.allocated != before && books.last_block == (uintptr_t)kept) {
			double p = -expm1(-(double)books.last_size /
					  (double)(4096ull << books.last_level));

			assert_in_range(books.last_level, 0, 5);
			levels_told |= 1u << books.last_level;
			told += (double)books.last_size / p;
			variance += (double)(books.last_size * books.last_size) * (1 - p) / p / p;
		}
		c.free(kept);
	}
	gate.header->level = 0;
	z = (told - truth) / sqrt(variance);
	print_message("%.0f bytes, told %.0f, z %.2f\n", truth, told, z);
	assert_int_equal(levels_told, 0x3f);
	assert_true(fabs(z) < 6);
	assert_books(true);
	sample_by(0);
}

static void each_function(bool sampled)
{
	void *aligned = NULL;
	uint64_t live, kept_before = books.kept;

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
	TOLD(c.memalign(8, 5000), 5000);
	TOLD((assert_int_equal(c.posix_memalign(&aligned, 8, 6000), 0), aligned), 6000);
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
	assert_int_equal(books.kept, kept_before + 1);
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
	assert_books(sampled);
	sample_by(0);
}

static void each_function_sampled(void **state)
{
	(void)state;
	gate_set(GATE_SAMPLED);
	each_function(true);
}

static void each_function_exact(void **state)
{
	(void)state;
	gate_set(GATE_EXACT);
	each_function(false);
	gate_set(GATE_SAMPLED);
}

#define THREADS 4
#define SHARED	256

static void *blocks[THREADS * SHARED];
static uint64_t made, ended; /* what there was to tell */

static void end(void *block, uint64_t *count)
{
	*count += block != NULL;
	c.free(block);
}

/* Blocks go from thread to thread. */
static void *work(void *arg)
{
	unsigned random = (unsigned)(uintptr_t)arg * 7919 + 1;
	uint64_t got = 0, gone = 0;

	for (int i = 0; i < rounds(200000); i++) {
		void *block, **place = &blocks[rand_r(&random) % ARRAY_SIZE(blocks)];
		size_t size = (size_t)rand_r(&random) % 3000;
		unsigned what = (unsigned)rand_r(&random) % 8;

		block = __atomic_exchange_n(place, NULL, __ATOMIC_ACQ_REL);
		if (what >= 3 && what <= 5) {
			gone += block != NULL;
			block = c.realloc(block, size + 1);
		} else {
			end(block, &gone);
			block = NULL;
			if (what == 0)
				block = c.calloc(3, size / 3 + 1);
			else if (what == 1)
				block = c.memalign(8u << size % 8, size * 32);
			else if (what == 2)
				c.posix_memalign(&block, 8u << size % 8, size + 1);
			else
				block = c.malloc(size);
		}
		got++;
		end(__atomic_exchange_n(place, block, __ATOMIC_ACQ_REL), &gone);
	}
	__atomic_fetch_add(&made, got, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ended, gone, __ATOMIC_RELAXED);
	return NULL;
}

static void run_threads(void)
{
	pthread_t running[THREADS];

	made = ended = 0;
	for (uintptr_t round = 0; round < 3; round++) {
		for (uintptr_t i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&running[i], NULL, work,
							(void *)(round * THREADS + i)),
					 0);
		for (size_t i = 0; i < THREADS; i++)
			pthread_join(running[i], NULL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		end(blocks[i], &ended);
		blocks[i] = NULL;
	}
}

static void threads_sampled(void **state)
{
	(void)state;
	begin(2000);
	run_threads();
	print_message("%lu samples\n", (unsigned long)books.allocated);
	sample_by(0);
	assert_books(true);
}

static void assert_all_told(void)
{
	uint64_t allocated = books.allocated, freed = books.freed;

	run_threads();
	print_message("%lu blocks, %lu told; %lu ended, %lu told\n", (unsigned long)made,
		      (unsigned long)(books.allocated - allocated), (unsigned long)ended,
		      (unsigned long)(books.freed - freed));
	assert_int_equal(books.allocated - allocated, made);
	assert_int_equal(books.freed - freed, ended);
	assert_books(false);
}

static void threads_exact(void **state)
{
	struct gate_slot *slots = (void *)(gate.code + GATE_SLOTS);

	(void)state;
	gate_set(GATE_EXACT);
	begin(1);
	assert_all_told();
	/* Nearly every slot is somebody's already. */
	begin(1);
	for (size_t i = 0; i < 1u << GATE_SLOT_BITS; i++) {
		if (i % 20)
			slots[i].thread = 1;
	}
	assert_all_told();
	assert_int_equal(gate.header->crowded, 0);
	sample_by(0);
	gate_set(GATE_SAMPLED);
}

static void fork_in(bool sampled)
{
	void *block;
	int status;
	pid_t child;

	begin(1);
	block = c.malloc(100);
	child = fork();
	if (!child) {
		uint64_t told = books.allocated + books.freed;

		c.free(block);
		for (int i = 0; i < 100000; i++) {
			kept = c.malloc(100);
			kept = c.realloc(kept, 1000);
			c.free(kept);
			c.free(c.memalign(8, 100));
		}
		_exit(told != books.allocated + books.freed);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	c.free(block);
	sample_by(0);
	assert_books(sampled);
}

static void forked(void **state)
{
	(void)state;
	fork_in(true);
	gate_set(GATE_EXACT);
	fork_in(false);
	gate_set(GATE_SAMPLED);
}

/* The best of some, ns. */
static double pair_takes(void *(*get)(size_t))
{
	double best = 1e9;

	for (int pass = 0; pass < rounds(10); pass++) {
		struct timespec from, to;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (unsigned i = 0; i < 500000; i++) {
			kept = get(32);
			c.free(kept);
		}
		clock_gettime(CLOCK_MONOTONIC, &to);
		best = fmin(best, ((double)(to.tv_sec - from.tv_sec) * 1e9 +
				   (double)(to.tv_nsec - from.tv_nsec)) /
					  500000);
	}
	return best;
}

/* Figures to look at. What a probe costs is not in them. */
static void costs(void **state)
{
	static const char *const modes[] = {"no gate", "sampled by 512 KiB", "exact"};

	(void)state;
	gate_hook(false);
	for (enum gate_mode mode = GATE_NONE; mode <= GATE_EXACT; mode++) {
		gate_set(mode);
		begin(512 << 10);
		for (size_t way = 0; way < ARRAY_SIZE(ways); way++)
			print_message("%s, %s and free: %.1f ns\n", modes[mode], ways[way].name,
				      pair_takes(ways[way].get));
	}
	sample_by(0);
	gate_set(GATE_SAMPLED);
	gate_hook(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off),
		cmocka_unit_test(each_function_sampled),
		cmocka_unit_test(each_function_exact),
		cmocka_unit_test(rate),
		cmocka_unit_test(first_calls),
		cmocka_unit_test(levels),
		cmocka_unit_test(threads_sampled),
		cmocka_unit_test(threads_exact),
		cmocka_unit_test(forked),
		cmocka_unit_test(costs),
	};

	return cmocka_run_group_tests(tests, open_gate, close_gate);
}
#endif
