// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Guard sampling comes into another process, works there, and goes; nobody dies of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <time.h>

#include "user/process/maps.h"

#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__)
int main(void)
{
	puts("1..0 # SKIP x86_64 only, and the C library's own malloc");
	return 0;
}
#else
#include "tests/unit/guard/guard_of_target.h"
#include "user/guard/guard_stub.h"

/* What /proc/PID/smaps says of the mapping that begins there, in VmFlags. */
static bool has_flag(uint64_t address, const char *flag)
{
	char path[64], line[512], begins[32];
	bool here = false, has = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps", target.pid);
	snprintf(begins, sizeof(begins), "%lx-", (unsigned long)address);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, begins, strlen(begins)))
			here = true;
		if (strncmp(line, "VmFlags:", 8) != 0)
			continue;
		has |= here && strstr(line, flag);
		here = false;
	}
	fclose(f);
	return has;
}

static void assert_flags(struct guard_place place)
{
	uint64_t save = place.pool + ((uint64_t)place.count << GUARD_PLACE_BITS) * 2;

	assert_true(has_flag(place.code + GUARD_HEADER, " wf"));
	assert_false(has_flag(place.code + GUARD_POOL, " wf"));
	assert_true(has_flag(place.pool, " nh"));
	assert_true(has_flag(save, " nh"));
	assert_true(has_flag(save, " dd"));
	assert_true(has_flag(save, " sh"));
	assert_false(has_flag(place.pool, " sh"));
}

static void come_and_go(void **state)
{
	uint64_t live, code = 0;

	(void)state;
	for (int i = 0; i < rounds(8); i++) {
		struct guard *guard = start_guard(20);
		struct guard_header header;

		assert_int_equal(guard_place(guard).taken_over, i > 0);
		assert_false(guard_place(guard).keep_pages);
		if (i)
			assert_int_equal(guard_place(guard).code, code);
		code = guard_place(guard).code;
		assert_flags(guard_place(guard));
		assert_int_equal(ask("w"), 0);
		header = figures(guard, &live);
		assert_true(header.guarded > 100);
		assert_true(header.freed > 50);
		assert_true(live <= PLACES);
		assert_int_equal(header.double_freed + header.invalid_freed + header.changed, 0);
		/* Its blocks go one by one meanwhile, or stay. */
		close_guard(guard);
		assert_int_equal(ask("w"), 0);
		assert_int_equal(ask("c"), 0);
		assert_int_equal(mappings(), 3);
	}
	assert_int_equal(ask("e"), 0);
	assert_int_equal(close_guard(start_guard(1000000)), 0);
	assert_text();
	assert_int_equal(ask("h"), 0);
	assert_int_equal(ask("f"), 0);
}

/* Blocks that are there at the end keep the jumps there; the next one takes these away. */
static void held_blocks(void **state)
{
	struct guard_request other = request_of(1);
	char reason[REASON_MAX] = "";
	struct guard *guard;
	uint64_t live;

	(void)state;
	assert_int_equal(ask("e"), 0);
	guard = start_guard(1);
	assert_int_equal(ask("h"), 0);
	figures(guard, &live);
	assert_true(live > 50);
	assert_int_equal(close_guard(guard), 1);
	/* Not for one that would have other functions. */
	other.in.count--;
	assert_int_equal(guard_open(&other, &guard, reason), -EBUSY);
	/* Nothing is guarded any more, and what is can be freed. */
	guard = open_guard(1);
	assert_true(guard_place(guard).taken_over);
	assert_int_equal(ask("f"), 0);
	assert_int_equal(ask("h"), 0);
	assert_int_equal(ask("f"), 0);
	assert_int_equal(figures(guard, &live).guarded, 0);
	assert_int_equal(live, 0);
	/* And now there is again. */
	assert_int_equal(guard_start(guard, reason), 0);
	assert_int_equal(ask("h"), 0);
	assert_true(figures(guard, &live).guarded > 50);
	assert_int_equal(ask("f"), 0);
	assert_int_equal(close_guard(guard), 0);
	assert_text();
}

/* The process goes on with its bugs as if they were none. */
static void bugs(void **state)
{
	struct guard *guard = start_guard(1);
	struct guard_header header;
	uint64_t live;

	(void)state;
	assert_int_equal(ask("e"), 0);
	assert_int_equal(ask("b"), 48);
	header = figures(guard, &live);
	assert_int_equal(header.double_freed, 1);
	assert_int_equal(header.invalid_freed + header.changed, 0);
	assert_int_equal(ask("c"), 0);
	assert_int_equal(close_guard(guard), live != 0);
}

/* Comes and goes until it is killed; says when it has come for the first time. */
static void be_tool(int says, struct tool_tries *met)
{
	const struct guard_request request = request_of(5);
	char reason[REASON_MAX];

	for (;;) {
		struct guard *guard = NULL;

		met->tries++;
		if (note_refusal(guard_open(&request, &guard, reason), reason, met->guard))
			continue;
		if (!note_refusal(guard_start(guard, reason), reason, met->guard) &&
		    write(says, "s", 1) != 1)
			_exit(1);
		guard_close(guard, false, reason);
	}
}

/* The tool is killed at a random moment, and the next one takes over. */
static void killed(void **state)
{
	unsigned random = (unsigned)getpid();
	int targets = 4, kills = 0, left = 0;

	if (getenv("GUARD_KILLS"))
		targets = (int)strtol(getenv("GUARD_KILLS"), NULL, 10) / 6;
	for (int i = 0; rounds_left(i, targets, left); i++) {
		start_target(state);
		for (int j = 0; j < 6; j++) {
			kill_tool(be_tool, j > 1, &random);
			left += has_jumps();
			kills++;
		}
		assert_int_equal(ask("e"), 0);
		assert_int_equal(close_guard(start_guard(1000000)), 0);
		assert_text();
		end_target(state);
	}
	print_message("%d kills, jumps were left %d times\n", kills, left);
	assert_true(left > 0);
}

/* Another tool, which begins as far as it can. */
static int try_second(struct guard **second, char reason[static REASON_MAX])
{
	const struct guard_request request = request_of(5);

	*second = NULL;
	return guard_open(&request, second, reason) ?: guard_start(*second, reason);
}

/* It is told who has them, and that one has them still. */
static void assert_second_refused(void)
{
	char reason[REASON_MAX] = "", wanted_reason[REASON_MAX], ignored[REASON_MAX];
	struct guard *second;
	int err = try_second(&second, reason);

	guard_close(second, false, ignored);
	snprintf(wanted_reason, sizeof(wanted_reason),
		 "another memleakbpf (process %d) has its guards in it, and is to end first",
		 (int)getpid());
	assert_int_equal(err, -EBUSY);
	assert_string_equal(reason, wanted_reason);
}

/* One that fails amid its beginning unmaps what it has mapped, whoever comes meanwhile. */
static void two_one_fails(void **state)
{
	char reason[REASON_MAX] = "";
	struct guard *first = open_guard(5), *second;
	int err = try_second(&second, reason);

	(void)state;
	close_guard(first);
	assert_int_equal(ask("w"), 0);
	assert_int_equal(err, -EBUSY);
	assert_int_equal(mappings(), 0);
	assert_null(second);
	close_guard(start_guard(5));
	assert_int_equal(ask("w"), 0);
}

/* The second one's end turns nothing off; and the first one's makes room for it, with blocks and without. */
static void two_one_ends(void **state)
{
	struct guard *first = open_guard(5), *second;
	char reason[REASON_MAX] = "";
	uint64_t live;

	(void)state;
	assert_second_refused();
	assert_int_equal(guard_start(first, reason), 0);
	assert_second_refused();
	assert_int_equal(ask("w"), 0);
	assert_true(figures(first, &live).guarded > 100);
	assert_int_equal(ask("e"), 0);
	assert_int_equal(ask("h"), 0);
	assert_second_refused();
	assert_int_equal(close_guard(first), 1);
	assert_int_equal(try_second(&second, reason), 0);
	assert_true(guard_place(second).taken_over);
	/* What was taken over has an owner as well. */
	assert_second_refused();
	assert_int_equal(ask("f"), 0);
	assert_int_equal(close_guard(second), 0);
	assert_int_equal(mappings(), 3);
	assert_text();
}

/* Two sets of pages, since somebody's probe was in the first one when the second came: that is it to which jumps go. */
static void two_sets(void **state)
{
	struct guard *guard = start_guard(5);
	uint8_t byte, probe = 0xcc;
	uint64_t first = guard_place(guard).code, second;
	char path[64];
	size_t count;
	int memory;
	off_t at = (off_t)(first + guard_stubs(&count)[0].bad);

	(void)state;
	assert_int_equal(ask("e"), 0);
	assert_int_equal(close_guard(guard), 0);
	snprintf(path, sizeof(path), "/proc/%d/mem", target.pid);
	memory = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(memory, &byte, 1, at), 1);
	assert_int_equal(pwrite(memory, &probe, 1, at), 1);
	guard = start_guard(1);
	second = guard_place(guard).code;
	assert_int_not_equal(second, first);
	assert_int_equal(ask("h"), 0);
	assert_int_equal(close_guard(guard), 1);
	assert_int_equal(pwrite(memory, &byte, 1, at), 1);
	close(memory);
	guard = start_guard(1);
	print_message("the %s in the process's memory\n", second < first ? "first" : "last");
	assert_int_equal(guard_place(guard).code, second);
	assert_true(guard_place(guard).taken_over);
	assert_int_equal(ask("f"), 0);
	assert_int_equal(close_guard(guard), 0);
	assert_text();
}

/* By no turns (user/patch/turn.h): each may find a thread held by the other, so one may leave what it has mapped. */
static void two_come_and_go(void **state)
{
	struct tool_tries *met = mmap(NULL, 2 * sizeof(*met), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int says[2][2];
	pid_t tools[2];

	(void)state;
	assert_true(met != MAP_FAILED);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pipe2(says[i], O_CLOEXEC), 0);
		tools[i] = fork();
		if (!tools[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			be_tool(says[i][1], &met[i]);
		}
		close(says[i][1]);
	}
	for (int i = 0; i < rounds(20); i++) {
		wait_for_tool(tools[i % 2], says[i % 2][0], &met[i % 2]);
		assert_int_equal(ask("w"), 0);
	}
	for (int i = 0; i < 2; i++) {
		kill(tools[i], SIGKILL);
		waitpid(tools[i], NULL, 0);
		close(says[i][0]);
		print_message("%lu tries\n", met[i].tries);
	}
	munmap(met, 2 * sizeof(*met));
	assert_int_equal(ask("e"), 0);
	assert_int_equal(close_guard(start_guard(1000000)), 0);
	assert_text();
}

static uint64_t kib_of(const char *name)
{
	char *text;
	uint64_t kib;

	assert_int_equal(proc_status_field(target.pid, name, &text), 0);
	kib = strtoull(text, NULL, 10);
	free(text);
	return kib;
}

/* A process that locks all that it maps: the pool is not filled, and its pages can be dropped. */
static void locked(void **state)
{
	uint64_t locked_before, before;
	struct guard *guard;

	(void)state;
	assert_int_equal(ask("e"), 0);
	assert_int_equal(ask("m"), 0);
	locked_before = kib_of("VmLck");
	before = kib_of("VmRSS");
	assert_true(locked_before > 0);
	/* The code and its data are locked, as all else is. */
	guard = start_guard(1);
	assert_in_range(kib_of("VmLck"), locked_before, locked_before + GUARD_SIZE / 1024 + 64);
	assert_in_range(kib_of("VmRSS"), 0, before + GUARD_SIZE / 1024 + 1024);
	assert_int_equal(ask("b"), 48);
	assert_int_equal(ask("h"), 0);
	assert_int_equal(ask("f"), 0);
	close_guard(guard);
}

/* A filter that kills at madvise, and a lock on all memory, while blocks are guarded. */
static void watched(void **state)
{
	struct guard *guard = start_guard(1);
	char reason[REASON_MAX] = "";
	uint64_t guarded, live;

	(void)state;
	assert_int_equal(ask("e"), 0);
	assert_int_equal(guard_watch(guard, reason), 0);
	assert_int_equal(ask("s"), 0);
	assert_int_equal(guard_watch(guard, reason), 1);
	assert_true(guard_place(guard).keep_pages);
	assert_int_equal(guard_watch(guard, reason), 0);
	assert_int_equal(ask("h"), 0);
	assert_int_equal(ask("b"), 48);
	assert_int_equal(ask("f"), 0);
	assert_int_equal(ask("m"), 0);
	assert_int_equal(guard_watch(guard, reason), -EOPNOTSUPP);
	assert_non_null(strstr(reason, "locked"));
	guarded = figures(guard, &live).guarded;
	assert_int_equal(ask("h"), 0);
	assert_int_equal(ask("f"), 0);
	assert_int_equal(figures(guard, &live).guarded, guarded);
	close_guard(guard);
}

static void refused(void **state)
{
	struct guard_request request = request_of(1);
	const struct gate_wanted twice[] = {wanted[0], wanted[0]};
	size_t before = mappings();
	char reason[REASON_MAX] = "";
	struct guard *guard = NULL;

	(void)state;
	request.count = 100;
	assert_int_equal(guard_open(&request, &guard, reason), -EINVAL);
	/* Two names of one function. */
	request = request_of(1);
	request.in.functions = twice;
	request.in.count = 2;
	assert_int_equal(guard_open(&request, &guard, reason), -EINVAL);
	/* Somebody else traces it. */
	request = request_of(1);
	assert_int_equal(ptrace(PTRACE_SEIZE, target.pid, 0, 0), 0);
	assert_int_equal(guard_open(&request, &guard, reason), -EPERM);
	print_message("%s\n", reason);
	assert_null(guard);
	assert_int_equal(mappings(), before);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, target.pid, 0, 0), 0);
	waitpid(target.pid, NULL, 0);
	assert_int_equal(ptrace(PTRACE_DETACH, target.pid, 0, 0), 0);
	assert_text();
	/* Opened and not started, it leaves nothing. */
	assert_int_equal(close_guard(open_guard(1)), 0);
	assert_int_equal(mappings(), before);
	assert_text();
}

/* The functions are at the same addresses again, and the pages that jumps would go to are not. */
static void exec_meanwhile(void **state)
{
	char reason[REASON_MAX] = "";
	struct guard *guard;
	uint64_t before;

	(void)state;
	assert_int_equal(ask("x"), 0);
	free(target.text);
	find_text();
	before = target.text_address;
	guard = open_guard(1);
	assert_int_equal(ask("x"), 0);
	free(target.text);
	find_text();
	assert_int_equal(target.text_address, before);
	assert_true(guard_start(guard, reason) < 0);
	print_message("%s\n", reason);
	guard_close(guard, true, reason);
	assert_text();
	assert_int_equal(ask("w"), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(come_and_go, start_target, end_target),
		cmocka_unit_test_setup_teardown(held_blocks, start_target, end_target),
		cmocka_unit_test_setup_teardown(bugs, start_target, end_target),
		cmocka_unit_test(killed),
		cmocka_unit_test_setup_teardown(two_one_fails, start_target, end_target),
		cmocka_unit_test_setup_teardown(two_one_ends, start_target, end_target),
		cmocka_unit_test_setup_teardown(two_sets, start_target, end_target),
		cmocka_unit_test_setup_teardown(two_come_and_go, start_target, end_target),
		cmocka_unit_test_setup_teardown(locked, start_target, end_target),
		cmocka_unit_test_setup_teardown(watched, start_target, end_target),
		cmocka_unit_test_setup_teardown(refused, start_target, end_target),
		cmocka_unit_test_setup_teardown(exec_meanwhile, start_target, end_target),
	};

	(void)argc;
	if (!target_test_begins(argv, &nop))
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
