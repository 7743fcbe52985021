// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A process is given something to map, as a BPF program's words are: a file in memory here. It maps
 * that for reading only, and has no descriptor more than before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/open_descriptors.h"
#include "user/base/clock.h"
#include "user/guard/guard_layout.h"
#include "user/guard/guard_said.h"

#define PLACE 0x2000000000ull /* far from all that programs have mapped */
#define WHERE (&(struct guard_said){.pid = target, .program = &program, .address = PLACE})

static pid_t target;

static int end(void **state)
{
	(void)state;
	if (target > 0) {
		kill(target, SIGKILL);
		waitpid(target, NULL, 0);
	}
	target = 0;
	return 0;
}

/* It waits in a system call. `room`: it may have so many descriptors more; -1: any number. */
static void start(int room)
{
	int ready[2];
	char c;

	assert_int_equal(pipe(ready), 0);
	target = fork();
	if (target == 0) {
		int next = dup(0);
		const struct rlimit limit = {(rlim_t)(next + room), (rlim_t)(next + room)};

		close(next);
		if (next < 0 || (room >= 0 && setrlimit(RLIMIT_NOFILE, &limit)))
			_exit(1);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			poll(NULL, 0, -1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
}

static struct remote *hold(struct program_memory *program)
{
	char why[REASON_MAX] = "";
	struct remote *remote = NULL;

	assert_int_equal(program_memory_open(target, program), 0);
	if (remote_begin(target, 10 * NS_PER_S, &remote, why))
		fail_msg("%s", why);
	return remote;
}

static void is_mapped(void **state)
{
	const uint64_t map[CALL_ARGUMENTS] = {PLACE,	    GUARD_SAID_SIZE,
					      PROT_READ,    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
					      (uint64_t)-1, 0};
	const uint64_t at = PLACE + 8;
	uint64_t word = 0x1234, seen = 1;
	struct program_memory program;
	struct remote *remote;
	char why[REASON_MAX] = "";
	int before, file = memfd_create("words", MFD_CLOEXEC);
	long result;

	(void)state;
	assert_true(file >= 0);
	assert_int_equal(ftruncate(file, GUARD_SAID_SIZE), 0);
	start(-1);
	before = open_descriptors_of(target);
	remote = hold(&program);
	assert_int_equal(remote_call(remote, SYS_mmap, map, &result, why), 0);
	assert_int_equal(result, PLACE);
	if (guard_said_map(remote, WHERE, file, why))
		fail_msg("%s", why);
	assert_int_equal(open_descriptors_of(target), before);
	/* What we write there the process reads. */
	assert_int_equal(program_memory_read(&program, at, &seen, sizeof(seen)), 0);
	assert_int_equal(seen, 0);
	assert_int_equal(pwrite(file, &word, sizeof(word), 8), sizeof(word));
	assert_int_equal(program_memory_read(&program, at, &seen, sizeof(seen)), 0);
	assert_int_equal(seen, word);
	assert_true(remote_end(remote) > 0);
	program_memory_close(&program);
	close(file);
}

/* One descriptor is to be had, and two are needed. */
static void has_no_room(void **state)
{
	struct program_memory program;
	struct remote *remote;
	char why[REASON_MAX] = "";
	int before, file = memfd_create("words", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(ftruncate(file, GUARD_SAID_SIZE), 0);
	for (int room = 0; room < 2; room++) {
		start(room);
		remote = hold(&program);
		before = open_descriptors_of(target);
		assert_true(guard_said_map(remote, WHERE, file, why) < 0);
		print_message("%s\n", why);
		assert_non_null(strstr(why, room ? "no descriptor" : "cannot make a socket"));
		assert_false(remote_is_lost(remote));
		assert_int_equal(open_descriptors_of(target), before);
		assert_true(remote_end(remote) > 0);
		program_memory_close(&program);
		end(NULL);
	}
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(is_mapped, end),
		cmocka_unit_test_teardown(has_no_room, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
