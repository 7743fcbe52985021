// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <gnu/libc-version.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/unit/target/cached.h"
#include "tests/unit/test_proc_child.h"
#include "user/target/image.h"

static void test_own_image(void **state)
{
	struct image *image;
	struct location location;
	struct stat st;
	int on_stack;

	(void)state;
	assert_int_equal(image_new(getpid(), cache, &image), 0);
	assert_int_equal(image_pid(image), getpid());
	assert_true(image_locate(image, (uint64_t)(uintptr_t)test_own_image, &location));
	assert_int_equal(stat("/proc/self/exe", &st), 0);
	assert_non_null(location.object);
	assert_int_equal(object_ino(location.object), st.st_ino);
	assert_true(object_is_code(location.object, location.offset));
	assert_true(image_locate(image, (uint64_t)(uintptr_t)&gnu_get_libc_version, &location));
	assert_string_equal(object_name(location.object), "libc.so.6");
	assert_false(image_locate(image, (uint64_t)(uintptr_t)&on_stack, &location));
	assert_false(image_locate(image, 0, &location));
	assert_false(image_locate(image, UINT64_MAX, &location));
	for (size_t i = 1; i < image_range_count(image); i++)
		assert_true(image_range_at(image, i - 1)->end <= image_range_at(image, i)->start);
	assert_null(image_range_at(image, image_range_count(image)));
	image_free(image);
}

static struct mapping anonymous(uint64_t start, uint64_t end)
{
	return (struct mapping){.start = start, .end = end, .exec = true, .path = ""};
}

static void check_ranges(const struct image *image, const uint64_t *expected, size_t count)
{
	assert_int_equal(image_range_count(image), count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(image_range_at(image, i)->start, expected[2 * i]);
		assert_int_equal(image_range_at(image, i)->end, expected[2 * i + 1]);
	}
}

#define CHECK(image, ...)                                    \
	check_ranges(image, (const uint64_t[]){__VA_ARGS__}, \
		     sizeof((const uint64_t[]){__VA_ARGS__}) / 16)

static void add(struct image *image, uint64_t start, uint64_t end)
{
	struct mapping m = anonymous(start, end);
	uint64_t generation = image_generation(image);

	assert_int_equal(image_add(image, &m), 0);
	assert_int_not_equal(image_generation(image), generation);
}

static void test_overlaps(void **state)
{
	struct image *image = image_new_empty(getpid(), cache);
	struct location location;

	(void)state;
	add(image, 0x5000, 0x9000);
	add(image, 0x1000, 0x2000);
	CHECK(image, 0x1000, 0x2000, 0x5000, 0x9000);
	add(image, 0x6000, 0x7000); /* in the middle: two pieces stay */
	CHECK(image, 0x1000, 0x2000, 0x5000, 0x6000, 0x6000, 0x7000, 0x7000, 0x9000);
	add(image, 0x4000, 0x5800); /* the front of one */
	CHECK(image, 0x1000, 0x2000, 0x4000, 0x5800, 0x5800, 0x6000, 0x6000, 0x7000, 0x7000,
	      0x9000);
	add(image, 0x5c00, 0x8000); /* one's end, one whole, one's front */
	CHECK(image, 0x1000, 0x2000, 0x4000, 0x5800, 0x5800, 0x5c00, 0x5c00, 0x8000, 0x8000,
	      0x9000);
	add(image, 0x4000, 0x5800); /* the same again */
	CHECK(image, 0x1000, 0x2000, 0x4000, 0x5800, 0x5800, 0x5c00, 0x5c00, 0x8000, 0x8000,
	      0x9000);
	add(image, 0, 0x10000); /* everything */
	CHECK(image, 0, 0x10000);
	/* Memory without a file keeps the plain address. */
	assert_true(image_locate(image, 0x1234, &location));
	assert_null(location.object);
	assert_int_equal(location.offset, 0x1234);
	image_free(image);
}

/* What a random sequence of mappings leaves, page by page, is what an array of owners says. */
static void test_random_overlaps(void **state)
{
	struct image *image = image_new_empty(getpid(), cache);
	uint64_t owner[128] = {0};
	struct maps *maps;
	const struct mapping *own;
	struct location location;
	unsigned seed = 7;

	(void)state;
	assert_int_equal(maps_read(getpid(), &maps), 0);
	own = maps_find(maps, (uint64_t)(uintptr_t)test_random_overlaps);
	for (int i = 1; i <= 2000; i++) {
		uint64_t page = (uint64_t)rand_r(&seed) % 127,
			 len = 1 + (uint64_t)rand_r(&seed) % (127 - page);
		struct mapping m = *own;

		/*
		 * A file's mapping at a place of our choice; the offset tells the mappings apart.
		 */
		m.start = page << 12;
		m.end = (page + len) << 12;
		m.offset = (uint64_t)i << 32;
		assert_int_equal(image_add(image, &m), 0);
		for (uint64_t p = page; p < page + len; p++)
			owner[p] = m.offset + ((p - page) << 12);
	}
	for (uint64_t p = 0; p < 128; p++) {
		bool known = image_locate(image, (p << 12) + 5, &location);

		assert_int_equal(known, owner[p] != 0);
		if (known)
			assert_int_equal(location.offset, owner[p] + 5);
	}
	maps_free(maps);
	image_free(image);
}

static int map_step(void *path, int number)
{
	static void *where;
	int fd;

	if (number == 1) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		where = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		close(fd);
		return where == MAP_FAILED;
	}
	return number == 2 ? munmap(where, 4096) : 0;
}

static const struct image_range *find_range(const struct image *image, const char *name)
{
	for (size_t i = 0; i < image_range_count(image); i++) {
		const struct image_range *r = image_range_at(image, i);

		if (r->object && !strcmp(object_name(r->object), name))
			return r;
	}
	return NULL;
}

static void test_refresh(void **state)
{
	char directory[32], path[64];
	struct child child;
	struct image *image;
	struct location before;
	uint64_t generation, address;

	(void)state;
	make_directory(directory);
	snprintf(path, sizeof(path), "%s/plugin.so", directory);
	run_tool("cp -L /proc/%d/exe %s", (int)getpid(), path);
	child = child_start(map_step, path);
	assert_int_equal(image_new(child.pid, cache, &image), 0);
	generation = image_generation(image);
	assert_null(find_range(image, "plugin.so"));
	assert_int_equal(image_refresh(image), 0);
	assert_int_equal(image_generation(image), generation);
	child_step(&child);
	assert_int_equal(image_refresh(image), 0);
	assert_int_not_equal(image_generation(image), generation);
	assert_non_null(find_range(image, "plugin.so"));
	address = find_range(image, "plugin.so")->start;
	assert_true(image_locate(image, address + 1, &before));
	generation = image_generation(image);
	child_step(&child);
	assert_int_equal(image_refresh(image), 0);
	assert_int_not_equal(image_generation(image), generation);
	assert_null(find_range(image, "plugin.so"));
	/* Unmapped, but a location handed out before still has its object. */
	assert_string_equal(object_path(before.object), path);
	child_end(&child);
	assert_int_equal(image_refresh(image), -ESRCH);
	assert_true(image_range_count(image) > 0);
	image_free(image);
	run_tool("rm -r %s", directory);
}

/*
 * Records say what was; what the reading shows may be younger than the stacks that are still to be
 * looked up.
 */
static void test_fill(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct location here, there;
	struct image_range range;
	struct image *image;
	struct mapping old;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *mapped;

	(void)state;
	assert_int_equal(image_new(getpid(), cache, &image), 0);
	range = *find_range(image, "libc.so.6");
	assert_non_null(range.object);
	old = (struct mapping){.start = range.start,
			       .end = range.start + page,
			       .exec = true,
			       .path = "/nowhere/gone.so"};
	image_add(image, &old);
	mapped = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	assert_false(image_locate(image, (uintptr_t)mapped, &there));
	assert_int_equal(image_fill(image), 0);
	assert_true(image_locate(image, (uintptr_t)mapped, &there));
	assert_non_null(there.object);
	assert_true(image_locate(image, range.start, &here));
	assert_null(here.object);
	assert_true(image_locate(image, range.start + page, &here));
	assert_ptr_equal(here.object, range.object);
	assert_int_equal(here.offset, range.offset + page);
	assert_int_equal(image_refresh(image), 0);
	assert_true(image_locate(image, range.start, &here));
	assert_ptr_equal(here.object, range.object);
	munmap(mapped, page);
	close(fd);
	image_free(image);
}

static void test_fork_and_exit(void **state)
{
	struct child child = child_start(NULL, NULL);
	struct image *parent, *copy, *late;
	struct location a, b;
	struct maps *maps;
	struct mapping m;

	(void)state;
	assert_int_equal(image_new(getpid(), cache, &parent), 0);
	copy = image_clone(parent, child.pid);
	late = image_new_empty(child.pid, cache);
	assert_non_null(copy);
	assert_non_null(late);
	assert_int_equal(maps_read(child.pid, &maps), 0);
	m = *maps_find(maps, (uint64_t)(uintptr_t)test_fork_and_exit);
	image_free(parent);
	child_end(&child);

	assert_int_equal(image_pid(copy), child.pid);
	assert_true(image_locate(copy, (uint64_t)(uintptr_t)test_fork_and_exit, &a));
	/* The process is dead; its record comes late and finds the object. */
	assert_int_equal(image_add(late, &m), 0);
	assert_true(image_locate(late, (uint64_t)(uintptr_t)test_fork_and_exit, &b));
	assert_ptr_equal(a.object, b.object);
	assert_int_equal(a.offset, b.offset);
	image_free(copy);
	/* Not even in the cache any more: by the root directory, which the image holds. */
	assert_int_equal(image_add(late, &m), 0);
	/* A file that cannot be found leaves a range without an object. */
	m.path = "/nowhere";
	m.ino = 1;
	m.start = 0x1000;
	m.end = 0x2000;
	assert_int_equal(image_add(late, &m), -ENOENT);
	assert_true(image_locate(late, 0x1800, &b));
	assert_null(b.object);
	image_free(late);
	maps_free(maps);
	assert_int_equal(image_new(child.pid, cache, &late), -ESRCH);
}

static void test_dead_process_by_root(void **state)
{
	char directory[32], path[64];
	struct child child;
	struct image *image;
	struct stat st;
	struct mapping m = {.start = 0x1000, .end = 0x2000, .exec = true};

	(void)state;
	make_directory(directory);
	snprintf(path, sizeof(path), "%s/late.so", directory);
	run_tool("cp -L /proc/%d/exe %s", (int)getpid(), path);
	assert_int_equal(stat(path, &st), 0);
	m.dev = st.st_dev;
	m.ino = st.st_ino;
	m.path = path;
	child = child_start(NULL, NULL);
	image = image_new_empty(child.pid, cache);
	child_end(&child);
	assert_int_equal(image_add(image, &m), 0);
	assert_string_equal(object_name(image_range_at(image, 0)->object), "late.so");
	image_free(image);
	run_tool("rm -r %s", directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_image),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_random_overlaps),
		cmocka_unit_test(test_refresh),
		cmocka_unit_test(test_fill),
		cmocka_unit_test(test_fork_and_exit),
		cmocka_unit_test(test_dead_process_by_root),
	};

	return cmocka_run_group_tests(tests, make_cache, free_cache);
}
