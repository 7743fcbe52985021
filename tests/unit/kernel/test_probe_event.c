// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Uprobes by events of tracefs: one is open for as long as its descriptor, and its name goes by a sweep. Root only. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/kernel/probe_event.h"
#include "user/kernel/unkillable.h"
#include "user/process/maps.h"

static __attribute__((noinline)) void probed_function(void)
{
	__asm__ volatile("" ::: "memory");
}

/* The function's place in its file. */
static uint64_t place(void)
{
	const struct mapping *m;
	struct maps *maps;
	uint64_t offset;

	assert_int_equal(maps_read(getpid(), &maps), 0);
	m = maps_find(maps, (uintptr_t)probed_function);
	assert_non_null(m);
	offset = m->offset + (uintptr_t)probed_function - m->start;
	maps_free(maps);
	return offset;
}

/* Names of events that the process has made. */
static unsigned names_of(pid_t pid)
{
	FILE *f = fopen("/sys/kernel/tracing/uprobe_events", "re");
	char line[512], group[64];
	unsigned count = 0;

	assert_non_null(f);
	snprintf(group, sizeof(group), ":memleakbpf_%d_", (int)pid);
	while (fgets(line, sizeof(line), f))
		count += strstr(line, group) != NULL;
	fclose(f);
	return count;
}

/* In a mount namespace of our own, where it is not mounted. */
static void need_tracefs(void)
{
	if (!access("/sys/kernel/tracing/uprobe_events", W_OK))
		return;
	if (!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	    !mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL) &&
	    !access("/sys/kernel/tracing/uprobe_events", W_OK))
		return;
	print_message("needs root, and tracefs\n");
	skip();
}

static void test_own(void **state)
{
	int entry, at_return;

	(void)state;
	need_tracefs();
	entry = probe_event_open("/proc/self/exe", place(), 0, false, getpid());
	at_return = probe_event_open("/proc/self/exe", place(), 0, true, getpid());
	assert_true(entry >= 0);
	assert_true(at_return >= 0);
	probed_function();
	assert_int_equal(names_of(getpid()), 2);
	/* What is open stays, and what somebody who lives has made. */
	probe_events_sweep(true);
	assert_int_equal(names_of(getpid()), 2);
	unkillable_close(entry);
	probe_events_sweep(false);
	assert_int_equal(names_of(getpid()), 2);
	probe_events_sweep(true);
	assert_int_equal(names_of(getpid()), 1);
	unkillable_close(at_return);
	assert_true(probe_events_sweep(true) >= 1);
	assert_int_equal(names_of(getpid()), 0);
}

/* Of one that was killed the probes are gone, and the name is there until somebody takes it away. */
static void test_killed(void **state)
{
	int ready[2], status;
	char byte;
	pid_t pid;

	(void)state;
	need_tracefs();
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (probe_event_open("/proc/self/exe", place(), 0, false, getpid()) < 0 ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	probe_events_sweep(false);
	assert_int_equal(names_of(pid), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	probe_events_sweep(false);
	assert_int_equal(names_of(pid), 0);
}

static void test_refused(void **state)
{
	(void)state;
	need_tracefs();
	assert_int_equal(probe_event_open("/nonexistent", 0, 0, false, getpid()), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
