// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/unit/test_proc_child.h"
#include "user/target/mapwatch.h"

struct seen {
	pid_t pid, tid;
	uint64_t time_ns;
	bool exec;
	struct mapping mapping;
	char path[256];
};

struct watcher {
	struct mapwatch *watch;
	pid_t wanted; /* 0: nobody */
	size_t asked, count;
	struct seen seen[4096];
};

static bool wanted(void *ctx, pid_t pid)
{
	struct watcher *w = ctx;

	w->asked++;
	return pid == w->wanted;
}

static void on_record(void *ctx, const struct mapwatch_record *record)
{
	struct watcher *w = ctx;
	struct seen *seen = &w->seen[w->count];

	/*
	 * The kernel's own page, in every process whose functions somebody probes: not what is
	 * tested here.
	 */
	if (strcmp(record->mapping.path, "[uprobes]") == 0)
		return;
	assert_true(w->count < sizeof(w->seen) / sizeof(w->seen[0]));
	seen->pid = record->pid;
	seen->tid = record->tid;
	seen->time_ns = record->time_ns;
	seen->exec = record->exec;
	seen->mapping = record->mapping;
	snprintf(seen->path, sizeof(seen->path), "%s", record->mapping.path);
	w->count++;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static int start(void **state)
{
	struct watcher *w = calloc(1, sizeof(*w));
	const struct mapwatch_callbacks callbacks = {
		.ctx = w, .wanted = wanted, .record = on_record};

	*state = w;
	return geteuid() ? 0 : mapwatch_new(&callbacks, &w->watch);
}

static int stop(void **state)
{
	struct watcher *w = *state;

	mapwatch_free(w->watch);
	free(w);
	return 0;
}

/* The mapping the kernel has at this place. */
static void check_against_maps(const struct seen *seen)
{
	struct maps *maps;
	const struct mapping *m;

	assert_int_equal(maps_read(seen->pid, &maps), 0);
	m = maps_find(maps, seen->mapping.start);
	assert_non_null(m);
	assert_int_equal(m->start, seen->mapping.start);
	assert_int_equal(m->end, seen->mapping.end);
	assert_int_equal(m->offset, seen->mapping.offset);
	assert_int_equal(m->dev, seen->mapping.dev);
	assert_int_equal(m->ino, seen->mapping.ino);
	assert_true(seen->mapping.exec);
	assert_int_equal(m->write, seen->mapping.write);
	assert_int_equal(m->shared, seen->mapping.shared);
	assert_string_equal(m->path, seen->path);
	maps_free(maps);
}

static int dlopen_step(void *arg, int number)
{
	(void)arg;
	return number == 1 && !dlopen("libresolv.so.2", RTLD_NOW);
}

static void test_dlopen(void **state)
{
	struct watcher *w = *state;
	struct child child;
	uint64_t before, after;
	struct pollfd ready;

	need_root();
	assert_null(dlopen("libresolv.so.2", RTLD_NOW | RTLD_NOLOAD));
	child = child_start(dlopen_step, NULL);
	w->wanted = child.pid;
	assert_int_equal(mapwatch_drain(w->watch), 0);
	w->count = 0;
	before = now_ns();
	child_step(&child);
	after = now_ns();
	ready = (struct pollfd){.fd = mapwatch_fd(w->watch), .events = POLLIN};
	assert_int_equal(poll(&ready, 1, 10000), 1);
	assert_int_equal(mapwatch_drain(w->watch), 0);
	assert_int_equal(w->count, 1);
	assert_int_equal(w->seen[0].pid, child.pid);
	assert_int_equal(w->seen[0].tid, child.pid);
	assert_false(w->seen[0].exec);
	assert_true(w->seen[0].time_ns >= before && w->seen[0].time_ns <= after);
	assert_non_null(strstr(w->seen[0].path, "/libresolv.so.2"));
	check_against_maps(&w->seen[0]);
	assert_int_equal(mapwatch_lost(w->watch), 0);
	child_end(&child);
}

static int exec_step(void *arg, int number)
{
	(void)arg;
	if (number == 1)
		execl("/bin/cat", "cat", "/dev/null", NULL);
	return 0;
}

/* All of a program's mappings, after the record that it is a new one. */
static void test_exec(void **state)
{
	struct watcher *w = *state;
	struct child child;
	siginfo_t info;
	char byte = 0;
	bool program = false, libc = false, vdso = false;

	need_root();
	child = child_start(exec_step, NULL);
	w->wanted = child.pid;
	assert_int_equal(write(child.to, &byte, 1), 1);
	assert_int_equal(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(info.si_code, CLD_EXITED);
	assert_int_equal(mapwatch_drain(w->watch), 0);
	assert_true(w->count >= 4);
	assert_true(w->seen[0].exec);
	for (size_t i = 1; i < w->count; i++) {
		assert_false(w->seen[i].exec);
		assert_true(w->seen[i].time_ns >= w->seen[i - 1].time_ns);
		program |= strstr(w->seen[i].path, "/cat") != NULL;
		libc |= strstr(w->seen[i].path, "/libc.so.6") != NULL;
		vdso |= !strcmp(w->seen[i].path, "[vdso]");
	}
	assert_true(program && libc && vdso);
	child_end(&child);
}

static int jit_step(void *path, int number)
{
	int fd;

	if (number == 1)
		return mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
	if (number == 2) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		unlink(path);
		return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 4096) == MAP_FAILED;
	}
	return 0;
}

static void test_anonymous_and_deleted(void **state)
{
	struct watcher *w = *state;
	char directory[32], path[64];
	struct child child;

	need_root();
	make_directory(directory);
	snprintf(path, sizeof(path), "%s/file", directory);
	run_tool("cp -L /proc/%d/exe %s", (int)getpid(), path);
	child = child_start(jit_step, path);
	w->wanted = child.pid;
	child_step(&child);
	child_step(&child);
	assert_int_equal(mapwatch_drain(w->watch), 0);
	assert_int_equal(w->count, 2);
	assert_string_equal(w->seen[0].path, "");
	assert_true(w->seen[0].mapping.write);
	check_against_maps(&w->seen[0]);
	assert_string_equal(w->seen[1].path, path);
	assert_true(w->seen[1].mapping.deleted);
	check_against_maps(&w->seen[1]);
	child_end(&child);
	rmdir(directory);
}

#define HOPS 1000

/* Maps on one CPU and the other in turn; the size of each mapping is its number. */
static int hop_step(void *arg, int number)
{
	cpu_set_t all, one;
	int cpu = 0;

	(void)arg;
	if (number != 1)
		return 0;
	if (sched_getaffinity(0, sizeof(all), &all))
		return 1;
	for (int i = 1; i <= HOPS; i++) {
		void *p;

		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(cpu, &all));
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			return 1;
		p = mmap(NULL, (size_t)i * 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
		if (p == MAP_FAILED || munmap(p, (size_t)i * 4096))
			return 1;
	}
	return 0;
}

/*
 * In the order in which they happened, though they lie in several CPUs' rings and are read while
 * they are written.
 */
static void test_order_across_cpus(void **state)
{
	struct watcher *w = *state;
	struct child child;
	char byte = 0;
	struct pollfd done;

	need_root();
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		print_message("skipped: there is one CPU only\n");
		skip();
	}
	child = child_start(hop_step, NULL);
	w->wanted = child.pid;
	assert_int_equal(mapwatch_drain(w->watch), 0);
	w->count = 0;
	assert_int_equal(write(child.to, &byte, 1), 1);
	done = (struct pollfd){.fd = child.from, .events = POLLIN};
	while (poll(&done, 1, 0) == 0)
		assert_int_equal(mapwatch_drain(w->watch), 0);
	assert_int_equal(mapwatch_drain(w->watch), 0);
	assert_int_equal(w->count, HOPS);
	for (size_t i = 0; i < HOPS; i++)
		assert_int_equal(w->seen[i].mapping.end - w->seen[i].mapping.start, (i + 1) * 4096);
	child_end(&child);
}

static int map_step(void *arg, int number)
{
	void *p;

	(void)arg;
	if (!number)
		return 0;
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED || munmap(p, 4096);
}

/* A record of our own, which nobody has asked for. */
static void map_once(void)
{
	assert_int_equal(map_step(NULL, 1), 0);
}

#define FLOOD 40000

static int flood_step(void *arg, int number)
{
	(void)arg;
	for (int i = 0; number == 1 && i < FLOOD; i++) {
		void *p =
			mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED || munmap(p, 4096))
			return 1;
	}
	return 0;
}

/* The kernel says how many were lost with the next record it has room for, on each CPU. */
static void map_on_each_cpu(void)
{
	cpu_set_t before;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (!sched_setaffinity(0, sizeof(one), &one))
			map_once();
	}
	/* The tests behind this one, and their children, are not to share a processor. */
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/*
 * More than the rings hold: every record is either handed out or counted, once. Others' may be lost
 * as well, so there is a witness, which has been there for longer, and reads while records come.
 */
static void test_lost(void **state)
{
	struct watcher *witness = *state, *w;
	struct pollfd done;
	struct child child;
	void *late;
	char byte = 0;

	need_root();
	assert_int_equal(start(&late), 0);
	w = late;
	child = child_start(flood_step, NULL);
	w->wanted = child.pid;
	assert_int_equal(mapwatch_drain(w->watch), 0);
	assert_int_equal(write(child.to, &byte, 1), 1);
	done = (struct pollfd){.fd = child.from, .events = POLLIN};
	while (poll(&done, 1, 0) == 0)
		assert_int_equal(mapwatch_drain(witness->watch), 0);
	assert_int_equal(mapwatch_drain(w->watch), 0);
	assert_true(w->count < FLOOD);
	map_on_each_cpu();
	assert_int_equal(mapwatch_drain(w->watch), 0);
	assert_true(w->count + mapwatch_lost(w->watch) >= FLOOD);
	map_on_each_cpu();
	assert_int_equal(mapwatch_drain(witness->watch), 0);
	/*
	 * Among the lost are new names of threads, which the witness does not see: counting twice
	 * would be many more.
	 */
	assert_true(w->asked + mapwatch_lost(w->watch) <
		    witness->asked + mapwatch_lost(witness->watch) + FLOOD / 2);
	child_end(&child);
	stop(&late);
}

/*
 * Records that come thick wake the reader by the timer, a hundred times a second and not for each
 * of them.
 */
static void test_storm(void **state)
{
	struct watcher *w = *state;
	struct child child;
	char byte = 0;
	size_t wakeups = 0;
	uint64_t began, took;

	need_root();
	child = child_start(flood_step, NULL);
	assert_int_equal(mapwatch_drain(w->watch), 0);
	w->asked = 0;
	began = now_ns();
	assert_int_equal(write(child.to, &byte, 1), 1);
	for (;;) {
		struct pollfd fds[2] = {{.fd = child.from, .events = POLLIN},
					{.fd = mapwatch_fd(w->watch), .events = POLLIN}};

		assert_true(poll(fds, 2, 10000) > 0);
		if (fds[0].revents)
			break;
		wakeups++;
		assert_int_equal(mapwatch_drain(w->watch), 0);
	}
	took = now_ns() - began;
	assert_int_equal(mapwatch_drain(w->watch), 0);
	/* A busy machine lets some be lost, and says so late. */
	map_on_each_cpu();
	assert_int_equal(mapwatch_drain(w->watch), 0);
	assert_true(w->asked + mapwatch_lost(w->watch) >= FLOOD);
	assert_int_equal(w->count, 0); /* nobody wanted them */
	assert_true(wakeups >= 1);
	assert_true(wakeups <= 3 + took / 5000000);
	print_message("%zu wake-ups for %zu records in %.0f ms\n", wakeups, w->asked,
		      (double)took / 1e6);
	child_end(&child);
}

/*
 * Two records so close together that the timer is to wake the reader from then on, whatever others
 * map. When the second was read, at the earliest. A busy machine may need more than one try.
 */
static uint64_t make_quiet(struct watcher *w)
{
	for (int i = 0; i < 1000; i++) {
		uint64_t first = now_ns(), second;

		map_once();
		assert_int_equal(mapwatch_drain(w->watch), 0);
		map_once();
		second = now_ns();
		assert_int_equal(mapwatch_drain(w->watch), 0);
		if (now_ns() - first < MAPWATCH_QUIET_NS)
			return second;
	}
	fail_msg("two records were not read within 10 ms, in 1000 tries");
	return 0;
}

/*
 * After the storm the timer wakes the reader once more, and then single records do so at once again.
 * Others may map all the time: they make nothing of this come sooner, nor later.
 */
static void test_after_storm(void **state)
{
	struct watcher *w = *state;
	struct pollfd ready = {.fd = mapwatch_fd(w->watch), .events = POLLIN};
	struct child child;
	uint64_t since;

	need_root();
	test_storm(state);
	child = child_start(map_step, NULL);
	w->wanted = child.pid;
	/* Where the child needs longer than the timer, one round sees nothing of the difference. */
	for (int i = 0; i < 20; i++) {
		w->count = 0;
		since = make_quiet(w);
		map_once();
		assert_int_equal(poll(&ready, 1, 10000), 1);
		assert_true(now_ns() - since >= MAPWATCH_QUIET_NS);
		/* Nothing has been read for so long: whatever comes now is a single record. */
		assert_int_equal(mapwatch_drain(w->watch), 0);
		assert_int_equal(w->count, 0);
		child_step(&child);
		assert_int_equal(poll(&ready, 1, 0), 1);
		assert_int_equal(mapwatch_drain(w->watch), 0);
		assert_int_equal(w->count, 1);
	}
	child_end(&child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_dlopen, start, stop),
		cmocka_unit_test_setup_teardown(test_exec, start, stop),
		cmocka_unit_test_setup_teardown(test_anonymous_and_deleted, start, stop),
		cmocka_unit_test_setup_teardown(test_order_across_cpus, start, stop),
		cmocka_unit_test_setup_teardown(test_lost, start, stop),
		cmocka_unit_test_setup_teardown(test_storm, start, stop),
		cmocka_unit_test_setup_teardown(test_after_storm, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
