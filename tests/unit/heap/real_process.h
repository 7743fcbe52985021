/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Real processes with an allocator of choice, for the tests of its walker: the test program itself, run once
 * more with a library in front (LD_PRELOAD). It keeps books of what it allocates, in memory that both see,
 * and is stopped and read while it waits. Include after cmocka.h.
 */
#ifndef MEMLEAKBPF_TESTS_REAL_PROCESS_H
#define MEMLEAKBPF_TESTS_REAL_PROCESS_H

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/page.h"
#include "user/heap/heap_image.h"

#define REAL_BLOCKS_MAX (4u << 20)
#define REAL_THREADS	16

struct real_block {
	uint64_t address, asked; /* address 0: it has been freed */
};

/* The books, in a file in memory that the process maps. */
struct real_books {
	volatile uint32_t turn; /* the process does this, and waits for the next */
	volatile uint32_t done; /* turns that it has done */
	size_t count;		/* of blocks that it is to have */
	struct real_block blocks[REAL_BLOCKS_MAX];
};

struct real_process {
	pid_t pid;
	struct real_books *books;
	/* as of the last look at it */
	pid_t tids[REAL_THREADS];
	size_t tid_count;
};

/* In the process: the books, which are its file descriptor 3. */
static inline struct real_books *real_books_open(int fd)
{
	void *books =
		mmap(NULL, sizeof(struct real_books), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (books == MAP_FAILED)
		abort();
	return books;
}

/*
 * Runs this program with one argument, which its main() has to look for, and books of so many blocks.
 * `library` as LD_PRELOAD takes it.
 */
static inline struct real_process real_process_start(const char *library, const char *argument,
						     size_t count)
{
	int fd = memfd_create("books", 0);
	struct real_process process = {0};

	if (fd < 0 || ftruncate(fd, sizeof(struct real_books)))
		abort();
	process.books = real_books_open(fd);
	process.books->count = count;
	process.pid = fork();
	if (!process.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (dup2(fd, 3) < 0 || setenv("LD_PRELOAD", library, 1))
			_exit(1);
		execl("/proc/self/exe", "test", argument, NULL);
		_exit(1);
	}
	close(fd);
	return process;
}

/* In the process: the next turn, once it is wanted. */
static inline uint32_t real_next_turn(struct real_books *books)
{
	while (books->turn == books->done)
		usleep(1000);
	return books->turn;
}

/* Lets the process do a turn, and returns once it has; false: it is gone. */
static inline bool real_process_turn(struct real_process *process, uint32_t turn)
{
	process->books->turn = turn;
	while (process->books->done != turn) {
		if (waitpid(process->pid, NULL, WNOHANG) == process->pid)
			return false;
		usleep(1000);
	}
	return true;
}

static inline void real_process_end(struct real_process *process)
{
	kill(process->pid, SIGKILL);
	waitpid(process->pid, NULL, 0);
	munmap(process->books, sizeof(*process->books));
}

/* ---- a look at it ------------------------------------------------------------------------- */

static inline void real_stop(struct real_process *process)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", process->pid);
	dir = opendir(path);
	process->tid_count = 0;
	while (dir && (entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);

		if (tid <= 0)
			continue;
		if (process->tid_count == REAL_THREADS || ptrace(PTRACE_SEIZE, tid, NULL, NULL) ||
		    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || waitpid(tid, NULL, __WALL) != tid)
			abort();
		process->tids[process->tid_count++] = tid;
	}
	if (!dir || closedir(dir))
		abort();
}

static inline void real_read_thread(struct memory_image *memory, pid_t tid)
{
	struct memory_thread *thread = &memory->threads[memory->thread_count++];
	struct user_regs_struct regs;
	struct iovec io = {&regs, sizeof(regs)};

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io))
		abort();
#if defined(__x86_64__)
	*thread = (struct memory_thread){.tid = tid, .sp = regs.rsp, .tls = regs.fs_base};
#else
	*thread = (struct memory_thread){.tid = tid, .sp = regs.sp};
	io = (struct iovec){&thread->tls, sizeof(thread->tls)};
	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_ARM_TLS, &io))
		abort();
#endif
	thread->words = malloc(sizeof(regs));
	if (!thread->words)
		abort();
	memcpy(thread->words, &regs, sizeof(regs));
	thread->word_count = sizeof(regs) / 8;
}

/* Enters the pages of a mapping that are there; with `into` NULL only counts them. */
static inline size_t real_read_mapping(struct memory_image *memory, const struct mapping *m,
				       int pagemap, int mem, char *into)
{
	const uint64_t page = page_size();
	uint64_t start = 0;
	size_t bytes = 0;

	for (uint64_t at = m->start; at <= m->end; at += page) {
		uint64_t entry = 0;

		if (at < m->end && pread(pagemap, &entry, 8, (off_t)(at / page * 8)) != 8)
			abort();
		if (entry >> 62 && !start)
			start = at;
		if (entry >> 62 || !start)
			continue;
		if (into) {
			if (pread(mem, into + bytes, at - start, (off_t)start) !=
			    (ssize_t)(at - start))
				abort();
			memory->regions[memory->region_count] = (struct memory_region){
				start, at - start, (const uint64_t *)(into + bytes), m};
		}
		memory->region_count++;
		bytes += at - start;
		start = 0;
	}
	return bytes;
}

static inline size_t real_read_mappings(struct memory_image *memory, int pagemap, int mem,
					char *into)
{
	size_t bytes = 0;

	memory->region_count = 0;
	for (size_t i = 0; i < maps_count(memory->maps); i++) {
		const struct mapping *m = maps_at(memory->maps, i);

		if (m->write && !m->shared)
			bytes += real_read_mapping(memory, m, pagemap, mem,
						   into ? into + bytes : NULL);
	}
	return bytes;
}

/* Its private memory and its threads, as they are now; goes on as it was. No blocks are entered. */
static inline struct heap_image *real_look(struct real_process *process)
{
	struct memory_image *memory = memory_image_new();
	char path[64];
	int pagemap, mem;

	real_stop(process);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", process->pid);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/mem", process->pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	if (!memory || pagemap < 0 || mem < 0 || maps_read(process->pid, &memory->maps))
		abort();
	memory->threads = calloc(REAL_THREADS, sizeof(*memory->threads));
	memory->data_size = real_read_mappings(memory, pagemap, mem, NULL);
	memory->regions = calloc(memory->region_count, sizeof(*memory->regions));
	memory->data = mmap(NULL, memory->data_size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!memory->threads || !memory->regions || memory->data == MAP_FAILED)
		abort();
	real_read_mappings(memory, pagemap, mem, memory->data);
	for (size_t i = 0; i < process->tid_count; i++)
		real_read_thread(memory, process->tids[i]);
	for (size_t i = 0; i < process->tid_count; i++)
		ptrace(PTRACE_DETACH, process->tids[i], NULL, NULL);
	close(pagemap);
	close(mem);
	memory_image_finish(memory);
	return heap_image_new(memory);
}

#endif
