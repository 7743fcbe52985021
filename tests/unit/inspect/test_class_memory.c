// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where memory that is in no copy is read, and whose thread-local variable an address is: this program's own, against
 * what it has there itself, and mappings that lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/inspect/class_memory.h"
#include "user/inspect/classes.h"
#include "user/inspect/thread_locals.h"

#define MANY 5000

static const char words[] __attribute__((aligned(16))) =
	"a text that lies in a file, and in no copy";
static __thread uint64_t own_local __attribute__((used)) = 7;

/* This process, of which nothing has been copied but what the test says. */
struct here {
	struct memory_image image;
	struct memory_region regions[1];
	struct memory_thread thread;
	struct class_process process;
	struct class_files files;
	struct class_memory *memory;
	size_t asked;	     /* for objects */
	struct object *only; /* what all of them are; NULL: there is none */
};

static int only_object(void *ctx, const struct mapping *m, struct object **out)
{
	struct here *h = ctx;

	(void)m;
	h->asked++;
	if (!h->only)
		return -ENOENT;
	*out = object_ref(h->only);
	return 0;
}

static void here_open(struct here *h)
{
	static const struct symbolizer_options names = {.inlines = false};

	*h = (struct here){
		.process = {.objects = object_cache_new(), .pid = getpid(), .root_fd = -1}};
	assert_int_equal(maps_read(getpid(), &h->image.maps), 0);
	h->image.regions = h->regions;
	h->image.threads = &h->thread;
	h->files = (struct class_files){.ctx = &h->process,
					.object = class_process_object,
					.symbolizer = symbolizer_new(&names),
					.pid = getpid()};
	h->memory = class_memory_new(&h->image, &h->files);
	assert_true(h->process.objects && h->files.symbolizer && h->memory);
}

/* The same with mappings that somebody has made up, and objects as the test has them. */
static void here_pretend(struct here *h, const char *maps)
{
	here_open(h);
	class_memory_free(h->memory);
	maps_free(h->image.maps);
	assert_int_equal(maps_parse(maps, strlen(maps), &h->image.maps), 0);
	h->files.ctx = h;
	h->files.object = only_object;
	h->memory = class_memory_new(&h->image, &h->files);
	assert_non_null(h->memory);
}

static void here_close(struct here *h)
{
	class_memory_free(h->memory);
	object_unref(h->only);
	symbolizer_free(h->files.symbolizer);
	object_cache_free(h->process.objects);
	maps_free(h->image.maps);
}

/* This program. */
static struct object *own_object(struct here *h)
{
	struct object *object = NULL;

	assert_int_equal(class_process_object(&h->process,
					      maps_find(h->image.maps, (uintptr_t)words), &object),
			 0);
	return object;
}

static void read_from_files(void **state)
{
	const uint64_t at = (uintptr_t)words;
	char to[4096], *two = to;
	struct here h;

	(void)state;
	here_open(&h);
	assert_true(class_memory_read(h.memory, at, to, sizeof(words)));
	assert_string_equal(to, words);
	assert_int_equal(class_memory_text(h.memory, at, to, sizeof(words)), sizeof(words) - 1);
	/* Without room for its NUL it has no end. */
	assert_int_equal(class_memory_text(h.memory, at, to, sizeof(words) - 1), -1);
	/* What was copied goes before what the file has, and the rest is the file's. */
	h.regions[0] = (struct memory_region){
		.start = at + 8, .size = 8, .words = (const uint64_t[]){0x5858585858585858}};
	h.image.region_count = 1;
	assert_true(class_memory_read(h.memory, at, to, sizeof(words)));
	assert_memory_equal(two, words, 8);
	assert_memory_equal(two + 8, "XXXXXXXX", 8);
	assert_string_equal(two + 16, words + 16);
	here_close(&h);
}

static void nothing_beyond(void **state)
{
	const struct mapping *m;
	char to[64];
	struct here h;

	(void)state;
	here_open(&h);
	m = maps_find(h.image.maps, (uintptr_t)words);
	while (maps_find(h.image.maps, m->end) && maps_find(h.image.maps, m->end)->ino == m->ino)
		m = maps_find(h.image.maps, m->end);
	assert_false(class_memory_read(h.memory, m->end, to, 1));
	assert_true(class_memory_read(h.memory, UINT64_MAX, to, 0));
	assert_false(class_memory_read(h.memory, UINT64_MAX - 3, to, 8));
	assert_int_equal(class_memory_text(h.memory, UINT64_MAX - 3, to, 8), -1);
	assert_int_equal(class_memory_text(h.memory, (uintptr_t)words, to, 0), -1);
	/* A region's last bytes, with no NUL and nothing behind them. */
	h.regions[0] = (struct memory_region){.start = UINT64_MAX - 15,
					      .size = 8,
					      .words = (const uint64_t[]){0x5858585858585858}};
	h.image.region_count = 1;
	assert_true(class_memory_read(h.memory, UINT64_MAX - 15, to, 8));
	assert_false(class_memory_read(h.memory, UINT64_MAX - 15, to, 9));
	assert_int_equal(class_memory_text(h.memory, UINT64_MAX - 15, to, sizeof(to)), -1);
	here_close(&h);
}

static const char lies[] = "10000000-10002000 r--p 7ffffffffffff000 08:01 77 /bin/prog\n"
			   "10002000-10004000 rw-p 00001000 08:01 77 /bin/prog\n"
			   "10004000-10006000 rw-p 00000000 00:00 0 \n"
			   "10007000-10008000 rw-p 00000000 00:00 0 \n"
			   "20000000-20001000 rw-s 00000000 08:01 78 /bin/shared\n"
			   "20001000-20002000 rw-p 00000000 00:00 0 \n"
			   "30000000-30001000 ---p 00000000 08:01 79 /bin/hidden\n";

static void mappings_that_lie(void **state)
{
	struct class_loaded loaded = {.deadline_ns = UINT64_MAX};
	uint64_t vaddr, offset;
	const char *name;
	char to[8];
	struct here h;

	(void)state;
	here_pretend(&h, lies);
	/* A file that cannot be opened is asked for once a mapping. */
	for (int i = 0; i < 3; i++)
		assert_false(class_memory_read(h.memory, 0x10000000, to, 8));
	assert_int_equal(h.asked, 1);
	assert_false(class_memory_read(h.memory, 0x30000000, to, 8));
	assert_int_equal(h.asked, 1);
	assert_false(class_memory_variable(h.memory, 0x10002000, &vaddr, &name, &offset));
	assert_false(class_memory_next_loaded(h.memory, &loaded));
	assert_false(loaded.late);
	/* The rest of a file's data is what lies right behind it, and is private. */
	assert_true(class_memory_is_object(h.memory, 0x10005fff));
	assert_string_equal(class_memory_path(h.memory, 0x10004000), "/bin/prog");
	assert_false(class_memory_is_object(h.memory, 0x10006000));
	assert_false(class_memory_is_object(h.memory, 0x10007000));
	assert_false(class_memory_is_object(h.memory, 0x20001000));
	assert_null(class_memory_path(h.memory, 0x20001000));
	assert_null(class_memory_path(h.memory, UINT64_MAX));
	here_close(&h);
}

/* It can be opened, and does not have what is said to be mapped of it. */
static void files_that_are_shorter(void **state)
{
	struct class_loaded late = {.deadline_ns = 1};
	char to[8];
	struct here h, real;

	(void)state;
	here_open(&real);
	here_pretend(&h, lies);
	h.only = own_object(&real);
	assert_false(class_memory_read(h.memory, 0x10000000, to, 8));
	assert_true(class_memory_read(h.memory, 0x10002000, to, 8));
	assert_false(class_memory_next_loaded(h.memory, &late));
	assert_true(late.late);
	assert_string_equal(late.path, "/bin/prog");
	here_close(&h);
	here_close(&real);
}

static void own_thread_local(void **state)
{
	const uint64_t at = (uintptr_t)&own_local;
	struct thread_variable variable = {0};
	struct thread_locals *locals;
	struct here h;

	(void)state;
	here_open(&h);
	h.thread = (struct memory_thread){.tid = 42, .tls = (uintptr_t)__builtin_thread_pointer()};
	h.image.thread_count = 1;
	locals = thread_locals_new(&h.image, &h.files, getauxval(AT_ENTRY), &thread_locals_usual);
	assert_non_null(locals);
	assert_int_equal(thread_locals_name(locals, at + 3, &variable), 0);
	assert_int_equal(variable.tid, 42);
	assert_string_equal(variable.name, "own_local");
	assert_int_equal(variable.offset, 3);
	assert_int_equal(thread_locals_name(locals, (uintptr_t)words, &variable), -ENOENT);
	assert_int_equal(thread_locals_name(locals, 0, &variable), -ENOENT);
	assert_int_equal(thread_locals_name(locals, UINT64_MAX, &variable), -ENOENT);
	/* A thread pointer is the target's word. */
	h.thread.tls = 8;
	assert_int_equal(thread_locals_name(locals, at, &variable), -ENOENT);
	h.thread.tls = UINT64_MAX;
	assert_int_equal(thread_locals_name(locals, at, &variable), -ENOENT);
	thread_locals_free(locals);
	here_close(&h);
}

/* So many files that to open each would take the tool's time and memory. */
static void thread_locals_of_many(void **state)
{
	char *maps = malloc(MANY * 80ul), *end = maps;
	struct thread_variable variable;
	struct thread_locals *locals;
	struct here h, real;

	(void)state;
	assert_non_null(maps);
	for (unsigned i = 0; i < MANY; i++)
		end += sprintf(end, "%x-%x r--p 00000000 08:01 %u /lib/%u.so\n",
			       0x10000000 + i * 8192, 0x10001000 + i * 8192, 100 + i, i);
	here_open(&real);
	here_pretend(&h, maps);
	locals = thread_locals_new(&h.image, &h.files, UINT64_MAX, &thread_locals_usual);
	assert_non_null(locals);
	/* None can be opened: each is tried once, whoever asks. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(thread_locals_name(locals, 0x10000000, &variable), -ENOENT);
	assert_int_equal(h.asked, MANY);
	thread_locals_free(locals);
	h.asked = 0;
	h.only = own_object(&real);
	locals = thread_locals_new(&h.image, &h.files, 0, &thread_locals_usual);
	assert_non_null(locals);
	assert_int_equal(thread_locals_name(locals, 0x10000000, &variable), -ENOENT);
	assert_in_range(h.asked, 1, 4096);
	thread_locals_free(locals);
	h.files.object = NULL;
	locals = thread_locals_new(&h.image, &h.files, 0, &thread_locals_usual);
	assert_non_null(locals);
	assert_int_equal(thread_locals_name(locals, 0x10000000, &variable), -ENOENT);
	thread_locals_free(locals);
	here_close(&h);
	here_close(&real);
	free(maps);
}

/* So many threads that to ask each of them for what one of many files has in it would take minutes. */
static void thread_locals_of_many_threads(void **state)
{
	static const struct thread_locals_limits patient = {.looking_ns = 1000 * NS_PER_S,
							    .naming_ns = 1000 * NS_PER_S};
	static const struct thread_locals_limits hasty = {.looking_ns = 1000 * NS_PER_S,
							  .naming_ns = 1};
	const uint64_t at = (uintptr_t)&own_local;
	struct memory_thread *threads = calloc(MANY, sizeof(*threads));
	struct thread_variable variable = {0};
	struct thread_locals *locals;
	struct here h;

	(void)state;
	assert_non_null(threads);
	here_open(&h);
	threads[MANY - 1] =
		(struct memory_thread){.tid = 42, .tls = (uintptr_t)__builtin_thread_pointer()};
	h.image.threads = threads;
	h.image.thread_count = MANY;
	locals = thread_locals_new(&h.image, &h.files, getauxval(AT_ENTRY), &patient);
	assert_non_null(locals);
	assert_int_equal(thread_locals_name(locals, at, &variable), 0);
	assert_int_equal(variable.tid, 42);
	thread_locals_free(locals);
	locals = thread_locals_new(&h.image, &h.files, getauxval(AT_ENTRY), &hasty);
	assert_non_null(locals);
	assert_int_equal(thread_locals_name(locals, at, &variable), -ENOENT);
	/* It is not asked again for what it has no time for. */
	assert_int_equal(thread_locals_name(locals, at, &variable), -ENOENT);
	thread_locals_free(locals);
	here_close(&h);
	free(threads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_from_files),
		cmocka_unit_test(nothing_beyond),
		cmocka_unit_test(mappings_that_lie),
		cmocka_unit_test(files_that_are_shorter),
		cmocka_unit_test(own_thread_local),
		cmocka_unit_test(thread_locals_of_many),
		cmocka_unit_test(thread_locals_of_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
