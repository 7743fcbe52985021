// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The memory of a process of ours, copied while it stands still and from a fork of it: what it has written there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/sleepers_abi.h"
#include "tests/unit/freeze/mapped_pool.h"
#include "user/base/clock.h"
#include "user/freeze/freeze.h"

#define THREADS	  3
#define PAGE	  4096ull
#define PAGES	  2048
#define MAX_PAUSE (10 * NS_PER_S)
#define GROWN	  (64ull << 20)

/* What the target has, by how it is mapped; all of PAGES pages, of which every third is touched. */
enum {
	PRIVATE,
	PROTECTED, /* can be written no more */
	SHARED,
	OWN, /* MADV_DONTFORK */
	AREAS,
};

/* Shared with the target. */
struct shared {
	uint64_t turns;
	uint64_t *private_turns; /* the same number twice, written before that one */
	uint64_t *areas[AREAS];
	struct mapped_pool pool;
	pid_t waiter; /* a thread that sleeps */
	int waiters;  /* how many have begun to */
	bool grow;    /* the target is to take GROWN bytes more */
	uint64_t *grown;
};

static struct shared *shared;
static pid_t target;

/* ---- the target --------------------------------------------------------------------------- */

static uint64_t word_of(int area, uint64_t word)
{
	return (word + 1) * 0x9e3779b97f4a7c15ull ^ (uint64_t)area << 56;
}

static bool is_touched(uint64_t page)
{
	return page % 3 == 0;
}

static void *waits(void *arg)
{
	shared->waiter = (pid_t)syscall(SYS_gettid);
	__atomic_add_fetch(&shared->waiters, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
	return arg;
}

static void grow(void)
{
	uint64_t *words =
		mmap(NULL, GROWN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (words == MAP_FAILED)
		_exit(1);
	for (uint64_t i = 0; i < GROWN / 8; i++)
		words[i] = word_of(AREAS, i);
	__atomic_store_n(&shared->grown, words, __ATOMIC_RELEASE);
}

static _Noreturn void run_target(void)
{
	static uint64_t turns[2];
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	for (int area = 0; area < AREAS; area++) {
		uint64_t *words =
			mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | (area == SHARED ? MAP_SHARED : MAP_PRIVATE), -1, 0);

		if (words == MAP_FAILED || madvise(words, PAGES * PAGE, MADV_NOHUGEPAGE))
			_exit(1);
		for (uint64_t i = 0; i < PAGES * PAGE / 8; i++) {
			if (is_touched(i * 8 / PAGE))
				words[i] = word_of(area, i);
		}
		shared->areas[area] = words;
	}
	if (mprotect(shared->areas[PROTECTED], PAGES * PAGE, PROT_READ) ||
	    madvise(shared->areas[OWN], PAGES * PAGE, MADV_DONTFORK))
		_exit(1);
	map_pool(&shared->pool);
	for (int i = 1; i < THREADS; i++)
		pthread_create(&thread, NULL, waits, NULL);
	while (__atomic_load_n(&shared->waiters, __ATOMIC_ACQUIRE) < THREADS - 1)
		usleep(500);
	shared->private_turns = turns;
	for (;;) {
		__atomic_add_fetch(&turns[0], 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&turns[1], 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&shared->turns, 1, __ATOMIC_RELAXED);
		if (__atomic_exchange_n(&shared->grow, false, __ATOMIC_ACQUIRE))
			grow();
	}
}

static uint64_t turns_now(void)
{
	return __atomic_load_n(&shared->turns, __ATOMIC_RELAXED);
}

static bool goes_on(void)
{
	uint64_t before = turns_now();

	for (int tries = 0; tries < 20000; tries++) {
		if (turns_now() > before + 1000)
			return true;
		usleep(500);
	}
	return false;
}

static int start(void **state)
{
	(void)state;
	memset(shared, 0, sizeof(*shared));
	target = fork();
	if (target == 0)
		run_target();
	return goes_on() ? 0 : -1;
}

static int finish(void **state)
{
	int status;

	(void)state;
	kill(target, SIGKILL);
	return waitpid(target, &status, 0) == target ? 0 : -1;
}

/* ---- looking at the copy ------------------------------------------------------------------ */

static void expect_area(const struct memory_image *image, int area)
{
	uint64_t start = (uint64_t)(uintptr_t)shared->areas[area];

	for (uint64_t page = 0; page < PAGES; page++) {
		uint64_t at = start + page * PAGE;
		const uint64_t *words = memory_image_words(image, at, PAGE / 8);
		const struct memory_region *region = memory_image_region(image, at);

		if (!is_touched(page)) {
			if (words)
				fail_msg("area %d: page %d is there", area, (int)page);
			continue;
		}
		if (!words)
			fail_msg("area %d: page %d is missing", area, (int)page);
		for (uint64_t i = 0; i < PAGE / 8; i++) {
			if (words[i] != word_of(area, page * PAGE / 8 + i))
				fail_msg("area %d: page %d, word %d", area, (int)page, (int)i);
		}
		assert_ptr_equal(region->mapping, maps_find(image->maps, at));
		assert_int_equal(region->mapping->shared, area == SHARED);
	}
}

/* All of it, and of the moment when there had been that many turns. */
static void expect_image(struct freeze *freeze, uint64_t turns)
{
	const struct freeze_account *account = freeze_account(freeze);
	struct memory_image *image = freeze_take_memory(freeze);
	uint64_t at = (uint64_t)(uintptr_t)shared->private_turns, bytes = 0;
	const uint64_t *pair = memory_image_words(image, at, 2);

	for (int area = 0; area < AREAS; area++)
		expect_area(image, area);
	expect_pool(image, &shared->pool);
	assert_non_null(pair);
	assert_in_range(pair[0], turns, turns + 1);
	assert_in_range(pair[1], turns, pair[0]);
	assert_int_equal(image->thread_count, THREADS);
	assert_int_equal(account->threads, THREADS);
	for (size_t i = 0; i < image->thread_count; i++) {
		const struct memory_thread *thread = &image->threads[i];
		uint64_t word;

		assert_true(thread->tls && thread->word_count > 40);
		assert_true(memory_image_word(image, thread->sp & ~7ull, &word));
	}
	for (size_t i = 0; i < image->region_count; i++) {
		assert_true(!i || image->regions[i].start >=
					  image->regions[i - 1].start + image->regions[i - 1].size);
		bytes += image->regions[i].size;
	}
	assert_int_equal(account->read_bytes, bytes);
	assert_int_equal(account->unread_bytes, 0);
	assert_int_equal(image->data_size, bytes); /* the rest has been given back */
	memory_image_free(image);
}

static struct freeze *begin(void)
{
	char why[REASON_MAX] = "";
	struct freeze *freeze;

	if (freeze_new(target, &freeze, why))
		fail_msg("%s", why);
	return freeze;
}

static void run(struct freeze *freeze, uint64_t max_pause_ns, const struct freeze_hooks *hooks)
{
	char why[REASON_MAX] = "";

	if (freeze_run(freeze, max_pause_ns, NULL, hooks, why))
		fail_msg("%s", why);
}

/* What the hooks have seen, a letter for each. */
struct seen {
	char calls[16];
	uint64_t turns; /* when it stood still */
	int fails;	/* letter of the hook that does */
	bool awake;	/* the thread that was left asleep has woken up */
};

static void note(struct seen *seen, char letter)
{
	size_t n = strlen(seen->calls);

	assert_true(n + 1 < sizeof(seen->calls));
	seen->calls[n] = letter;
}

static int call(struct seen *seen, char letter, char reason[static REASON_MAX])
{
	note(seen, letter);
	return seen->fails == letter ? refuse(reason, -EDOM, "%c has failed", letter) : 0;
}

static int stopped(void *ctx, const struct stop *stop, char reason[static REASON_MAX])
{
	struct seen *seen = ctx;

	assert_int_equal(stop_thread_count(stop), THREADS);
	seen->turns = turns_now();
	usleep(2000);
	assert_int_equal(seen->turns, turns_now());
	seen->awake = true;
	return call(seen, 's', reason);
}

static int forking(void *ctx, char reason[static REASON_MAX])
{
	return call(ctx, 'f', reason);
}

static void forked(void *ctx, int err, const char *reason)
{
	if (err)
		assert_string_equal(reason, "f has failed");
	note(ctx, err ? 'n' : 'F');
}

static void releasing(void *ctx)
{
	struct seen *seen = ctx;

	assert_int_equal(seen->turns, turns_now());
	note(seen, 'g');
}

static int reading(void *ctx, char reason[static REASON_MAX])
{
	struct seen *seen = ctx;

	/* What is read from now on must be older. */
	if (strchr(seen->calls, 'g'))
		assert_true(goes_on());
	return call(seen, 'r', reason);
}

static int has_read(void *ctx, uint64_t until_ns, char reason[static REASON_MAX])
{
	struct seen *seen = ctx;

	if (strchr(seen->calls, 'g')) {
		assert_int_equal(until_ns, UINT64_MAX);
	} else {
		assert_true(until_ns > monotonic_ns());
		assert_int_equal(seen->turns, turns_now());
	}
	return call(seen, 'R', reason);
}

static void again(void *ctx)
{
	note(ctx, 'a');
}

static struct freeze_hooks hooks_of(struct seen *seen)
{
	return (struct freeze_hooks){.ctx = seen,
				     .stopped = stopped,
				     .forking = forking,
				     .forked = forked,
				     .releasing = releasing,
				     .reading = reading,
				     .read = has_read,
				     .again = again};
}

/* ---- the tests ---------------------------------------------------------------------------- */

static void as_it_stands(void **state)
{
	struct seen seen = {0};
	struct freeze_hooks hooks = hooks_of(&seen);
	struct freeze *freeze = begin();
	const struct freeze_account *account = freeze_account(freeze);

	(void)state;
	run(freeze, MAX_PAUSE, &hooks);
	assert_string_equal(seen.calls, "srR");
	assert_true(goes_on());
	assert_true(account->pause_ns >= 2 * NS_PER_MS && account->pause_ns < MAX_PAUSE);
	assert_true(account->memory_ns && account->stop_ns);
	assert_false(account->approximate);
	assert_int_equal(account->fork, 0);
	expect_image(freeze, seen.turns);
	freeze_free(freeze);
}

static void by_fork(void **state)
{
	struct freeze_forks forks = {0};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct seen seen = {0};
		struct freeze_hooks hooks = hooks_of(&seen);
		struct freeze *freeze = begin();
		const struct freeze_account *account = freeze_account(freeze);
		char why[REASON_MAX] = "";

		if (freeze_by_fork(freeze, &forks, why))
			fail_msg("%s", why);
		run(freeze, MAX_PAUSE, &hooks);
		assert_string_equal(seen.calls, "sfFgrR");
		assert_true(goes_on());
		assert_true(account->fork > 0 && account->fork_ns < account->pause_ns);
		assert_true(forks.made_ns && forks.watched > 0);
		assert_false(account->approximate);
		expect_image(freeze, seen.turns);
		freeze_free(freeze);
	}
}

/* By whoever only wants the memory. The areas are as they should be; the image is the caller's. */
static struct memory_image *copied(bool by_forks, bool growing)
{
	struct freeze_forks forks = {0};
	struct freeze *freeze = begin();
	char why[REASON_MAX] = "";
	struct memory_image *image;

	if (by_forks)
		assert_int_equal(freeze_by_fork(freeze, &forks, why), 0);
	if (growing) {
		shared->grown = NULL;
		__atomic_store_n(&shared->grow, true, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&shared->grown, __ATOMIC_ACQUIRE))
			usleep(500);
	}
	run(freeze, MAX_PAUSE, NULL);
	assert_int_equal(!!freeze_account(freeze)->fork, by_forks);
	assert_int_equal(freeze_account(freeze)->unread_bytes, 0);
	image = freeze_take_memory(freeze);
	freeze_free(freeze);
	for (int area = 0; area < AREAS; area++)
		expect_area(image, area);
	assert_true(goes_on());
	return image;
}

static void without_hooks(void **state)
{
	(void)state;
	for (int by_forks = 0; by_forks < 2; by_forks++)
		memory_image_free(copied(by_forks, false));
}

/* Far more than there was when room was made for the copy of it: all is read all the same. */
static void grown_meanwhile(void **state)
{
	(void)state;
	for (int by_forks = 0; by_forks < 2; by_forks++) {
		struct memory_image *image = copied(by_forks, true);

		for (uint64_t i = 0, word; i < GROWN / 8; i++) {
			assert_true(memory_image_word(image, (uintptr_t)&shared->grown[i], &word));
			assert_true(word == word_of(AREAS, i));
		}
		memory_image_free(image);
	}
}

static int look(void *ctx, pid_t pid, bool registers,
		int (*fn)(void *fn_ctx, const struct sleeper *sleeper), void *fn_ctx)
{
	const struct sleeper sleeper = {.tid = (uint32_t)shared->waiter};
	const struct seen *seen = ctx;

	(void)registers;
	assert_int_equal(pid, target);
	return seen->awake ? 0 : fn(fn_ctx, &sleeper);
}

/* A thread that was left asleep wakes up: it is stopped like the others, and all is read again. */
static void woken_up(void **state)
{
	struct seen seen = {0};
	struct freeze_hooks hooks = hooks_of(&seen);
	const struct stop_sleepers sleepers = {.ctx = &seen, .look = look};
	struct freeze *freeze = begin();
	char why[REASON_MAX] = "";

	(void)state;
	if (freeze_run(freeze, MAX_PAUSE, &sleepers, &hooks, why))
		fail_msg("%s", why);
	assert_string_equal(seen.calls, "srRasrR");
	assert_int_equal(freeze_account(freeze)->asleep, 0);
	assert_false(freeze_account(freeze)->approximate);
	expect_image(freeze, seen.turns);
	freeze_free(freeze);
	assert_true(goes_on());
}

/* Where no fork is to be had the process is read as it stands. */
static void fork_given_up(void **state)
{
	struct freeze_forks forks = {0};
	struct seen seen = {.fails = 'f'};
	struct freeze_hooks hooks = hooks_of(&seen);
	struct freeze *freeze = begin();
	char why[REASON_MAX] = "";

	(void)state;
	assert_int_equal(freeze_by_fork(freeze, &forks, why), 0);
	run(freeze, MAX_PAUSE, &hooks);
	assert_string_equal(seen.calls, "sfnrR");
	assert_int_equal(freeze_account(freeze)->fork, 0);
	assert_int_equal(forks.made_ns, 0);
	expect_image(freeze, seen.turns);
	freeze_free(freeze);
	assert_true(goes_on());
}

static void hook_fails(void **state)
{
	static const struct {
		int fails;
		const char *calls;
	} cases[] = {{'s', "s"}, {'r', "srR"}, {'R', "srR"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct seen seen = {.fails = cases[i].fails};
		struct freeze_hooks hooks = hooks_of(&seen);
		struct freeze *freeze = begin();
		char why[REASON_MAX] = "", expected[REASON_MAX];

		assert_int_equal(freeze_run(freeze, MAX_PAUSE, NULL, &hooks, why), -EDOM);
		snprintf(expected, sizeof(expected), "%c has failed", cases[i].fails);
		assert_string_equal(why, expected);
		assert_string_equal(seen.calls, cases[i].calls);
		assert_true(goes_on());
		freeze_free(freeze);
	}
}

static int takes_long(void *ctx, char reason[static REASON_MAX])
{
	(void)reason;
	usleep(*(useconds_t *)ctx);
	return 0;
}

static int is_over(void *ctx, uint64_t until_ns, char reason[static REASON_MAX])
{
	(void)ctx;
	(void)reason;
	assert_int_equal(until_ns, 0);
	assert_true(goes_on());
	return 0;
}

/* The pause is over, and the process goes on, before its memory has been read. */
static void too_long(void **state)
{
	useconds_t us = 1100000;
	const struct freeze_hooks hooks = {.ctx = &us, .reading = takes_long, .read = is_over};
	struct freeze *freeze = begin();
	struct memory_image *image;

	(void)state;
	run(freeze, NS_PER_S, &hooks);
	assert_true(freeze_account(freeze)->approximate);
	assert_true(freeze_account(freeze)->pause_ns >= NS_PER_S);
	image = freeze_take_memory(freeze);
	for (int area = 0; area < AREAS; area++)
		expect_area(image, area);
	memory_image_free(image);
	freeze_free(freeze);
	assert_true(goes_on());
}

/* Given up before the stop, and held already. */
static void other_ways(void **state)
{
	struct seen seen = {0};
	struct freeze_hooks hooks = hooks_of(&seen);
	char why[REASON_MAX] = "";
	struct freeze *freeze = begin();
	struct stop *stop;

	(void)state;
	freeze_free(freeze);
	assert_true(goes_on());
	assert_int_equal(stop_begin(target, MAX_PAUSE, NULL, &stop, why), 0);
	freeze = begin();
	assert_int_equal(freeze_run_held(freeze, stop, &hooks, why), 0);
	assert_string_equal(seen.calls, "srR");
	expect_image(freeze, seen.turns);
	assert_true(goes_on());
	freeze_free(freeze);
}

static void nobody(void **state)
{
	char why[REASON_MAX] = "";
	struct freeze *freeze;
	pid_t gone = fork();

	(void)state;
	if (gone == 0)
		_exit(0);
	waitpid(gone, NULL, 0);
	assert_int_equal(freeze_new(gone, &freeze, why), -ESRCH);
	assert_string_equal(why, "its memory cannot be looked at");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(as_it_stands, start, finish),
		cmocka_unit_test_setup_teardown(by_fork, start, finish),
		cmocka_unit_test_setup_teardown(without_hooks, start, finish),
		cmocka_unit_test_setup_teardown(grown_meanwhile, start, finish),
		cmocka_unit_test_setup_teardown(woken_up, start, finish),
		cmocka_unit_test_setup_teardown(fork_given_up, start, finish),
		cmocka_unit_test_setup_teardown(hook_fails, start, finish),
		cmocka_unit_test_setup_teardown(too_long, start, finish),
		cmocka_unit_test_setup_teardown(other_ways, start, finish),
		cmocka_unit_test(nobody),
	};

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	return shared == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
