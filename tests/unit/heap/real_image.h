/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Images of real processes that wait, without registers: for the tests of walkers. A test starts the
 * process itself, and it may be read without any right. Include after cmocka.h.
 */
#ifndef MEMLEAKBPF_TESTS_REAL_IMAGE_H
#define MEMLEAKBPF_TESTS_REAL_IMAGE_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/heap/dead_memory.h"
#include "user/heap/heap_image.h"

#define REAL_PAGE 4096ull

/* A process with pipes to its standard input and output. */
struct real_process {
	pid_t pid;
	int to, from;
};

/* `preload`: a library, NULL: none. */
static inline void real_start(struct real_process *process, const char *preload, char *const argv[])
{
	int to[2], from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	process->pid = fork();
	if (!process->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	assert_true(process->pid > 0);
	close(to[0]);
	close(from[1]);
	process->to = to[1];
	process->from = from[0];
}

static inline void real_end(struct real_process *process)
{
	kill(process->pid, SIGKILL);
	waitpid(process->pid, NULL, 0);
	close(process->to);
	close(process->from);
}

/* All of it, or false: it has ended. */
static inline bool real_read(struct real_process *process, void *data, size_t size)
{
	while (size) {
		ssize_t n = read(process->from, data, size);

		if (n <= 0)
			return false;
		data = (char *)data + n;
		size -= (size_t)n;
	}
	return true;
}

static inline void real_go_on(struct real_process *process)
{
	assert_int_equal(write(process->to, "\n", 1), 1);
}

/* Of the mapping which pages are there: sets one byte for each. */
static inline void real_present(int pagemap, const struct mapping *m, uint8_t *present)
{
	uint64_t pages = (m->end - m->start) / REAL_PAGE, entry[512];

	for (uint64_t page = 0; page < pages;) {
		uint64_t count = pages - page < 512 ? pages - page : 512;
		ssize_t n = pread(pagemap, entry, count * 8,
				  (off_t)((m->start / REAL_PAGE + page) * 8));

		assert_int_equal(n, count * 8);
		for (uint64_t i = 0; i < count; i++)
			present[page + i] = entry[i] >> 62 != 0; /* present or swapped */
		page += count;
	}
}

/* Its private memory that can be written to: a heap image without blocks. */
static inline struct heap_image *real_image(pid_t pid)
{
	struct memory_image *memory = memory_image_new();
	struct heap_image *image = memory ? heap_image_new(memory) : NULL;
	char path[64];
	int mem, pagemap;
	uint64_t used = 0, room = 0;
	size_t region_room = 0;

	assert_non_null(image);
	assert_int_equal(maps_read(pid, &memory->maps), 0);
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(mem >= 0 && pagemap >= 0);
	for (size_t i = 0; i < maps_count(memory->maps); i++)
		room += maps_at(memory->maps, i)->end - maps_at(memory->maps, i)->start;
	memory->data_size = room < 1ull << 36 ? room : 1ull << 36;
	memory->data = mmap(NULL, memory->data_size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(memory->data != MAP_FAILED);
	for (size_t i = 0; i < maps_count(memory->maps); i++) {
		const struct mapping *m = maps_at(memory->maps, i);
		uint64_t pages = (m->end - m->start) / REAL_PAGE;
		uint8_t *present;

		if (!m->write || m->shared)
			continue;
		present = malloc(pages);
		assert_non_null(present);
		real_present(pagemap, m, present);
		for (uint64_t first = 0, end; first < pages; first = end + 1) {
			for (end = first; end < pages && present[end]; end++)
				;
			if (end == first)
				continue;
			assert_true(used + (end - first) * REAL_PAGE <= memory->data_size);
			if (memory->region_count == region_room) {
				region_room = 2 * region_room + 64;
				memory->regions = reallocarray(memory->regions, region_room,
							       sizeof(*memory->regions));
				assert_non_null(memory->regions);
			}
			memory->regions[memory->region_count++] = (struct memory_region){
				.start = m->start + first * REAL_PAGE,
				.size = (end - first) * REAL_PAGE,
				.words = (const uint64_t *)((char *)memory->data + used),
				.mapping = m,
			};
			assert_int_equal(pread(mem, (char *)memory->data + used,
					       (end - first) * REAL_PAGE,
					       (off_t)(m->start + first * REAL_PAGE)),
					 (end - first) * REAL_PAGE);
			used += (end - first) * REAL_PAGE;
		}
		free(present);
	}
	close(mem);
	close(pagemap);
	assert_true(mremap(memory->data, memory->data_size, used, 0) == memory->data);
	memory->data_size = used;
	memory_image_finish(memory);
	heap_image_finish(image);
	return image;
}

#endif
