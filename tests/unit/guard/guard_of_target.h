/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The program of guarded_target.h started, and guards that come into it and go. Include after cmocka.h. */
#ifndef MEMLEAKBPF_TESTS_UNIT_GUARD_GUARD_OF_TARGET_H
#define MEMLEAKBPF_TESTS_UNIT_GUARD_GUARD_OF_TARGET_H

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/unit/guard/guarded_target.h"
#include "tests/unit/rounds.h"
#include "user/base/util.h"
#include "user/guard/guard.h"
#include "user/guard/guard_layout.h"
#include "user/process/maps.h"
#include "user/process/proc.h"

#define PLACES 512

static struct gate_nop nop;

static struct gate_wanted wanted[] = {
	{.name = "malloc", .kind = GUARD_KIND_SIZE_1, .arguments = 1},
	{.name = "calloc", .kind = GUARD_KIND_CALLOC, .arguments = 2},
	{.name = "realloc", .kind = GUARD_KIND_REALLOC, .arguments = 2, .instead = 0},
	{.name = "free", .kind = GUARD_KIND_FREE, .arguments = 1},
	{.name = "memalign", .kind = GUARD_KIND_SIZE_2, .arguments = 2},
	{.name = "posix_memalign", .kind = GUARD_KIND_POSIX, .arguments = 3},
	{.name = "malloc_usable_size", .kind = GUARD_KIND_USABLE, .arguments = 1},
};

/* ---- the target --------------------------------------------------------------------------- */

static struct {
	pid_t pid;
	FILE *to, *from;
	uint8_t *text; /* as the file has it */
	uint64_t text_address, text_size;
} target;

static inline unsigned long answer(void)
{
	unsigned long number = 0;

	/* If it has died there is none. */
	assert_int_equal(fscanf(target.from, "%lu", &number), 1);
	return number;
}

static inline unsigned long ask(const char *command)
{
	fprintf(target.to, "%s\n", command);
	fflush(target.to);
	return answer();
}

/* The C library's text in the process. */
static inline void find_text(void)
{
	const struct mapping *own, *its = NULL;
	struct maps *maps, *its_maps;
	int file;

	assert_int_equal(maps_read(getpid(), &maps), 0);
	assert_int_equal(maps_read(target.pid, &its_maps), 0);
	own = maps_find(maps, (uintptr_t)dlsym(RTLD_NEXT, "malloc"));
	assert_non_null(own);
	for (size_t i = 0; i < maps_count(its_maps) && !its; i++) {
		const struct mapping *m = maps_at(its_maps, i);

		if (m->ino == own->ino && m->dev == own->dev && m->offset == own->offset && m->exec)
			its = m;
	}
	assert_non_null(its);
	target.text_address = its->start;
	target.text_size = own->end - own->start;
	target.text = malloc(target.text_size);
	file = open(own->path, O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0);
	assert_true(pread(file, target.text, target.text_size, (off_t)own->offset) > 0);
	close(file);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		uint64_t at = (uintptr_t)dlsym(RTLD_NEXT, wanted[i].name);

		assert_in_range(at, own->start, own->end);
		wanted[i].address = at - own->start + its->start;
	}
	maps_free(maps);
	maps_free(its_maps);
}

static inline int start_target(void **state)
{
	(void)state;
	target.pid = target_start(NULL, &target.to, &target.from);
	assert_int_equal(answer(), 0);
	find_text();
	return 0;
}

static inline int end_target(void **state)
{
	int status;

	(void)state;
	fclose(target.to);
	assert_int_equal(waitpid(target.pid, &status, 0), target.pid);
	assert_int_equal(status, 0);
	fclose(target.from);
	free(target.text);
	return 0;
}

/* ---- the guards --------------------------------------------------------------------------- */

static inline struct guard_request request_of(uint64_t period)
{
	return (struct guard_request){
		.in = {.pid = target.pid,
		       .functions = wanted,
		       .count = ARRAY_SIZE(wanted),
		       .text = target.text,
		       .text_address = target.text_address,
		       .text_size = target.text_size,
		       .nop = &nop},
		.count = PLACES,
		.period = period,
		.at_left = 64,
		.said = -1,
	};
}

static inline struct guard *open_guard(uint64_t period)
{
	const struct guard_request request = request_of(period);
	char reason[REASON_MAX] = "";
	struct guard *guard = NULL;

	if (guard_open(&request, &guard, reason))
		fail_msg("%s", reason);
	return guard;
}

static inline struct guard *start_guard(uint64_t period)
{
	struct guard *guard = open_guard(period);
	char reason[REASON_MAX] = "";

	if (guard_start(guard, reason))
		fail_msg("%s", reason);
	return guard;
}

/* The same that guard_close() says, of its errors each a failure. */
static inline int close_guard(struct guard *guard)
{
	char reason[REASON_MAX] = "";
	int jumps = guard_close(guard, false, reason);

	if (jumps < 0)
		fail_msg("%s", reason);
	return jumps;
}

static inline struct guard_header figures(const struct guard *guard, uint64_t *live)
{
	struct guard_header header;

	assert_int_equal(guard_read(guard, &header, live), 0);
	return header;
}

/* In how many places of the pool the page at that offset is there. */
static inline size_t pages_there(const struct guard *guard, uint64_t offset)
{
	struct guard_place place = guard_place(guard);
	char path[64];
	size_t there = 0;
	int pagemap;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", target.pid);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(pagemap >= 0);
	for (uint32_t i = 0; i < place.count; i++) {
		uint64_t page = place.pool + ((uint64_t)i << GUARD_PLACE_BITS) + offset, entry;

		assert_int_equal(pread(pagemap, &entry, 8, (off_t)(page / GUARD_PAGE * 8)), 8);
		there += entry >> 63;
	}
	close(pagemap);
	return there;
}

/* As the file has it, but for what others' probes change. */
static inline void assert_text(void)
{
	char path[64];
	uint8_t there[32];
	int memory;

	snprintf(path, sizeof(path), "/proc/%d/mem", target.pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		assert_int_equal(pread(memory, there, sizeof(there), (off_t)wanted[i].address),
				 sizeof(there));
		assert_memory_equal(there + 1,
				    target.text + (wanted[i].address - target.text_address) + 1,
				    sizeof(there) - 1);
	}
	close(memory);
}

static inline bool has_jumps(void)
{
	uint8_t there[32];
	struct iovec to = {there, sizeof(there)};
	struct iovec from = {(void *)(uintptr_t)wanted[0].address, sizeof(there)};

	assert_int_equal(process_vm_readv(target.pid, &to, 1, &from, 1, 0), sizeof(there));
	return memcmp(there + 1, target.text + (wanted[0].address - target.text_address) + 1,
		      sizeof(there) - 1) != 0;
}

/* How many mappings the process has that are files in memory of ours. */
static inline size_t mappings(void)
{
	struct maps *maps;
	size_t count = 0;

	assert_int_equal(maps_read(target.pid, &maps), 0);
	for (size_t i = 0; i < maps_count(maps); i++)
		count += !strncmp(maps_at(maps, i)->path, "/memfd:memleakbpf", 17);
	maps_free(maps);
	return count;
}

/* What a tool has met since it began: it runs in a process of its own, which has this in common with the test. */
struct tool_tries {
	unsigned long tries;			  /* how often it has tried to come */
	char guard[REASON_MAX], gate[REASON_MAX]; /* why it could not, the last time; or empty */
};

/* Notes it: `to` is of struct tool_tries. The same err. */
static inline int note_refusal(int err, const char *reason, char to[static REASON_MAX])
{
	if (err)
		snprintf(to, REASON_MAX, "%s", reason);
	return err;
}

/* A tool that has not come after so long never will: on a busy machine a try may take some seconds. */
#define TOOL_COMES_MS 120000

static inline void wait_for_tool(pid_t tool, int says, const struct tool_tries *met)
{
	struct pollfd ready = {.fd = says, .events = POLLIN};
	char byte;

	if (poll(&ready, 1, TOOL_COMES_MS) != 1) {
		kill(tool, SIGKILL);
		waitpid(tool, NULL, 0);
		fail_msg("after %d s and %lu tries no tool has come: guards \"%s\", gate \"%s\"",
			 TOOL_COMES_MS / 1000, met->tries, met->guard, met->gate);
	}
	assert_int_equal(read(says, &byte, 1), 1);
}

/*
 * A tool, which writes a byte each time that it has come, is killed at a random moment, after the first of them
 * with `started`. The process does not mind.
 */
static inline void kill_tool(void (*be_tool)(int says, struct tool_tries *met), bool started,
			     unsigned *random)
{
	const struct timespec wait = {.tv_nsec = (long)(rand_r(random) % 60000) * 1000};
	struct tool_tries *met =
		mmap(NULL, sizeof(*met), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int says[2];
	pid_t tool;

	assert_true(met != MAP_FAILED);
	assert_int_equal(pipe2(says, O_CLOEXEC), 0);
	tool = fork();
	if (!tool) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_tool(says[1], met);
	}
	close(says[1]);
	if (started)
		wait_for_tool(tool, says[0], met);
	nanosleep(&wait, NULL);
	kill(tool, SIGKILL);
	waitpid(tool, NULL, 0);
	close(says[0]);
	munmap(met, sizeof(*met));
	assert_int_equal(ask("w"), 0);
}

#endif
