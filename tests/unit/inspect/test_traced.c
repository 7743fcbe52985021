// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An inspection of a process of which some blocks are traced: each counts once, and has who asked for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/inspect/inspected.h"
#include "user/inspect/inspect.h"

#define EACH   500
#define STACKS 5

static struct sides sides;

static int build(void **state)
{
	(void)state;
	sides_open(&sides, __FILE__);
	return sides_try(&sides, "cc -D_GNU_SOURCE -O1 -g -o traced $S/traced.c");
}

static int clean(void **state)
{
	(void)state;
	sides_close(&sides);
	return 0;
}

static void start(struct inspected *p)
{
	inspected_start(p, &sides, "exec ./traced");
}

static int moment(void *ctx, const struct stop *stop, char reason[static REASON_MAX])
{
	(void)stop;
	return inspect_source_moment(ctx, reason);
}

static void copy(const struct inspected *p, struct inspect_source *source)
{
	const struct freeze_hooks hooks = {.ctx = source, .stopped = moment};
	char reason[REASON_MAX] = "";
	struct freeze *freeze = NULL;

	if (inspect_source_begin(p->side.pid, NULL, source, reason) ||
	    freeze_new(p->side.pid, &freeze, reason) ||
	    freeze_run(freeze, 60 * NS_PER_S, NULL, &hooks, reason))
		fail_msg("%s", reason);
	source->memory = freeze_take_memory(freeze);
	freeze_free(freeze);
}

static bool is(const struct booked *b, const char *kind)
{
	return !strcmp(b->kind, kind);
}

/* The image that a trace would have: with the blocks that are not old, or with all but one. */
static struct heap_image *image_of(const struct inspected *p, struct inspect_source *source,
				   bool all_known)
{
	struct heap_image *image = heap_image_new(source->memory);
	bool left_out = false;

	assert_non_null(image);
	source->memory = NULL;
	image->all_known = all_known;
	image->entered = calloc(p->count, sizeof(*image->entered));
	assert_non_null(image->entered);
	for (size_t i = 0; i < p->count; i++) {
		const struct booked *b = &p->books[i];

		if (is(b, "old") && (!all_known || !left_out)) {
			left_out = true;
			continue;
		}
		image->entered[image->block_count++] = (struct heap_block){
			.address = b->address,
			.size = b->size,
			.stack = is(b, "old") ? HEAP_NO_STACK : (uint32_t)atoi(b->name),
		};
	}
	heap_image_finish(image);
	return image;
}

static void name_stack(void *ctx, uint32_t stack, uint64_t *id, const char **function)
{
	static const char *const names[STACKS] = {"often", "seldom", "small", "pool", "huge"};

	(void)ctx;
	assert_true(stack < STACKS);
	*id = 1000 + stack;
	*function = names[stack];
}

static int judged(void *ctx, struct reach *reach)
{
	(*(unsigned *)ctx)++;
	assert_non_null(reach);
	return 0;
}

static struct inspection *look(const struct inspected *p, bool traced, bool all_known)
{
	unsigned times = 0;
	struct inspect_traced how = {
		.stack_count = STACKS,
		.ctx = &times,
		.stack = name_stack,
		.judged = judged,
	};
	struct inspect_options options = {.heuristics = REACH_ALL};
	struct inspect_source source;
	struct inspection *out;

	copy(p, &source);
	if (traced) {
		how.image = image_of(p, &source, all_known);
		options.traced = &how;
	}
	assert_int_equal(inspect(&source, &options, &out), 0);
	assert_int_equal(times, traced);
	assert_int_equal(out->traced, traced);
	heap_image_free(how.image);
	return out;
}

static const struct inspected_allocator *allocator(const struct inspection *i, const char *name)
{
	for (size_t n = 0; n < i->allocator_count; n++) {
		if (!strcmp(i->allocators[n].name, name))
			return &i->allocators[n];
	}
	return NULL;
}

/* But for pages of files: others' probes in all processes may come, or go, between two looks, and make such a page each. */
static uint64_t parts(const struct inspection *i)
{
	uint64_t sum = 0;

	for (int part = 0; part < MEMORY_REST; part++)
		sum += part == MEMORY_FILE_PRIVATE ? 0 : i->parts[part];
	return sum;
}

/* The group of blocks of a size that has blocks of that stack. */
static const struct inspected_group *group(const struct inspection *i, uint64_t stack_id)
{
	for (size_t n = 0; n < i->group_count; n++) {
		if (i->groups[n].origin.stack_id == stack_id)
			return &i->groups[n];
	}
	fail_msg("no group has most of stack %" PRIu64, stack_id);
	return NULL;
}

static void nothing_counts_twice(void **state)
{
	const struct inspected_allocator *alone, *glibc, *others;
	struct inspection *before, *now;
	struct inspected p;

	(void)state;
	start(&p);
	before = look(&p, false, false);
	now = look(&p, true, false);
	alone = allocator(before, "glibc");
	glibc = allocator(now, "glibc");
	others = allocator(now, "traced, of others");
	assert_true(alone && glibc && others && !allocator(before, "traced, of others"));
	assert_string_equal(glibc->why, "");
	assert_true(glibc->in_use.count >= 3 * EACH + 2);
	assert_int_equal(glibc->in_use.count, alone->in_use.count);
	assert_int_equal(glibc->free_bytes, alone->free_bytes);
	assert_int_equal(glibc->books_bytes, alone->books_bytes);
	/* 8 of the 48 bytes that 41 get, 4 of 104; and of the large one what is left of its last page. */
	assert_true(glibc->slack_bytes >= EACH * (15 + 4));
	assert_int_equal(glibc->in_use.bytes + glibc->slack_bytes, alone->in_use.bytes);
	assert_int_equal(others->in_use.count, EACH);
	assert_int_equal(others->in_use.bytes, EACH * 90);
	assert_int_equal(parts(now), parts(before));
	assert_int_equal(now->parts[MEMORY_ANONYMOUS] + EACH * 90, before->parts[MEMORY_ANONYMOUS]);
	inspection_free(before);
	inspection_free(now);
	inspected_end(&p);
}

static void who_asked(void **state)
{
	const struct inspected_group *g;
	struct amount traced = {0};
	struct inspection *now;
	struct inspected p;

	(void)state;
	start(&p);
	now = look(&p, true, false);
	for (size_t n = 0; n < now->group_count; n++)
		amount_add(&traced, &now->groups[n].origin.traced);
	assert_int_equal(traced.count, 3 * EACH + 1);
	assert_int_equal(traced.bytes, EACH * (100 + 41 + 90) + 5000000);
	/* What nobody watched has the size that can be used, and is no kind of its own for that where it begins alike. */
	g = group(now, 1000);
	assert_int_equal(g->origin.traced.count, EACH);
	assert_int_equal(g->origin.most.count, EACH - EACH / 5);
	assert_int_equal(g->origin.most.bytes, 100 * (EACH - EACH / 5));
	assert_string_equal(g->origin.function, "often");
	g = group(now, 1004);
	assert_int_equal(g->live.count, 1);
	assert_int_equal(g->live.bytes, 5000000);
	assert_string_equal(g->origin.function, "huge");
	inspection_free(now);
	inspected_end(&p);
}

/* Where all are known, what is none of them is about to be one, or has just been. */
static void all_known(void **state)
{
	const struct inspected_allocator *alone, *glibc;
	struct inspection *before, *now;
	struct inspected p;

	(void)state;
	start(&p);
	before = look(&p, false, false);
	now = look(&p, true, true);
	alone = allocator(before, "glibc");
	glibc = allocator(now, "glibc");
	assert_true(alone && glibc);
	assert_string_equal(glibc->why, "");
	assert_int_equal(glibc->in_use.count, 3 * EACH + 2 - 1);
	assert_int_equal(glibc->in_use.bytes + glibc->slack_bytes + glibc->free_bytes +
				 glibc->books_bytes,
			 alone->in_use.bytes + alone->free_bytes + alone->books_bytes);
	assert_int_equal(parts(now), parts(before));
	inspection_free(before);
	inspection_free(now);
	inspected_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_counts_twice),
		cmocka_unit_test(who_asked),
		cmocka_unit_test(all_known),
	};

	return cmocka_run_group_tests(tests, build, clean);
}
