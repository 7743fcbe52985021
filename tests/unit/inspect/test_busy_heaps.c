// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Programs whose threads allocate all the time (busy_side.c, busy_side.py), under each allocator, looked at as
 * `inspect` does: right after they have begun, and again and again. All that they have is held, so nothing
 * may be called lost; what stays for good is a block in each look, or the look says what it does not believe.
 *
 * BUSY_LOOKS=200 looks as often; BUSY_ONLY=NAME takes one allocator.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/inspect/inspected.h"
#include "tests/unit/rounds.h"
#include "user/heap/dead_memory.h"
#include "user/heap/reach.h"
#include "user/inspect/inspect_source.h"
#include "user/inspect/memory_parts.h"

#define LOOKS  6 /* at one process, as long as it runs */
#define STARTS 4 /* processes of which the first moments are looked at */
#define LIMIT_S \
	60 /* for one process and what is done with it: it would be waited for without end */

static struct sides sides;

static int build(void **state)
{
	(void)state;
	sides_open(&sides, __FILE__);
	return sides_try(&sides,
			 "cc -std=gnu17 -O1 -g -pthread -o busy $S/busy_side.c && "
			 "{ ! command -v musl-gcc >/dev/null || "
			 "musl-gcc -std=gnu17 -D_GNU_SOURCE -O1 -g -o busy.musl $S/busy_side.c; }");
}

static int clean(void **state)
{
	(void)state;
	sides_close(&sides);
	return 0;
}

struct busy_case {
	const char *name;    /* the allocator's */
	const char *library; /* LD_PRELOAD; NULL: none */
	const char *command;
	size_t believed; /* percent of looks that believe all, at the least */
};

/* What has been seen of one case. */
struct tally {
	size_t looks, believed, quiet; /* that believed all; that had nothing to say, either */
	uint64_t most_unbelieved;
	size_t unknown; /* how often a block that stays was none */
};

/* ---- the process -------------------------------------------------------------------------- */

struct busy_process {
	struct side side;
	uint64_t *steady;
	size_t count, room;
};

static void start(struct busy_process *p, const struct busy_case *c)
{
	char command[128], line[64];

	*p = (struct busy_process){.count = 0};
	alarm(LIMIT_S);
	snprintf(command, sizeof(command), "LD_PRELOAD=%s exec %s", c->library ?: "", c->command);
	side_start(&p->side, &sides, command);
	while (side_says(&p->side, line, sizeof(line))) {
		assert_true(RESERVE_ITEM(p->steady, p->count, p->room, 1024));
		assert_int_equal(sscanf(line, "block %" SCNx64, &p->steady[p->count++]), 1);
	}
	assert_true(p->count > 100);
}

static void end(struct busy_process *p)
{
	free(p->steady);
	side_end(&p->side);
	alarm(0);
}

/* ---- a look ------------------------------------------------------------------------------- */

struct look {
	struct inspect_source source;
	struct heap_image *image;
	struct inventory inventory;
	struct inspection out;
	struct class_process process;
	struct class_files files;
	struct block_classes *classes;
	struct reach *reach;
};

static void look_copy(struct look *look, pid_t pid, bool by_fork)
{
	const struct inspect_copying how = {.by_fork = by_fork, .max_pause_ns = 60 * NS_PER_S};
	struct freeze_forks forks = {0};
	char reason[REASON_MAX] = "";

	*look = (struct look){.out = {.pid = pid}};
	if (inspect_copy_process(pid, &how, &forks, &look->source, reason))
		fail_msg("%s", reason);
	assert_false(look->source.approximate);
	assert_int_equal(look->source.unread_bytes, 0);
}

/* As inspect() does, but that what it made of each block is still there. */
static void look_open(struct look *look)
{
	const struct symbolizer_options names = {.inlines = false};
	struct reach_options reach = {.heuristics = REACH_ALL};
	pid_t pid = look->out.pid;

	look->image = heap_image_new(TAKE_PTR(look->source.memory));
	assert_non_null(look->image);
	look->inventory.covered = calloc(look->image->memory->region_count + 1, sizeof(uint64_t));
	assert_non_null(look->inventory.covered);
	look->image->inventory = &look->inventory;
	assert_int_equal(dead_memory_find(look->image), 0);
	assert_int_equal(heap_image_take_old(look->image), 0);
	assert_int_equal(memory_parts_find(look->image, &look->source, &look->out), 0);
	look->process =
		(struct class_process){.objects = look->source.objects, .pid = pid, .root_fd = -1};
	look->files = (struct class_files){.ctx = &look->process,
					   .object = class_process_object,
					   .symbolizer = symbolizer_new(&names),
					   .pid = pid};
	assert_non_null(look->files.symbolizer);
	assert_int_equal(block_classes_find(look->image, &look->files, &look->classes), 0);
	reach.heads = look->classes->heads;
	assert_int_equal(reach_new(look->image, &reach, &look->reach), 0);
}

static void look_close(struct look *look)
{
	reach_free(look->reach);
	block_classes_free(look->classes);
	symbolizer_free(look->files.symbolizer);
	for (size_t i = 0; i < look->out.mapping_count; i++)
		free(look->out.mappings[i].name);
	free(look->out.mappings);
	free(look->out.allocators);
	free(look->inventory.covered);
	heap_image_free(look->image);
	inspect_source_release(&look->source);
}

static const struct inspected_allocator *named(const struct look *look, const char *name)
{
	for (size_t i = 0; i < look->inventory.count; i++) {
		if (!strcmp(look->inventory.allocators[i].shown.name, name))
			return &look->inventory.allocators[i].shown;
	}
	return NULL;
}

/*
 * gperftools makes a MallocExtension when it starts, and forgets it for another one (malloc_extension.cc,
 * tcmalloc.cc of 2.10): that is lost.
 */
static bool is_forgotten(const struct look *look, const struct heap_block *block)
{
	const struct mapping *m;
	uint64_t table;

	m = block->size == 8 && memory_image_word(look->image->memory, block->address, &table)
		    ? maps_find(look->image->memory->maps, table)
		    : NULL;
	return m && strstr(m->path, "libtcmalloc");
}

static void nothing_is_lost(const struct look *look, size_t number)
{
	size_t forgotten = 0;

	for (size_t b = 0; b < look->image->block_count; b++) {
		enum verdict_class class = reach_class(look->reach, b);
		const struct heap_block block = heap_block_at(look->image, b);

		if (class != VERDICT_DEFINITE && class != VERDICT_INDIRECT)
			continue;
		if (is_forgotten(look, &block) && !forgotten++)
			continue;
		fail_msg("look %zu: %" PRIx64 " of %" PRIu64 " bytes is lost", number,
			 block.address, block.size);
	}
}

/* How many of the blocks that stay are none in the look; those that are are held. */
static size_t steady_unknown(const struct busy_process *p, const struct look *look)
{
	size_t unknown = 0;

	for (size_t i = 0; i < p->count; i++) {
		size_t b = heap_image_block(look->image, p->steady[i]);

		if (b == look->image->block_count ||
		    heap_block_address(look->image, b) != p->steady[i])
			unknown++;
		else
			assert_int_equal(reach_class(look->reach, b), VERDICT_REACHABLE);
	}
	return unknown;
}

/* Parts are of memory that there is, and it is all in them. */
static void parts_add_up(const struct look *look)
{
	uint64_t all = look->source.rss_anon + look->source.swap, known = 0;

	for (int i = 0; i < MEMORY_REST; i++)
		known += look->out.parts[i];
	if (known > all + all / 50 || look->out.parts[MEMORY_REST] > all / 50)
		fail_msg("%" PRIu64 " bytes in parts, %" PRIu64 " of the kernel's", known, all);
}

static void look_at(const struct busy_case *c, struct busy_process *p, struct tally *tally)
{
	const struct inspected_allocator *shown;
	struct look look;
	size_t unknown;

	look_copy(&look, p->side.pid, tally->looks++ % 2);
	side_rests(&p->side);
	look_open(&look);
	nothing_is_lost(&look, tally->looks);
	unknown = steady_unknown(p, &look);
	shown = named(&look, c->name);
	assert_non_null(shown);
	assert_true(shown->in_use.count);
	/* What is not believed is said. */
	if (unknown || shown->unbelieved_bytes)
		assert_true(*shown->why);
	tally->believed += !unknown && !shown->unbelieved_bytes;
	tally->quiet += !*shown->why;
	tally->unknown += unknown;
	if (shown->unbelieved_bytes > tally->most_unbelieved)
		tally->most_unbelieved = shown->unbelieved_bytes;
	if (getenv("BUSY_LOOKS"))
		print_message("look %zu: %" PRIu64 " blocks, %" PRIu64 " bytes not believed: %s\n",
			      tally->looks, shown->in_use.count, shown->unbelieved_bytes,
			      shown->why);
	parts_add_up(&look);
	look_close(&look);
	side_goes_on(&p->side);
}

static int looks(int all)
{
	const char *asked = getenv("BUSY_LOOKS");

	return asked ? atoi(asked) : rounds(all);
}

static bool believes(const struct busy_case *c, const struct tally *tally)
{
	return tally->believed * 100 >= tally->looks * c->believed;
}

/* A look or two may hit changes by chance: then some more are taken. */
static bool one_more(const struct busy_case *c, const struct tally *tally, int done)
{
	return getenv("BUSY_LOOKS") ? done < looks(LOOKS)
				    : rounds_left(done, LOOKS, believes(c, tally));
}

/* Not everywhere is each compiler and each library. */
static bool is_here(const struct busy_case *c)
{
	/* The dynamic linker says what it cannot load, and goes on. */
	if (c->library)
		return !sides_try(&sides, "! LD_PRELOAD=%s /bin/true 2>&1 | grep -q .", c->library);
	return strcmp(c->name, "musl") != 0 || !sides_try(&sides, "test -x busy.musl");
}

static void look_often(const struct busy_case *c)
{
	struct busy_process p;
	struct tally tally = {0};

	if (getenv("BUSY_ONLY") && strcmp(getenv("BUSY_ONLY"), c->name) != 0)
		skip();
	if (!is_here(c)) {
		print_message("skipped: no %s here\n", c->name);
		skip();
	}
	for (int i = 0; i < looks(STARTS); i++) {
		start(&p, c);
		look_at(c, &p, &tally);
		end(&p);
	}
	start(&p, c);
	for (int i = 0; one_more(c, &tally, i); i++) {
		alarm(LIMIT_S);
		look_at(c, &p, &tally);
	}
	end(&p);
	print_message(
		"%s: %zu looks, %zu believed all, %zu saw no change under way; at most %" PRIu64
		" bytes were not believed, %zu times a block that stays was none\n",
		c->name, tally.looks, tally.believed, tally.quiet, tally.most_unbelieved,
		tally.unknown);
	assert_true(believes(c, &tally));
}

#define BUSY(function, ...)                                      \
	static void function(void **state)                       \
	{                                                        \
		static const struct busy_case c = {__VA_ARGS__}; \
                                                                 \
		(void)state;                                     \
		look_often(&c);                                  \
	}

/*
 * Where eight of ten looks believe all, as of glibc on a quiet machine, hardly a run has fewer than
 * half of 10 to 64; where six do, as on a busy one, one of 140 has, and one of 15,000 fewer than 40 %.
 */
BUSY(glibc, "glibc", NULL, "./busy", 40)
BUSY(jemalloc, "jemalloc", "libjemalloc.so.2", "./busy", 33)
BUSY(tcmalloc, "tcmalloc (gperftools)", "libtcmalloc_minimal.so.4", "./busy", 40)
BUSY(mimalloc, "mimalloc", "libmimalloc.so.2", "./busy", 50)
BUSY(musl, "musl", NULL, "./busy.musl", 50)
BUSY(cpython, "cpython", NULL, "python3 -S $S/busy_side.py", 50)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(glibc),    cmocka_unit_test(jemalloc), cmocka_unit_test(tcmalloc),
		cmocka_unit_test(mimalloc), cmocka_unit_test(musl),	cmocka_unit_test(cpython),
	};

	return cmocka_run_group_tests(tests, build, clean);
}
