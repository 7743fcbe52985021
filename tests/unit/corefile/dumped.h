/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process that says what is where in it, and its core files: the kernel's and gcore's. Include after
 * cmocka.h.
 */
#ifndef MEMLEAKBPF_TESTS_UNIT_DUMPED_H
#define MEMLEAKBPF_TESTS_UNIT_DUMPED_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/process/maps.h"
#include "user/process/memory.h"

#define DUMPED_THREADS 3
#define DUMPED_PAGES   16
#define DUMPED_WORD    0x5eed000000000000ull

struct dumped_thread {
	pid_t tid;
	uint64_t tls, local; /* thread pointer; address of something on its stack */
};

/* What it says of itself, in memory that the test shares. */
struct dumped_facts {
	struct dumped_thread threads[DUMPED_THREADS + 1]; /* the last one is the main thread */
	uint64_t heap; /* a block of malloc's of two pages, its words DUMPED_WORD + index */
	uint64_t
		pages; /* DUMPED_PAGES, of which those in the middle of each four have been touched */
	uint64_t left_out; /* a page of MADV_DONTDUMP */
	uint64_t secret;   /* without any right, and written to before */
	uint64_t vdata;	   /* a variable of the program's data */
	uint64_t text;	   /* a function of it */
	volatile int ready;
};

struct dumped {
	struct dumped_facts *facts;
	struct maps *maps; /* as it lived */
	pid_t pid;
	char directory[32];
	int core;      /* descriptor */
	uint64_t anon; /* resident bytes of its own, as the kernel says */
};

static volatile uint64_t dumped_variable = 1;
static pthread_barrier_t dumped_barrier;

static void dumped_note_thread(struct dumped_thread *t)
{
	t->tid = (pid_t)syscall(SYS_gettid);
	t->tls = (uint64_t)(uintptr_t)__builtin_thread_pointer();
	t->local = (uint64_t)(uintptr_t)__builtin_frame_address(0);
}

static void *dumped_thread(void *arg)
{
	dumped_note_thread(arg);
	pthread_barrier_wait(&dumped_barrier);
	for (;;)
		pause();
	return NULL;
}

static void *dumped_ended_thread(void *arg)
{
	return arg;
}

static _Noreturn void dumped_live(struct dumped_facts *facts)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	uint64_t *heap = malloc(2 * page);
	pthread_t thread;
	char *memory;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGSEGV, SIG_DFL); /* the test's own is for failures */
	prctl(PR_SET_DUMPABLE, 1);
	setrlimit(RLIMIT_CORE, &all);
	dumped_variable = DUMPED_WORD;
	facts->vdata = (uint64_t)(uintptr_t)&dumped_variable;
	facts->text = (uint64_t)(uintptr_t)dumped_thread;
	facts->heap = (uint64_t)(uintptr_t)heap;
	for (size_t i = 0; i < 2 * page / 8; i++)
		heap[i] = DUMPED_WORD + i;
	memory = mmap(NULL, DUMPED_PAGES * page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(memory, DUMPED_PAGES * page, MADV_NOHUGEPAGE);
	facts->pages = (uint64_t)(uintptr_t)memory;
	for (size_t i = 0; i < DUMPED_PAGES; i++) {
		if (i % 4 == 1 || i % 4 == 2)
			memory[i * page] = 1;
	}
	memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(memory, 1, 3 * page);
	madvise(memory, page, MADV_DONTDUMP);
	facts->left_out = (uint64_t)(uintptr_t)memory;
	mprotect(memory + 2 * page, page, PROT_NONE);
	facts->secret = (uint64_t)(uintptr_t)memory + 2 * page;
	/* Its stack stays: glibc keeps it. */
	if (!pthread_create(&thread, NULL, dumped_ended_thread, NULL))
		pthread_join(thread, NULL);
	pthread_barrier_init(&dumped_barrier, NULL, DUMPED_THREADS + 1);
	for (int i = 0; i < DUMPED_THREADS; i++)
		pthread_create(&thread, NULL, dumped_thread, &facts->threads[i]);
	pthread_barrier_wait(&dumped_barrier);
	dumped_note_thread(&facts->threads[DUMPED_THREADS]);
	__atomic_store_n(&facts->ready, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &facts->ready, 1 /* FUTEX_WAKE */, 1, NULL, NULL, 0);
	for (;;)
		pause();
}

/* A process in a directory of its own, which stands still. */
static void dumped_start(struct dumped *d)
{
	uint64_t all;

	memset(d, 0, sizeof(*d));
	d->core = -1;
	strcpy(d->directory, "/tmp/memleakbpf-core-XXXXXX");
	assert_non_null(mkdtemp(d->directory));
	d->facts = mmap(NULL, sizeof(*d->facts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	assert_ptr_not_equal(d->facts, MAP_FAILED);
	d->pid = fork();
	assert_true(d->pid >= 0);
	if (!d->pid) {
		if (chdir(d->directory))
			_exit(1);
		dumped_live(d->facts);
	}
	while (!__atomic_load_n(&d->facts->ready, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &d->facts->ready, 0 /* FUTEX_WAIT */, 0, NULL, NULL, 0);
	assert_int_equal(maps_read(d->pid, &d->maps), 0);
	assert_int_equal(proc_memory(d->pid, &all, &d->anon), 0);
}

/* Opens the one file of the directory. */
static void dumped_open(struct dumped *d)
{
	DIR *directory = opendir(d->directory);
	struct dirent *entry;

	assert_non_null(directory);
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] != '.')
			d->core = openat(dirfd(directory), entry->d_name, O_RDWR | O_CLOEXEC);
	}
	closedir(directory);
}

static void dumped_kill(struct dumped *d, int signal)
{
	assert_int_equal(kill(d->pid, signal), 0);
	assert_int_equal(waitpid(d->pid, NULL, 0), d->pid);
}

/* By the kernel, which puts it where core_pattern says: here only when that is a mere name. */
static void dumped_by_kernel(struct dumped *d)
{
	char pattern[2] = "|";
	int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);

	if (read(fd, pattern, 1) != 1 || pattern[0] == '|' || pattern[0] == '/') {
		print_message("skipped: the kernel puts no core files into the directory of the "
			      "process\n");
		skip();
	}
	close(fd);
	dumped_start(d);
	dumped_kill(d, SIGSEGV);
	dumped_open(d);
	assert_true(d->core >= 0);
}

static void dumped_by_gcore(struct dumped *d)
{
	char command[160];

	if (system("command -v gcore >/dev/null")) {
		print_message("skipped: gcore is not installed\n");
		skip();
	}
	dumped_start(d);
	snprintf(command, sizeof(command), "exec gcore -o %s/core %d >%s/.log 2>&1", d->directory,
		 (int)d->pid, d->directory);
	assert_int_equal(system(command), 0);
	dumped_open(d);
	assert_true(d->core >= 0);
	dumped_kill(d, SIGKILL);
}

static void dumped_end(struct dumped *d)
{
	char command[64];

	maps_free(d->maps);
	munmap(d->facts, sizeof(*d->facts));
	if (d->core >= 0)
		close(d->core);
	snprintf(command, sizeof(command), "rm -r %s", d->directory);
	assert_int_equal(system(command), 0);
}

#endif
