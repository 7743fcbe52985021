// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is read of glibc's malloc in a process that nobody has watched, against the program's own books. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/inspect/inspected.h"
#include "tests/unit/rounds.h"
#include "user/heap/dead_memory.h"
#include "user/heap/reach.h"

/* The more the better: each is another moment. */
#define ROUNDS 60

static struct sides sides;

static int build(void **state)
{
	(void)state;
	sides_open(&sides, __FILE__);
	return sides_try(&sides, "cc -std=gnu17 -D_GNU_SOURCE -O1 -g -pthread -include stdbool.h "
				 "-o books $S/glibc_books.c");
}

static int clean(void **state)
{
	(void)state;
	sides_close(&sides);
	return 0;
}

struct program {
	struct side side;
	struct booked *books;
	size_t count, room;
	uint64_t arena, free, mapped_count, mapped; /* as mallinfo2() has them */
};

static void start(struct program *p, const char *what)
{
	char command[64], line[256];

	*p = (struct program){.count = 0};
	/* GLIBC_BOOKS=COMMAND: the same program with another glibc than this system's. */
	snprintf(command, sizeof(command), "exec \"${GLIBC_BOOKS:-./books}\" %s", what);
	side_start(&p->side, &sides, command);
	while (side_says(&p->side, line, sizeof(line))) {
		struct booked *b;

		if (sscanf(line, "info %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &p->arena,
			   &p->free, &p->mapped_count, &p->mapped) == 4)
			continue;
		assert_true(RESERVE_ITEM(p->books, p->count, p->room, 1024));
		b = &p->books[p->count++];
		assert_int_equal(sscanf(line, "block %" SCNx64 " %" SCNu64, &b->address, &b->size),
				 2);
	}
	if (p->count)
		qsort(p->books, p->count, sizeof(*p->books), booked_order);
}

static void end(struct program *p)
{
	side_end(&p->side);
	free(p->books);
}

/* It rests from then on. */
static struct heap_image *freeze(const struct program *p, struct inventory *inventory)
{
	const struct freeze_hooks hooks = {.ctx = NULL};
	char reason[REASON_MAX] = "";
	struct heap_image *image;
	struct freeze *freeze;

	assert_int_equal(freeze_new(p->side.pid, &freeze, reason), 0);
	if (freeze_run(freeze, 60 * NS_PER_S, NULL, &hooks, reason))
		fail_msg("%s", reason);
	side_rests(&p->side);
	assert_int_equal(freeze_account(freeze)->unread_bytes, 0);
	image = heap_image_new(freeze_take_memory(freeze));
	assert_non_null(image);
	freeze_free(freeze);
	heap_image_finish(image);
	*inventory = (struct inventory){0};
	image->inventory = inventory;
	assert_int_equal(dead_memory_find(image), 0);
	assert_int_equal(heap_image_take_old(image), 0);
	return image;
}

/* All blocks of the books, each once, with the size that malloc_usable_size() tells; nothing else. */
static void compare(const struct program *p, const struct heap_image *image)
{
	size_t i = 0, wrong = 0;

	for (size_t b = 0; b < p->count || i < image->block_count;) {
		const struct booked *booked = b < p->count ? &p->books[b] : NULL;
		const struct heap_block at =
			i < image->block_count ? heap_block_at(image, i) : (struct heap_block){0};
		const struct heap_block *block = i < image->block_count ? &at : NULL;

		if (booked && block && booked->address == block->address) {
			if (booked->size != block->size && wrong++ < 10)
				print_error("%" PRIx64 ": %" PRIu64 " bytes, not %" PRIu64 "\n",
					    block->address, booked->size, block->size);
			b++, i++;
		} else if (!block || (booked && booked->address < block->address)) {
			if (wrong++ < 10)
				print_error("%" PRIx64 ": %" PRIu64 " bytes, not seen\n",
					    booked->address, booked->size);
			b++;
		} else {
			if (wrong++ < 10)
				print_error("%" PRIx64 ": %" PRIu64 " bytes, no block\n",
					    block->address, block->size);
			i++;
		}
	}
	assert_int_equal(wrong, 0);
}

static void sums_agree(const struct program *p, const struct inspected_allocator *a,
		       uint64_t arenas)
{
	assert_string_equal(a->name, "glibc");
	assert_string_equal(a->why, "");
	assert_int_equal(a->arenas, arenas);
	assert_int_equal(a->in_use.count, p->count);
	assert_int_equal(a->unbelieved_bytes, 0);
	/* What a top chunk has before its size belongs to the chunk before. mallinfo2() takes what threads cache as used. */
	assert_true(a->free_bytes - a->cached_bytes + 8 * arenas <= p->free);
	assert_true(a->free_bytes + 8 * arenas >= p->free);
	assert_true(a->in_use.bytes + a->free_bytes + a->books_bytes <= p->arena + p->mapped);
	assert_true(a->in_use.bytes + a->free_bytes + a->books_bytes + 64 * arenas + (1 << 20) >=
		    p->arena + p->mapped);
}

static void exact(const char *what)
{
	struct inventory inventory;
	struct heap_image *image;
	struct program p;

	start(&p, what);
	assert_true(p.count > 1000);
	image = freeze(&p, &inventory);
	compare(&p, image);
	assert_int_equal(inventory.count, 1);
	sums_agree(&p, &inventory.allocators[0].shown, 9);
	heap_image_free(image);
	end(&p);
}

static void mixed(void **state)
{
	(void)state;
	exact("mixed");
}

static void gaps(void **state)
{
	(void)state;
	exact("gaps");
}

static void pieces(void **state)
{
	(void)state;
	exact("pieces");
}

/* Four threads allocate and free all the time; all that they have is held. */
static void busy(void **state)
{
	const struct reach_options options = {.heuristics = REACH_ALL};
	struct program p;
	size_t doubted = 0;

	(void)state;
	start(&p, "busy");
	for (unsigned i = 0; i < (unsigned)rounds(ROUNDS); i++) {
		struct inventory inventory;
		struct heap_image *image = freeze(&p, &inventory);
		struct reach *reach;

		assert_int_equal(reach_new(image, &options, &reach), 0);
		assert_true(image->block_count > 0);
		doubted += inventory.allocators[0].shown.unbelieved_bytes > 0;
		for (size_t b = 0; b < image->block_count; b++) {
			enum verdict_class class = reach_class(reach, b);

			if (class == VERDICT_DEFINITE || class == VERDICT_INDIRECT)
				fail_msg("round %u: %" PRIx64 " of %" PRIu64 " bytes is lost", i,
					 heap_block_at(image, b).address,
					 heap_block_at(image, b).size);
		}
		reach_free(reach);
		heap_image_free(image);
		side_goes_on(&p.side);
	}
	print_message("%zu of %d looks did not believe all\n", doubted, rounds(ROUNDS));
	end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mixed),
		cmocka_unit_test(gaps),
		cmocka_unit_test(pieces),
		cmocka_unit_test(busy),
	};

	return cmocka_run_group_tests(tests, build, clean);
}
