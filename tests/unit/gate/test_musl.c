// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The gate in musl's allocator: its malloc, free and realloc are only a jump, its calloc calls malloc
 * by the PLT, and its aligned_alloc gives a place inside of a block of malloc's. Since no process has
 * two C libraries that work, the gate is put into another one, which waits meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/gate/leads.h"
#include "user/process/maps.h"

#ifndef __x86_64__
int main(void)
{
	puts("1..0 # SKIP x86_64 only");
	return 0;
}
#else
#include "tests/unit/gate/in_process.h"
#include "tests/unit/gate/musl_side.h"

/* calloc is said to be a leaf: that it is none must be seen. */
static struct gated functions[] = {
	{"malloc", GATE_KIND_SIZE_1, 1, .calls_others = false},
	{"free", GATE_KIND_FREE, 1, .calls_others = true},
	{"calloc", GATE_KIND_CALLOC, 2, .calls_others = false},
	{"realloc", GATE_KIND_REALLOC, 2, .calls_others = true},
	{"memalign", GATE_KIND_SIZE_2, 2, .calls_others = true},
	{"aligned_alloc", GATE_KIND_SIZE_2, 2, .calls_others = true},
	{"posix_memalign", GATE_KIND_POSIX, 3, .calls_others = true},
};

static struct {
	pid_t pid;
	FILE *to, *from;
	uint8_t *text; /* as the file has it */
	struct leads_object object;
} musl;

static bool musl_word(void *data, uint64_t address, uint64_t *out)
{
	(void)data;
	return pread(gate.memory, out, sizeof(*out), (off_t)address) == sizeof(*out);
}

/* False: it was not built, since there is no musl-gcc. */
static bool musl_start(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);
	int to[2], from[2];

	assert_in_range(n, 1, sizeof(path) - 16);
	path[n] = '\0';
	strcpy(strrchr(path, '/') + 1, "musl_side");
	if (access(path, X_OK))
		return false;
	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	musl.pid = fork();
	if (!musl.pid) {
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		execl(path, path, NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	musl.to = fdopen(to[1], "w");
	musl.from = fdopen(from[0], "r");
	return true;
}

static uint64_t musl_number(void)
{
	unsigned long number;

	assert_int_equal(fscanf(musl.from, "%lx", &number), 1);
	return number;
}

/* After its first word: memory opened before the exec stays that of the test. */
static void musl_open_memory(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", musl.pid);
	gate.memory = open(path, O_RDWR | O_CLOEXEC);
	assert_true(gate.memory >= 0);
}

/* Code at this place of the process, by its file. */
static void musl_read_text(uint64_t address)
{
	const struct mapping *m;
	struct maps *maps;
	int file;

	assert_int_equal(maps_read(musl.pid, &maps), 0);
	m = maps_find(maps, address);
	assert_non_null(m);
	musl.object = (struct leads_object){
		.size = m->end - m->start, .address = m->start, .word = musl_word};
	musl.text = calloc(1, musl.object.size);
	file = open(m->path, O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0);
	assert_true(pread(file, musl.text, musl.object.size, (off_t)m->offset) > 0);
	musl.object.text = musl.text;
	close(file);
	maps_free(maps);
}

static size_t musl_find(void)
{
	uint64_t entries[ARRAY_SIZE(functions)];
	size_t count = 0, allocating = 0;

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		uint64_t address = musl_number();
		const char *why;
		bool there = false;

		if (!i)
			musl_read_text(address);
		if (leads_beginning(&musl.object, &address, &why))
			fail_msg("%s: %s", functions[i].name, why);
		/* memalign is a jump to aligned_alloc. */
		for (size_t j = 0; j < count; j++)
			there |= (uintptr_t)functions[j].function == address;
		if (there)
			continue;
		functions[count] = functions[i];
		functions[count].function = (void *)(uintptr_t)address;
		if (functions[count++].kind != GATE_KIND_FREE)
			entries[allocating++] = address;
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t address = (uintptr_t)functions[i].function;
		bool calls = leads_calls(&musl.object, address, entries, allocating);

		if (calls)
			print_message("  %s calls others\n", functions[i].name);
		assert_true(calls || functions[i].kind != GATE_KIND_CALLOC);
		assert_true(leads_writes_all(&musl.object, address));
		functions[i].calls_others |= calls;
	}
	return count;
}

/* As sample_by(). The process waits. */
static void musl_sample_by(uint64_t mean)
{
	static const uint8_t empty[64 << GATE_SLOT_BITS];
	struct gate_header header;

	gate_header_init(&header, mean);
	write_text((uintptr_t)gate.code + GATE_HEADER, &header, sizeof(header));
	write_text((uintptr_t)gate.code + GATE_SLOTS, empty, sizeof(empty));
}

static unsigned long musl_do(const char *command)
{
	unsigned long answer;

	fprintf(musl.to, "%s\n", command);
	fflush(musl.to);
	assert_int_equal(fscanf(musl.from, "%lu", &answer), 1);
	return answer;
}

static void musl_rate(unsigned way)
{
	double p = 1 - exp(-(double)MUSL_SIZE / 4096), z;
	char command[16], name[64];
	unsigned long samples;

	musl_sample_by(4096);
	snprintf(command, sizeof(command), "%u", way);
	samples = musl_do(command);
	assert_int_equal(fscanf(musl.from, "%63s", name), 1);
	z = ((double)samples - MUSL_CALLS * p) / sqrt(MUSL_CALLS * p * (1 - p));
	print_message("  %s: %lu samples, z %.2f\n", name, samples, z);
	assert_true(fabs(z) < 6);
}

static void all(void **state)
{
	int status;

	(void)state;
	if (!musl_start()) {
		print_message("no musl-gcc\n");
		skip();
	}
	gate.code = (uint8_t *)(uintptr_t)musl_number();
	musl_open_memory();
	for (size_t i = 0; i < ARRAY_SIZE(gate.hooks); i++)
		gate.hooks[i] = musl_number();
	gate_put(functions, musl_find());
	gate_hook(true);
	gate_set(GATE_SAMPLED);
	musl_sample_by(1);
	assert_int_equal(musl_do("each"), 0);
	for (unsigned way = 0; way < MUSL_WAYS; way++)
		musl_rate(way);
	gate_set(GATE_EXACT);
	musl_sample_by(1);
	assert_int_equal(musl_do("each"), 0);
	gate_set(GATE_NONE);
	fclose(musl.to);
	assert_int_equal(waitpid(musl.pid, &status, 0), musl.pid);
	assert_int_equal(status, 0);
	fclose(musl.from);
	free(musl.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
