// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Bytes of a process are written though the tool is stopped in the midst of it, or gets no processor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/unit/freeze/stopped_tool.h"
#include "tests/unit/rounds.h"
#include "user/gate/write.h"
#include "user/process/proc.h"

#define STOPS	 20
#define LATE_MAX 3

/* In the text of this program and so of the target. */
static const uint8_t code[16] __attribute__((aligned(16))) = "before";

/* Any process may trace it when it is there: the tool is none of its ancestors (Yama). */
static pid_t start_target(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid) {
		close(ready[1]);
		assert_int_equal(read(ready[0], &byte, 1), 1);
		close(ready[0]);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	if (write(ready[1], "r", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static bool is_traced(pid_t pid)
{
	char *tracer;
	bool is;

	assert_int_equal(proc_status_field(pid, "TracerPid", &tracer), 0);
	is = strtol(tracer, NULL, 10) != 0;
	free(tracer);
	return is;
}

static struct stop_piece piece_of(const char *before, const char *after)
{
	struct stop_piece piece = {.address = (uint64_t)(uintptr_t)code, .length = 6};

	memcpy(piece.expected, before, 6);
	memcpy(piece.bytes, after, 6);
	return piece;
}

static bool stands(pid_t pid, const char *wanted)
{
	char there[7] = "";
	struct iovec to = {there, 6}, from = {(void *)(uintptr_t)code, 6};

	assert_int_equal(process_vm_readv(pid, &to, 1, &from, 1, 0), 6);
	return !strcmp(there, wanted);
}

/* The tool's end is its result. */
static pid_t start_tool(pid_t target, const struct stop_piece *piece, char *reason)
{
	uint64_t pause_ns = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(-gate_write_all(target, piece, 1, &pause_ns, reason));
	return pid;
}

static int end_of(pid_t tool)
{
	int status;

	assert_int_equal(waitpid(tool, &status, 0), tool);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* It is stopped as soon as it holds the process, which goes on by itself after a while; then so does the tool. */
static void test_stopped(void **state)
{
	char *reason =
		mmap(NULL, REASON_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t target = start_target();
	const char *now = "before";
	int late = 0;

	(void)state;
	assert_ptr_not_equal(reason, MAP_FAILED);
	for (int i = 0; i < rounds(STOPS); i++) {
		const char *next = i % 2 ? "before" : "after!";
		struct stop_piece piece = piece_of(now, next);
		pid_t tool = start_tool(target, &piece, reason);
		int err;

		while (!is_traced(target) && tool_state(tool) != 'Z')
			;
		kill(tool, SIGSTOP);
		while (is_traced(target))
			usleep(1000);
		kill(tool, SIGCONT);
		err = end_of(tool);
		/* On a machine that is busy enough. */
		if ((err == ECANCELED || err == ETIMEDOUT) && ++late < LATE_MAX &&
		    stands(target, now)) {
			i--;
			continue;
		}
		if (err)
			fail_msg("round %d: %s: %s", i, strerror(err), reason);
		assert_true(stands(target, next));
		now = next;
	}
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	munmap(reason, REASON_MAX);
}

static void test_not_as_expected(void **state)
{
	struct stop_piece piece = piece_of("other!", "after!");
	char reason[REASON_MAX] = "";
	pid_t target = start_target();
	uint64_t pause_ns = 0;

	(void)state;
	assert_int_equal(gate_write_all(target, &piece, 1, &pause_ns, reason), -ESTALE);
	assert_true(stands(target, "before"));
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_not_as_expected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
