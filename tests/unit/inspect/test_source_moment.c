// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the kernel says of a process is of the moment in which it is asked; and of one that has gone it says nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/inspect/inspect_source.h"

/* Kernels count pages by processor, and sum them up now and then: up to an eighth may be missing, or be too many. */
#define PIECE (32u << 20)
#define ABOUT (PIECE / 8)

struct child {
	pid_t pid;
	int orders, answers;
};

#define EXECUTE 'x'

/*
 * At each byte that it reads it writes to another PIECE of its own memory, and of shared memory, and says so; or it becomes
 * a program that only says so.
 */
static void child_run(int orders, int answers)
{
	char byte;

	while (read(orders, &byte, 1) == 1) {
		if (byte == EXECUTE) {
			dup2(orders, 0);
			dup2(answers, 1);
			execl("/bin/cat", "cat", (char *)NULL);
			_exit(1);
		}
		for (int shared = 0; shared < 2; shared++) {
			char *piece =
				mmap(NULL, PIECE, PROT_READ | PROT_WRITE,
				     MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE), -1, 0);

			if (piece == MAP_FAILED)
				_exit(1);
			memset(piece, 1, PIECE);
		}
		if (write(answers, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static void child_start(struct child *child)
{
	int orders[2], answers[2];

	assert_int_equal(pipe(orders), 0);
	assert_int_equal(pipe(answers), 0);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (!child->pid) {
		close(orders[1]);
		child_run(orders[0], answers[1]);
	}
	close(orders[0]);
	close(answers[1]);
	child->orders = orders[1];
	child->answers = answers[0];
}

/* It is waiting for the next order when it has answered: nothing of it changes meanwhile. */
static void child_grow(struct child *child)
{
	char byte = '+';

	assert_int_equal(write(child->orders, &byte, 1), 1);
	assert_int_equal(read(child->answers, &byte, 1), 1);
}

static void child_end(struct child *child)
{
	close(child->orders);
	close(child->answers);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

static void of_that_moment(void **state)
{
	char reason[REASON_MAX] = "";
	struct inspect_source source;
	uint64_t anon, shmem, before;
	struct child child;

	(void)state;
	child_start(&child);
	child_grow(&child);
	assert_int_equal(inspect_source_begin(child.pid, NULL, &source, reason), 0);
	assert_int_equal(source.pid, child.pid);
	assert_non_null(source.objects);
	/* Nothing of the moment is known by then. */
	assert_int_equal(source.time_ns, 0);
	assert_int_equal(source.rss_anon, 0);
	before = clock_ns(CLOCK_REALTIME);
	assert_int_equal(inspect_source_moment(&source, reason), 0);
	assert_in_range(source.time_ns, before, clock_ns(CLOCK_REALTIME));
	anon = source.rss_anon + source.swap;
	shmem = source.shmem;
	assert_true(anon >= PIECE - ABOUT);
	/* Asked again, of a later moment: the pages that came since, and those that they are found by. */
	child_grow(&child);
	before = clock_ns(CLOCK_REALTIME);
	assert_int_equal(inspect_source_moment(&source, reason), 0);
	assert_in_range(source.time_ns, before, clock_ns(CLOCK_REALTIME));
	assert_in_range(source.rss_anon + source.swap, anon + PIECE - ABOUT, anon + PIECE + ABOUT);
	assert_in_range(source.shmem, shmem + PIECE - ABOUT, shmem + PIECE + ABOUT);
	assert_string_equal(reason, "");
	inspect_source_release(&source);
	child_end(&child);
}

/* Whoever lends the cache has it afterwards, too. */
static void with_a_lent_cache(void **state)
{
	struct object_cache *cache = object_cache_new();
	char reason[REASON_MAX] = "";
	struct inspect_source source;
	struct object *object;

	(void)state;
	assert_non_null(cache);
	assert_int_equal(inspect_source_begin(getpid(), cache, &source, reason), 0);
	assert_ptr_equal(source.objects, cache);
	assert_string_equal(source.comm, "test_source_mom");
	assert_non_null(source.cmdline);
	assert_true(source.entry != 0);
	inspect_source_release(&source);
	assert_int_equal(object_cache_open(cache, "/proc/self/exe", &object), 0);
	object_unref(object);
	object_cache_free(cache);
}

static void of_one_that_has_gone(void **state)
{
	char reason[REASON_MAX] = "";
	struct inspect_source source;
	struct child child;

	(void)state;
	child_start(&child);
	assert_int_equal(inspect_source_begin(child.pid, NULL, &source, reason), 0);
	child_end(&child);
	assert_true(inspect_source_moment(&source, reason) < 0);
	assert_non_null(strstr(reason, "the kernel does not say how much memory it has"));
	assert_int_equal(source.time_ns, 0);
	inspect_source_release(&source);
	*reason = '\0';
	assert_true(inspect_source_begin(child.pid, NULL, &source, reason) < 0);
	assert_string_not_equal(reason, "");
}

/* What was known of it is not of the program that stands still: it is asked again. */
static void of_one_that_has_become_another(void **state)
{
	const struct inspect_copying how = {.max_pause_ns = 60 * NS_PER_S};
	struct freeze_forks forks = {0};
	char reason[REASON_MAX] = "", order = EXECUTE;
	struct inspect_source source;
	struct child child;
	uint64_t before;

	(void)state;
	child_start(&child);
	assert_int_equal(inspect_source_begin(child.pid, NULL, &source, reason), 0);
	assert_true(source.program != 0);
	before = source.program;
	assert_int_equal(write(child.orders, &order, 1), 1);
	child_grow(&child);
	assert_int_equal(inspect_source_moment(&source, reason), -ESTALE);
	assert_non_null(strstr(reason, "another program"));
	assert_int_equal(source.time_ns, 0);
	inspect_source_release(&source);
	*reason = '\0';
	assert_int_equal(inspect_copy_process(child.pid, &how, &forks, &source, reason), 0);
	assert_string_equal(source.comm, "cat");
	assert_true(source.program && source.program != before);
	assert_true(source.read_bytes > 0 && !source.unread_bytes);
	inspect_source_release(&source);
	child_end(&child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_that_moment),
		cmocka_unit_test(with_a_lent_cache),
		cmocka_unit_test(of_one_that_has_gone),
		cmocka_unit_test(of_one_that_has_become_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
