// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A program's memory is read and written as long as it is that program, also of another user's without CAP_DAC_OVERRIDE. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <sys/syscall.h>

#include "tests/unit/test_proc_child.h"
#include "user/process/program_memory.h"

#define NOBODY 65534

static volatile uint64_t word = 1;

static struct child child;

/* Another user's; then, that what was written has come; then it is another program. */
static int child_does(void *of_another_user, int number)
{
	switch (number) {
	case 0:
		return *(bool *)of_another_user &&
		       (setresuid(NOBODY, NOBODY, NOBODY) || prctl(PR_SET_DUMPABLE, 1));
	case 1:
		return word != 2;
	default:
		execl("/bin/sleep", "sleep", "infinity", NULL);
		return 1;
	}
}

/* Its pipes end with the program that it was. */
static void child_execs(void)
{
	char byte = 0;

	assert_int_equal(write(child.to, &byte, 1), 1);
	assert_int_equal(read(child.from, &byte, 1), 0);
	assert_int_equal(waitpid(child.pid, NULL, WNOHANG), 0);
}

/* In this thread's effective set. */
static void may_override(bool may)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct sets[2];

	assert_int_equal(syscall(SYS_capget, &header, sets), 0);
	if (may)
		sets[0].effective |= 1u << CAP_DAC_OVERRIDE;
	else
		sets[0].effective &= ~(1u << CAP_DAC_OVERRIDE);
	assert_int_equal(syscall(SYS_capset, &header, sets), 0);
}

static void is_read_and_written(struct program_memory *program)
{
	uint64_t seen = 0, two = 2;
	const uint64_t at = (uintptr_t)&word;

	assert_int_equal(program_memory_read(program, at, &seen, sizeof(seen)), 0);
	assert_int_equal(seen, 1);
	assert_int_equal(program_memory_write(program, at, &two, sizeof(two)), 0);
	assert_int_equal(program_memory_read(program, at, &seen, sizeof(seen)), 0);
	assert_int_equal(seen, 2);
	child_step(&child);
	assert_true(program_memory_read(program, 8, &seen, sizeof(seen)) < 0);
	assert_true(program_memory_write(program, 8, &two, sizeof(two)) < 0);
}

static void is_gone(struct program_memory *program, uint64_t at)
{
	uint64_t seen, three = 3;

	assert_int_equal(program_memory_read(program, at, &seen, sizeof(seen)), -ESRCH);
	assert_int_equal(program_memory_write(program, at, &three, sizeof(three)), -ESRCH);
	program_memory_close(program);
}

/* What is read or written there by the process id is the next program's. */
static uint64_t stack_of_next(void)
{
	unsigned long start = 0;
	char path[64], line[256];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)child.pid);
	maps = fopen(path, "r");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (strstr(line, "[stack]") && sscanf(line, "%lx", &start) == 1)
			break;
	}
	fclose(maps);
	assert_true(start);
	return start;
}

static void until_exec(bool of_another_user)
{
	struct program_memory program;

	child = child_start(child_does, &of_another_user);
	if (of_another_user)
		may_override(false);
	assert_int_equal(program_memory_open(child.pid, &program), 0);
	assert_int_equal(program.mem >= 0, !of_another_user);
	is_read_and_written(&program);
	child_execs();
	is_gone(&program, stack_of_next());
	if (of_another_user)
		may_override(true);
	child_end(&child);
}

static void ones_own(void **state)
{
	(void)state;
	until_exec(false);
}

static void another_users(void **state)
{
	(void)state;
	need_root();
	until_exec(true);
}

static void that_has_ended(void **state)
{
	struct program_memory program;
	bool of_another_user = false;

	(void)state;
	child = child_start(child_does, &of_another_user);
	assert_int_equal(program_memory_open(child.pid, &program), 0);
	is_read_and_written(&program);
	child_end(&child);
	is_gone(&program, (uintptr_t)&word);
	assert_true(program_memory_open(child.pid, &program) < 0);
	assert_int_equal(program.mem, -1);
	program_memory_close(&program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ones_own),
		cmocka_unit_test(another_users),
		cmocka_unit_test(that_has_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
