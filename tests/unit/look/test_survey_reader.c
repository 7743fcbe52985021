// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The iterator and /proc see the same processes with the same memory, and the iterator is quick. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/process/memory.h"
#include "user/process/proc.h"
#include "user/look/survey_reader.h"

/* Newer than some libcs' headers: linux/sched.h of 5.6. */
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

#define MIB	 (1024 * 1024)
#define CHILDREN 1000

static struct survey_reader *open_reader(enum survey_source source)
{
	struct survey_reader *reader;

	if (source == SURVEY_BPF && geteuid() != 0) {
		print_message("needs root\n");
		skip();
	}
	assert_int_equal(survey_reader_new(source, &reader), 0);
	assert_int_equal(survey_reader_source(reader), source);
	return reader;
}

static const struct process_sample *find(const struct process_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].pid == pid)
			return &list->items[i];
	}
	return NULL;
}

static void map_file(size_t size)
{
	FILE *file = tmpfile();

	if (!file || ftruncate(fileno(file), (off_t)size) ||
	    mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fileno(file), 0) == MAP_FAILED)
		_exit(1);
}

/* A child that sleeps with so much memory touched; it says when it has. */
static pid_t start_child(size_t anon, size_t shared)
{
	int pipes[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char *a = mmap(NULL, anon + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		char *b = mmap(NULL, shared + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			       -1, 0);

		memset(a, 1, anon);
		memset(b, 1, shared);
		map_file(4 * MIB);
		if (write(pipes[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(pipes[0], &c, 1), 1);
	close(pipes[0]);
	close(pipes[1]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void check_child(enum survey_source source)
{
	struct survey_reader *reader = open_reader(source);
	pid_t small = start_child(0, 0), large = start_child(40 * MIB, 24 * MIB), zombie;
	const struct process_sample *a, *b;
	const struct process_list *list;
	struct proc_stat stat;
	uint64_t rss, anon;
	siginfo_t info;

	zombie = fork();
	if (zombie == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)zombie, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(survey_reader_read(reader, &list), 0);
	a = find(list, small);
	b = find(list, large);
	assert_non_null(a);
	assert_non_null(b);
	assert_null(find(list, zombie));
	assert_int_equal(proc_stat(large, &stat), 0);
	assert_int_equal(b->start_ticks, stat.start_ticks);
	assert_int_equal(b->ppid, getpid());
	assert_int_equal(b->threads, 1);
	assert_int_equal(b->uid, geteuid());
	assert_int_equal(b->ruid, getuid());
	assert_string_equal(b->comm, stat.comm);
	/* Page tables' worth of difference aside, exactly what was touched. */
	assert_in_range(b->anon + b->swap - a->anon - a->swap, 40 * MIB, 40 * MIB + 64 * 1024);
	assert_in_range(b->shmem - a->shmem, 24 * MIB, 24 * MIB + 64 * 1024);
	/* It sleeps: as the kernel says it itself, which before 6.17 lags behind. */
	assert_int_equal(proc_memory(large, &rss, &anon), 0);
	assert_true(rss > 67 * MIB);
	assert_in_range(b->rss, rss - MIB, rss + MIB);
	for (size_t i = 1; i < list->count; i++)
		assert_true(list->items[i - 1].pid < list->items[i].pid);
	end_child(small);
	end_child(large);
	waitpid(zombie, NULL, 0);
	survey_reader_free(reader);
}

static void memory_by_iterator(void **state)
{
	(void)state;
	check_child(SURVEY_BPF);
}

static void memory_by_proc(void **state)
{
	(void)state;
	check_child(SURVEY_PROC);
}

/* Processes that sleep cannot change between the two readings. */
static void both_agree(void **state)
{
	struct survey_reader *bpf = open_reader(SURVEY_BPF), *proc = open_reader(SURVEY_PROC);
	const struct process_list *one, *other;
	pid_t children[8];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(children); i++)
		children[i] = start_child(i * 777777, i * 333333);
	assert_int_equal(survey_reader_read(bpf, &one), 0);
	assert_int_equal(survey_reader_read(proc, &other), 0);
	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		const struct process_sample *a = find(one, children[i]);
		const struct process_sample *b = find(other, children[i]);

		assert_true(a && b);
		assert_int_equal(a->start_ticks, b->start_ticks);
		assert_int_equal(a->ppid, b->ppid);
		assert_int_equal(a->uid, b->uid);
		assert_int_equal(a->ruid, b->ruid);
		assert_int_equal(a->threads, b->threads);
		assert_string_equal(a->comm, b->comm);
		/* Before 6.17 /proc lags behind the parts that CPUs keep to themselves. */
		assert_true(llabs((long long)(a->anon - b->anon)) <= MIB);
		assert_true(llabs((long long)(a->shmem - b->shmem)) <= MIB);
		assert_int_equal(a->swap, b->swap);
		end_child(children[i]);
	}
	survey_reader_free(bpf);
	survey_reader_free(proc);
}

/* Where time since boot is another one, processes have begun when /proc says: by that they are known. */
static void in_a_time_namespace(void **state)
{
	const char *offsets = "boottime 100000 7";
	int status, fd;
	pid_t pid;

	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	if (unshare(CLONE_NEWTIME)) {
		print_message("this kernel has no time namespaces\n");
		skip();
	}
	fd = open("/proc/self/timens_offsets", O_WRONLY);
	assert_int_equal(write(fd, offsets, strlen(offsets)), strlen(offsets));
	close(fd);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct survey_reader *bpf = open_reader(SURVEY_BPF);
		const struct process_sample *own;
		const struct process_list *list;
		struct proc_stat stat;

		if (survey_reader_read(bpf, &list) || proc_stat(getpid(), &stat))
			_exit(1);
		own = find(list, getpid());
		_exit(!own || own->start_ticks != stat.start_ticks ? 2 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double best_of(struct survey_reader *reader, size_t *count)
{
	const struct process_list *list;
	double best = 1;

	for (int i = 0; i < 20; i++) {
		double start = seconds();

		assert_int_equal(survey_reader_read(reader, &list), 0);
		if (seconds() - start < best)
			best = seconds() - start;
		*count = list->count;
	}
	return best;
}

static void a_thousand_processes(void **state)
{
	struct survey_reader *bpf = open_reader(SURVEY_BPF), *proc = open_reader(SURVEY_PROC);
	static pid_t children[CHILDREN];
	double by_bpf, by_proc;
	size_t count;

	(void)state;
	for (size_t i = 0; i < CHILDREN; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0) {
			pause();
			_exit(0);
		}
	}
	by_proc = best_of(proc, &count);
	by_bpf = best_of(bpf, &count);
	print_message("%zu processes: iterator %.2f ms, /proc %.1f ms\n", count, 1e3 * by_bpf,
		      1e3 * by_proc);
	for (size_t i = 0; i < CHILDREN; i++)
		end_child(children[i]);
	assert_true(count > CHILDREN);
	/* Some 30 times; of both the best moment, on this machine, as busy as it is. */
	assert_true(by_bpf * 8 < by_proc);
	survey_reader_free(bpf);
	survey_reader_free(proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_by_iterator),
		cmocka_unit_test(memory_by_proc),
		cmocka_unit_test(both_agree),
		cmocka_unit_test(a_thousand_processes),
		/* The last: our own children are in it from now on. */
		cmocka_unit_test(in_a_time_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
