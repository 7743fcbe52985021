// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Guard sampling, put into this very process, at work: how often, how long, among threads that free each
 * other's blocks and look at every byte of them, and with children that are forked amid that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__)
int main(void)
{
	puts("1..0 # SKIP x86_64 only, and the C library's own malloc");
	return 0;
}
#else
#include "tests/unit/guard/guard_in_process.h"
#include "tests/unit/rounds.h"

static void *volatile kept;

static uint64_t samples(void)
{
	const struct guard_header *h = guard.header;

	return h->guarded + h->full + h->passed + h->unfit;
}

/* ---- how often ---------------------------------------------------------------------------- */

/* One in `period`; distances are even from 1 to 2 * period - 1, with a variance of period^2 / 3. */
static void assert_rate(uint64_t period, int all, size_t size)
{
	double calls = rounds(all), wanted = calls / (double)period, z;
	uint64_t before;

	guard_by(period);
	before = samples();
	for (double i = 0; i < calls; i++) {
		kept = c.malloc(size);
		c.free(kept);
	}
	z = ((double)(samples() - before) - wanted) / sqrt(wanted / 3);
	print_message("1 in %lu: %lu of %.0f calls, z %.2f\n", (unsigned long)period,
		      (unsigned long)(samples() - before), calls, z);
	assert_true(fabs(z) < 6);
	guard_by(0);
	assert_books();
}

static void rate(void **state)
{
	(void)state;
	assert_rate(2, 100000, 100);
	assert_rate(10, 500000, 4096);
	assert_rate(1000, 20000000, 32);
	assert_rate(100, 2000000, 5000);
}

/* Threads that make three calls each have their share: by the first distance alone half of it. */
static void rate_of_short_threads(void **state)
{
	int threads = rounds(100000);
	double wanted = threads * 3 / 20., z;
	uint64_t before = samples();

	(void)state;
	guard_by(20);
	for (int i = 0; i < threads; i++) {
		memset(guard.slots, 0, sizeof(*guard.slots) << GUARD_SLOT_BITS);
		guard.header->seed = (uint64_t)i * 7919;
		for (int j = 0; j < 3; j++) {
			kept = c.malloc(16);
			c.free(kept);
		}
	}
	z = ((double)(samples() - before) - wanted) / sqrt(wanted);
	print_message("short threads: %lu, z %.2f\n", (unsigned long)(samples() - before), z);
	assert_true(fabs(z) < 6);
	guard_by(0);
	assert_books();
}

static void off(void **state)
{
	uint64_t before = samples();

	(void)state;
	guard_by(0);
	for (int i = 0; i < 1000000; i++) {
		kept = c.malloc(100);
		c.free(kept);
	}
	assert_int_equal(samples(), before);
}

/* ---- blocks that live for ever ------------------------------------------------------------ */

static void immortal(void **state)
{
	static void *made[60 * 40 + 100];
	size_t count = 0;
	uint64_t live;

	(void)state;
	guard_by(1);
	for (int i = 0; i < 100; i++)
		made[count++] = c.malloc(1000);
	assert_int_equal(guard.pool->live, PLACES / 8);
	/* Four of those may have half of it; then they get less, and in the end one each. */
	for (size_t size = 0; size < 60; size++) {
		for (int i = 0; i < 40; i++)
			made[count++] = c.malloc(size * 16);
		live = guard.pool->live;
		assert_true(live <= PLACES);
		if (size < 3)
			assert_true(live <= PLACES / 8 * (size + 2));
		if (size == 30)
			assert_in_range(live, PLACES * 3 / 4, PLACES * 3 / 4 + 31);
	}
	/* A site that has not been seen yet, one of those whose hash is nobody's. */
	assert_true(live < PLACES);
	kept = NULL;
	for (size_t size = 2000; size < 2100 && !is_guarded(kept); size++) {
		kept = c.malloc(size);
		c.free(kept);
	}
	assert_true(is_guarded(kept));
	for (size_t i = 0; i < count; i++)
		c.free(made[i]);
	guard_by(0);
	assert_int_equal(guard.pool->live, 0);
	assert_books();
}

/* What has been freed stays as it is until all other places have had their turn. */
static void quarantine(void **state)
{
	uint8_t *first;
	unsigned between = 0;

	(void)state;
	guard_by(1);
	first = c.malloc(64);
	c.free(first);
	for (kept = NULL; kept != first; between++) {
		kept = c.malloc(64);
		c.free(kept);
	}
	assert_int_equal(between, PLACES);
	assert_int_equal(meta_of(first)->ended, guard.pool->cursor);
	guard_by(0);
	assert_books();
}

/* ---- threads ------------------------------------------------------------------------------ */

#define THREADS 4

struct content {
	uint32_t size;
	uint8_t tag;
	uint8_t bytes[];
};

static struct content *blocks[THREADS * 64];
static int turns; /* of each thread, and until so many children had guarded blocks: */
static volatile unsigned with_blocks, forks_wanted;
static uint64_t wrong; /* bytes that are not what they were written as */

static void fill_content(struct content *block, size_t size, uint8_t tag)
{
	block->size = (uint32_t)size;
	block->tag = tag;
	memset(block->bytes, tag, size - sizeof(*block));
}

static bool is_right(const struct content *block, size_t size)
{
	for (size_t i = 0; i < size - sizeof(*block); i++) {
		if (block->bytes[i] != block->tag)
			return false;
	}
	return true;
}

static void end(struct content *block)
{
	if (block && !is_right(block, block->size))
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	c.free(block);
}

static struct content *resize(struct content *block, size_t size)
{
	size_t old = block ? block->size : 0;

	block = c.realloc(block, size);
	if (old && !is_right(block, old < size ? old : size))
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	return block;
}

static struct content *make(unsigned what, size_t size)
{
	void *block = NULL;

	if (what == 0)
		return c.calloc(1, size);
	if (what == 1)
		return c.memalign(8u << size % 8, size);
	if (what == 2 && !c.posix_memalign(&block, 8u << size % 8, size))
		return block;
	return c.malloc(size);
}

static void *work(void *arg)
{
	unsigned random = (unsigned)(uintptr_t)arg * 7919 + 1;

	for (int i = 0; i < turns || with_blocks < forks_wanted; i++) {
		struct content *block,
			**place = &blocks[(unsigned)rand_r(&random) % ARRAY_SIZE(blocks)];
		size_t size = sizeof(*block) + (size_t)rand_r(&random) % 500;
		unsigned what = (unsigned)rand_r(&random) % 8;

		block = __atomic_exchange_n(place, NULL, __ATOMIC_ACQ_REL);
		if (what >= 6) {
			block = resize(block, size);
		} else {
			end(block);
			block = make(what, size);
		}
		fill_content(block, size, (uint8_t)random);
		end(__atomic_exchange_n(place, block, __ATOMIC_ACQ_REL));
	}
	return NULL;
}

/*
 * A child has what its parent had, frees it, and tells nobody. The library's own functions are not called: another
 * thread may have had their locks.
 */
static int child(void)
{
	uint64_t told = books.allocated + books.freed + books.bad;
	int inherited = 0;

	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		struct content *block = blocks[i];

		if (!block || !is_guarded(block))
			continue;
		inherited++;
		if (meta_of(block)->state != GUARD_LIVE || !is_right(block, block->size))
			return 1;
		memset(block, 0xff, block->size);
		c.free(block);
		if (meta_of(block)->state != GUARD_FREED)
			return 2;
		c.free(block);
		if (meta_of(block)->state != GUARD_FREED || block->tag != 0xff)
			return 3;
	}
	return told != books.allocated + books.freed + books.bad ? 4 : 10 + (inherited > 0);
}

static volatile bool working;
static unsigned forks;

/* Nobody waits for more. */
static void *failed_child(int status)
{
	forks_wanted = 0;
	return (void *)(uintptr_t)(0x10000 | (unsigned)status);
}

static void *fork_amid(void *arg)
{
	while (working) {
		pid_t pid = fork();
		int status;

		if (!pid)
			_exit(child());
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) / 2 != 5)
			return failed_child(status);
		with_blocks = with_blocks + (WEXITSTATUS(status) == 11);
		forks++;
	}
	return arg;
}

static void among_threads(uint64_t period, int all, bool forking)
{
	uint64_t before = guard.header->guarded, resized = guard.header->resized;
	pthread_t running[THREADS], forker;
	void *failed = NULL;

	turns = rounds(all);
	guard_by(period);
	working = true;
	if (forking)
		assert_int_equal(pthread_create(&forker, NULL, fork_amid, NULL), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&running[i], NULL, work, (void *)(i + period)), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(running[i], NULL);
	working = false;
	if (forking)
		pthread_join(forker, &failed);
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		end(blocks[i]);
		blocks[i] = NULL;
	}
	guard_by(0);
	print_message("1 in %lu: %lu guarded, %lu resized, %lu full, %lu passed\n",
		      (unsigned long)period, (unsigned long)(guard.header->guarded - before),
		      (unsigned long)(guard.header->resized - resized),
		      (unsigned long)guard.header->full, (unsigned long)guard.header->passed);
	assert_int_equal((uintptr_t)failed, 0);
	assert_int_equal(wrong, 0);
	assert_int_equal(books.bad, 0);
	assert_int_equal(guard.pool->live, 0);
	assert_true(guard.header->guarded > before + 100);
	assert_books();
}

static void threads(void **state)
{
	(void)state;
	among_threads(3, 50000, false);
	among_threads(500, 1000000, false);
}

static void forked(void **state)
{
	(void)state;
	forks_wanted = (unsigned)rounds(60);
	among_threads(7, 10000, true);
	print_message("%u forks, %u with guarded blocks\n", forks, with_blocks);
	assert_true(with_blocks >= forks_wanted);
}

/* Alone, a child may call the library: it gets blocks, and none is guarded. */
static void forked_alone(void **state)
{
	uint8_t *block;
	int status;
	pid_t pid;

	(void)state;
	guard_by(1);
	block = c.malloc(100);
	assert_true(is_guarded(block));
	memset(block, 4, 100);
	pid = fork();
	if (!pid) {
		uint64_t told = books.allocated + books.freed + books.bad;
		uint8_t *other = c.realloc(block, 300);
		bool right = other[99] == 4 && !is_guarded(other);

		c.free(other);
		for (int i = 0; i < 10000; i++) {
			other = c.calloc(1, 100);
			right &= !is_guarded(other);
			c.free(c.realloc(other, 1000));
		}
		_exit(!right || told != books.allocated + books.freed + books.bad);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(block[99], 4);
	c.free(block);
	guard_by(0);
	assert_books();
}

/* ---- costs -------------------------------------------------------------------------------- */

/* The best of some, ns. */
static double pair_takes(unsigned pairs)
{
	double best = 1e9;

	for (int pass = 0; pass < rounds(10); pass++) {
		struct timespec from, to;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (unsigned i = 0; i < pairs; i++) {
			kept = c.malloc(32);
			c.free(kept);
		}
		clock_gettime(CLOCK_MONOTONIC, &to);
		best = fmin(best, ((double)(to.tv_sec - from.tv_sec) * 1e9 +
				   (double)(to.tv_nsec - from.tv_nsec)) /
					  pairs);
	}
	return best;
}

/* Figures to look at. What a probe costs is not in them. */
static void costs(void **state)
{
	static const uint64_t periods[] = {0, 100000, 10000, 1000, 100, 1};

	(void)state;
	set_hooks(false);
	for (size_t i = 0; i < ARRAY_SIZE(periods); i++) {
		guard_by(periods[i]);
		print_message("1 in %lu: malloc and free %.1f ns\n", (unsigned long)periods[i],
			      pair_takes(periods[i] == 1 ? 1000 : 300000));
	}
	guard_by(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off),
		cmocka_unit_test(rate),
		cmocka_unit_test(rate_of_short_threads),
		cmocka_unit_test(immortal),
		cmocka_unit_test(quarantine),
		cmocka_unit_test(threads),
		cmocka_unit_test(forked),
		cmocka_unit_test(forked_alone),
		cmocka_unit_test(costs),
	};

	return cmocka_run_group_tests(tests, open_guard, NULL);
}
#endif
