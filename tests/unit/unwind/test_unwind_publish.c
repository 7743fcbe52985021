// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a target's walks may use while user space reads anew what it has mapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unwind/memory.h"

#define TARGET 7
#define ROUNDS 20
/* So many mappings take a while to be read. */
#define PAGES 8000

struct fixture {
	struct unwind_memory memory;
	struct unwind_publisher *publisher;
	struct object_cache *cache;
	struct image *image;
	struct unwind_target *row;
	uint8_t *pages;
};

/* What stands in the row, seen by somebody who walks all the time. */
struct watcher {
	struct unwind_target *row;
	pthread_t thread;
	atomic_bool stop;
	bool maps; /* and maps memory all the time */
	uint64_t looks, without;
};

static void *watch(void *arg)
{
	struct watcher *w = arg;

	while (!atomic_load(&w->stop)) {
		w->looks++;
		w->without += !__atomic_load_n(&w->row->set, __ATOMIC_SEQ_CST);
		if (!w->maps)
			continue;
		/* As unwind_remapped() does where nothing that is known is touched. */
		__atomic_fetch_add(&w->row->remaps, 1, __ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&w->row->set, __ATOMIC_SEQ_CST))
			__atomic_fetch_add(&w->row->unmarked, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static bool row_is_trusted(const struct unwind_target *row)
{
	return row->set && row->unmarked == row->valid_from;
}

static int no_memory(void *to, uint32_t size, uint64_t address)
{
	(void)to, (void)size, (void)address;
	return -1;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct unwind_backend backend;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	assert_non_null(f);
	f->memory.read = no_memory;
	f->cache = object_cache_new();
	assert_non_null(f->cache);
	backend = memory_backend(&f->memory);
	f->row = &backend.targets[TARGET];
	assert_int_equal(unwind_publisher_new(&backend, &f->publisher), 0);
	f->pages = mmap(NULL, PAGES * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(f->pages, MAP_FAILED);
	for (size_t i = 0; i < PAGES; i += 2)
		assert_int_equal(mprotect(f->pages + i * page, page, PROT_NONE), 0);
	assert_int_equal(image_new(getpid(), f->cache, &f->image), 0);
	assert_int_equal(unwind_publisher_sync(f->publisher, TARGET, f->image), 0);
	assert_true(row_is_trusted(f->row));
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	munmap(f->pages, PAGES * (size_t)sysconf(_SC_PAGESIZE));
	unwind_publisher_free(f->publisher);
	assert_int_equal(f->memory.chunk_count, 0);
	image_free(f->image);
	object_cache_free(f->cache);
	free(f);
	return 0;
}

static void watch_begin(struct fixture *f, struct watcher *w)
{
	w->row = f->row;
	assert_int_equal(pthread_create(&w->thread, NULL, watch, w), 0);
}

static void watch_end(struct watcher *w)
{
	atomic_store(&w->stop, true);
	pthread_join(w->thread, NULL);
}

/*
 * A walk that meets no set asks the kernel, which has no answer while another thread maps memory: eight threads that make
 * arenas of their heap just then have lost their stacks so.
 */
static void the_set_of_before_stays_in_use(void **state)
{
	struct fixture *f = *state;
	struct watcher w = {0};

	watch_begin(f, &w);
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(unwind_publisher_sync(f->publisher, TARGET, f->image), 0);
		unwind_publisher_reclaim(f->publisher);
	}
	watch_end(&w);
	assert_true(row_is_trusted(f->row));
	print_message("%llu of %llu looks saw no set\n", (unsigned long long)w.without,
		      (unsigned long long)w.looks);
	assert_true(w.looks > ROUNDS);
	assert_true(w.without * 5 < w.looks);
}

/* What has been mapped may not be in what was read. */
static void mapped_all_the_time(void **state)
{
	struct fixture *f = *state;
	struct watcher w = {.maps = true};
	int err, again = 0;

	watch_begin(f, &w);
	/* The other thread may get no processor in a round. */
	for (int i = 0; i < ROUNDS || !again; i++) {
		err = unwind_publisher_sync(f->publisher, TARGET, f->image);
		assert_true(!err || err == -EAGAIN);
		again += err == -EAGAIN;
		assert_true(f->row->set);
		assert_int_equal(row_is_trusted(f->row), !err);
		unwind_publisher_reclaim(f->publisher);
	}
	watch_end(&w);
	assert_int_equal(unwind_publisher_sync(f->publisher, TARGET, f->image), 0);
	assert_true(row_is_trusted(f->row));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_set_of_before_stays_in_use, set_up, tear_down),
		cmocka_unit_test_setup_teardown(mapped_all_the_time, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
