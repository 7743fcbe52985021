// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * CPython's allocator of small objects in a real python3, which prints its own statistics of it
 * (sys._debugmallocstats()) and then stands still: as many blocks in use of each size, arenas and
 * free pools. And arenas of the layouts that the python3 here does not have, made by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_cpython.h"
#include "tests/unit/heap/pythons.h"
#include "tests/unit/heap/real_image.h"
#include "user/heap/walker.h"

#define CLASSES 32

/* What python3 says of itself. */
struct statistics {
	uint64_t used[CLASSES], avail[CLASSES], pools[CLASSES];
	uint64_t arenas, arena_bytes, unused_pools, pool_bytes;
};

/* Between the statistics and the waiting it must allocate nothing. */
static const char program[] =
	"import os, sys, signal, gc\n"
	"kept = [object() for i in range(30000)] + [{i: str(i)} for i in range(20000)]\n"
	"kept += [bytes(i % 700) for i in range(20000)] + [(i, [i]) for i in range(20000)]\n"
	"del kept[5::3]\n"
	"many = [[] for i in range(100000)]\n"
	"del many\n"
	"os.dup2(1, 2)\n"
	"def tell(stats, wait):\n"
	"    stats()\n"
	"    wait()\n"
	"tell(sys._debugmallocstats, signal.pause)\n";

static void read_line(struct statistics *s, const char *line)
{
	unsigned long class, size, pools, used, avail;

	if (sscanf(line, "%lu %lu %lu %lu %lu", &class, &size, &pools, &used, &avail) == 5 &&
	    class < CLASSES && size == 16 * (class + 1)) {
		s->used[class] = used;
		s->avail[class] = avail;
		s->pools[class] = pools;
	} else if (sscanf(line, "%lu arenas * %lu bytes/arena", &pools, &size) == 2) {
		s->arenas = pools;
		s->arena_bytes = size;
	} else if (sscanf(line, "%lu unused pools * %lu bytes", &pools, &size) == 2) {
		s->unused_pools = pools;
		s->pool_bytes = size;
	}
}

/* What else it prints is in its way. True if there was any. */
static bool real_drain(struct real_process *process)
{
	int flags = fcntl(process->from, F_GETFL);
	bool any = false;
	char text[256];

	fcntl(process->from, F_SETFL, flags | O_NONBLOCK);
	while (read(process->from, text, sizeof(text)) > 0)
		any = true;
	fcntl(process->from, F_SETFL, flags);
	return any;
}

static bool real_sleeps(pid_t pid)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
	fclose(file);
	assert_true(state != 'Z');
	sched_yield();
	return state == 'S';
}

/*
 * Up to the line that ends the part about pools; then until it waits: it sleeps, and not because it
 * could not print.
 */
static void read_statistics(struct real_process *process, struct statistics *s)
{
	size_t length = 0;
	char line[512];
	bool asleep;

	while (length + 1 < sizeof(line)) {
		assert_true(real_read(process, line + length, 1));
		if (line[length++] != '\n')
			continue;
		line[length] = '\0';
		read_line(s, line);
		if (!strncmp(line, "Total ", 6))
			break;
		length = 0;
	}
	do {
		real_drain(process);
		asleep = real_sleeps(process->pid);
	} while (real_drain(process) || !asleep);
}

static void check_statistics(char *python)
{
	char *argv[] = {python, "-S", "-c", (char *)program, NULL};
	uint64_t used[CLASSES] = {0}, all = 0, bytes = 0, avail = 0, uncut;
	struct inventory inventory = {0};
	const struct inspected_allocator *shown = &inventory.allocators[0].shown;
	struct statistics s = {0};
	struct real_process process;
	struct heap_image *image;

	real_start(&process, NULL, argv);
	read_statistics(&process, &s);
	image = real_image(process.pid);
	image->inventory = &inventory;
	assert_int_equal(dead_memory_find(image), 0);
	assert_string_equal(shown->name, "cpython");
	assert_memory_equal(shown->version, "3.", 2);
	assert_string_equal(shown->why, "");
	assert_int_equal(shown->unbelieved_bytes, 0);
	assert_int_equal(shown->arenas, s.arenas);
	assert_int_equal(image->claimed_count, s.arenas);
	for (size_t i = 0; i < image->old.count; i++) {
		uint64_t size = block_list_at(&image->old, i).size;

		if (!heap_image_is_claimed(image, block_list_at(&image->old, i).address))
			continue;
		assert_int_equal(size % 16, 0);
		assert_in_range(size, 16, 512);
		used[size / 16 - 1]++;
	}
	for (size_t i = 0; i < CLASSES; i++) {
		assert_int_equal(used[i], s.used[i]);
		all += s.used[i];
		bytes += s.used[i] * 16 * (i + 1);
		avail += s.avail[i] * 16 * (i + 1);
	}
	assert_true(all > 80000);
	assert_int_equal(shown->in_use.count, all);
	assert_int_equal(shown->in_use.bytes, bytes);
	/* Each byte of its arenas is counted once. */
	uncut = s.unused_pools * s.pool_bytes;
	assert_true(shown->free_bytes >= avail + uncut);
	assert_int_equal(shown->in_use.bytes + shown->free_bytes + shown->books_bytes,
			 s.arenas * s.arena_bytes);
	heap_image_free(image);
	real_end(&process);
}

static void statistics(void **state)
{
	char pythons[PYTHONS_MAX][PATH_MAX];
	size_t count = find_pythons(pythons);

	(void)state;
	if (!count) {
		print_message("no python3 of 3.8 to 3.13 here\n");
		skip();
	}
	unsetenv("PYTHONMALLOC");
	for (size_t i = 0; i < count; i++) {
		print_message("%s\n", pythons[i]);
		check_statistics(pythons[i]);
	}
}

/* ---- made by hand ------------------------------------------------------------------------- */

static void each_layout(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		struct heap_image *image = heap(&layouts[i]);
		struct inventory inventory = {0};
		const struct inspected_allocator *shown = &inventory.allocators[0].shown;

		image->inventory = &inventory;
		fake_find_dead(image);
		assert_int_equal(inventory.count, 1);
		assert_string_equal(shown->name, "cpython");
		assert_string_equal(shown->version, "3.8");
		assert_string_equal(shown->why, "");
		assert_int_equal(shown->arenas, 1);
		assert_int_equal(shown->in_use.count, 8);
		assert_int_equal(shown->in_use.bytes, 512 + 7 * 64);
		assert_int_equal(shown->cached_bytes, 3 * 64);
		assert_int_equal(shown->in_use.bytes + shown->free_bytes + shown->books_bytes,
				 layouts[i].arena);
		assert_true(fake_dead(image, SECOND(&layouts[i]) + 4 * 64));
		assert_false(fake_dead(image, SECOND(&layouts[i]) + 5 * 64));
		assert_int_equal(image->claimed_count, 1);
		assert_int_equal(image->claimed[0].start, ARENA);
		assert_int_equal(image->claimed[0].end, ARENA + layouts[i].arena);
		heap_image_free(image);
	}
}

/* A block of the allocator below that holds an arena is none; the next one is. */
static void arena_in_block(void **state)
{
	const struct layout *l = &layouts[0];
	struct heap_image *image = heap(l);
	struct inventory inventory = {0};
	const struct inspected_allocator *shown = &inventory.allocators[1].shown;
	struct inventory_allocator *below;
	size_t before;

	(void)state;
	image->inventory = &inventory;
	fake_find_dead(image);
	below = walker_allocator(image, "below");
	before = image->old.count;
	assert_int_equal(walker_report(image, below, INVENTORY_IN_USE, ARENA - 16,
				       ARENA + l->arena + 48, UINT64_MAX),
			 0);
	assert_int_equal(image->old.count, before);
	assert_int_equal(shown->in_use.count, 0);
	assert_int_equal(shown->books_bytes, 64);
	assert_int_equal(walker_report(image, below, INVENTORY_IN_USE, ARENA + l->arena + 64,
				       ARENA + l->arena + 128, UINT64_MAX),
			 0);
	assert_int_equal(image->old.count, before + 1);
	assert_int_equal(shown->in_use.count, 1);
	heap_image_free(image);
}

/* A pool that does not agree with itself is not believed, and the others are. */
static void broken_pools(void **state)
{
	const struct layout *l = &layouts[1];

	(void)state;
	for (int i = 0; i < 9; i++) {
		struct heap_image *image = heap(l);
		struct inventory inventory = {0};
		const struct inspected_allocator *shown = &inventory.allocators[0].shown;

		image->inventory = &inventory;
		switch (i) {
		case 0: /* one more in use than there can be */
			pool(image, l, 1, 8, 3, 10, SECOND(l) + 9 * 64);
			break;
		case 1: /* one less */
			pool(image, l, 1, 6, 3, 10, SECOND(l) + 9 * 64);
			break;
		case 2: /* a circle */
			fake_word(image, SECOND(l) + 4 * 64, SECOND(l));
			break;
		case 3: /* into a block */
			fake_word(image, SECOND(l) + 4 * 64, SECOND(l) + 8);
			break;
		case 4: /* behind what has been cut */
			fake_word(image, SECOND(l), SECOND(l) + 10 * 64);
			break;
		case 5: /* out of the pool */
			fake_word(image, SECOND(l), pool_at(l, 0) + 48);
			break;
		case 6: /* no such size */
			pool(image, l, 1, 7, 32, 10, SECOND(l) + 9 * 64);
			break;
		case 7: /* more blocks than there is room for */
			pool(image, l, 1, 7, 3, 1000, SECOND(l) + 9 * 64);
			break;
		default: /* another arena's */
			fake_word(image, pool_at(l, 1) + 32, (INDEX + 1) | 3ull << 32);
			break;
		}
		fake_find_dead(image);
		assert_int_equal(shown->in_use.count, 1);
		assert_int_equal(shown->unbelieved_bytes, l->pool);
		assert_string_not_equal(shown->why, "");
		assert_false(fake_dead(image, SECOND(l) + 4 * 64));
		heap_image_free(image);
	}
}

/* An arena that does not agree with its pools is not believed; without any there is no vector. */
static void broken_arenas(void **state)
{
	const struct layout *l = &layouts[0];
	const uint64_t entry = VECTOR + 48 * INDEX;

	(void)state;
	for (int i = 0; i < 7; i++) {
		struct heap_image *image = heap(l);
		struct inventory inventory = {0};
		const struct inspected_allocator *shown = &inventory.allocators[0].shown;

		image->inventory = &inventory;
		switch (i) {
		case 0: /* another count of free pools */
			fake_word(image, entry + 16, 63 | 64ull << 32);
			break;
		case 1: /* of all */
			fake_word(image, entry + 16, 62 | 65ull << 32);
			break;
		case 2: /* its first pool says that it is another arena's */
			fake_word(image, pool_at(l, 0) + 32, (INDEX + 1) | 31ull << 32);
			break;
		case 3: /* cut up to behind its end */
			fake_word(image, entry + 8, ARENA + l->arena + l->pool);
			break;
		case 4: /* not on the list of the unused */
			fake_word(image, VECTOR + 32, 0x1000);
			break;
		case 5: /* near the end of all addresses */
			fake_word(image, entry, UINT64_MAX - 15);
			break;
		default: /* no variable has the vector's address */
			fake_word(image, DATA + 0x40, VECTOR + 48);
			break;
		}
		fake_find_dead(image);
		assert_int_equal(inventory.count, i ? 0 : 1);
		assert_int_equal(shown->unbelieved_bytes, i ? 0 : l->arena);
		assert_int_equal(image->old.count, 0);
		heap_image_free(image);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statistics),	  cmocka_unit_test(each_layout),
		cmocka_unit_test(arena_in_block), cmocka_unit_test(broken_pools),
		cmocka_unit_test(broken_arenas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
