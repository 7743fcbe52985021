// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a recording has of scopes comes back as it was, and what cannot be is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/sample_snapshot.h"
#include "user/base/util.h"
#include "user/recording/recording.h"

#define SNAPSHOTS 5

static void scope_make(struct scopes_list *list, const char *function, const char *tag,
		       uint64_t value)
{
	struct scope *scope = scopes_list_get(list, function, tag);
	const struct scope figures = {
		.calls = 10 * value,
		.open = value,
		.left = 2 * value,
		.timed = 7 * value,
		.time_ns = 1000 * value,
		.time_max_ns = 900 * value,
		.times = {value, 0, value, [SCOPE_TIMES - 1] = 1ull << 40},
		.alloc = {100 * value, 10 * value},
		.freed = {60 * value, 6 * value},
		.kept = {40 * value, 4 * value},
		.live = {30 * value, 3 * value},
		.own_alloc = {20 * value, 2 * value},
		.own_kept = {15 * value, value},
		.own_live = {10 * value, value},
		.tags = 300 * value,
		.kept_error = 1.5 * (double)value,
		.live_error = 2.5 * (double)value,
	};

	assert_non_null(scope);
	assert_int_equal(scope_set_figures(scope, &figures), 0);
	if (!value)
		return;
	assert_int_equal(scope_add_kept_calls(scope, 0, 0, 6 * value), 0);
	assert_int_equal(scope_add_kept_calls(scope, 40, 40, value), 0);
	assert_int_equal(scope_add_kept_calls(scope, 64, 127, value), 0);
	assert_int_equal(scope_add_kept_calls(scope, 1ull << 63, UINT64_MAX, 1), 0);
}

/*
 * In each the scopes stand otherwise, and there are more of them; those of the middle one do not
 * change, the last but one has none to tell.
 */
static void scopes_make(unsigned i, struct snapshot *s, struct stack stacks[SAMPLE_STACKS])
{
	unsigned value = i == 2 ? 1 : i;

	memcpy(stacks, sample_stacks, sizeof(sample_stacks));
	*s = sample_snapshot();
	s->target_id = 7;
	s->stacks = stacks;
	s->scoped = i != 3;
	if (i == 3)
		return;
	if (i & 1)
		scope_make(&s->scopes, "dispatch", NULL, value);
	scope_make(&s->scopes, "dispatch", "GET", 3 * value);
	if (!(i & 1))
		scope_make(&s->scopes, "dispatch", NULL, value);
	if (i)
		scope_make(&s->scopes, "other", "", value);
	stacks[0].scope =
		(uint32_t)(scopes_list_find(&s->scopes, "dispatch", "GET") - s->scopes.items) + 1;
	stacks[2].scope =
		(uint32_t)(scopes_list_find(&s->scopes, "dispatch", NULL) - s->scopes.items) + 1;
}

static void scopes_write(char **data, size_t *len)
{
	const struct recording_info info = {.tool_version = "1", .host = "box"};
	struct stack stacks[SAMPLE_STACKS];
	FILE *file = open_memstream(data, len);
	struct recording_writer *w;
	struct snapshot s;

	assert_int_equal(recording_writer_new(file, &info, &w), 0);
	for (unsigned i = 0; i < SNAPSHOTS; i++) {
		scopes_make(i, &s, stacks);
		assert_int_equal(sample_record(w, &s), 0);
		scopes_list_release(&s.scopes);
	}
	recording_writer_free(w);
	assert_int_equal(fclose(file), 0);
}

static void scopes_compare(const struct snapshot *is, const struct snapshot *s)
{
	assert_int_equal(is->scoped, s->scoped);
	/* Those that the writer did not mention again are there still. */
	assert_true(is->scopes.count >= s->scopes.count);
	for (size_t i = 0; i < s->scopes.count; i++) {
		const struct scope *scope = &s->scopes.items[i];
		const struct scope *read =
			scopes_list_find(&is->scopes, scope->function, scope->tag);

		assert_non_null(read);
		assert_true(scope_same_figures(read, scope));
	}
	for (size_t k = 0; s->scoped && k < SAMPLE_STACKS; k++) {
		const struct scope *a, *b;

		assert_int_equal(!is->stacks[k].scope, !s->stacks[k].scope);
		if (!s->stacks[k].scope)
			continue;
		a = &is->scopes.items[is->stacks[k].scope - 1];
		b = &s->scopes.items[s->stacks[k].scope - 1];
		assert_string_equal(a->function, b->function);
		assert_string_equal(a->tag ?: "none", b->tag ?: "none");
	}
}

static void come_back(void **state)
{
	struct stack stacks[SAMPLE_STACKS];
	struct recording_reader *r;
	struct snapshot s, *is;
	char *data = NULL;
	size_t len = 0;
	FILE *file;

	(void)state;
	scopes_write(&data, &len);
	file = fmemopen(data, len, "r");
	assert_non_null(file);
	assert_int_equal(recording_reader_new(file, "test", &r), 0);
	for (unsigned i = 0; i < SNAPSHOTS; i++) {
		scopes_make(i, &s, stacks);
		assert_int_equal(recording_reader_next_snapshot(r, &is), 1);
		scopes_compare(is, &s);
		snapshot_free(is);
		scopes_list_release(&s.scopes);
	}
	assert_int_equal(recording_reader_next_snapshot(r, &is), 0);
	recording_reader_free(r);
	fclose(file);
	free(data);
}

/* Whatever it is cut down to, it is read or refused. */
static void cut_short(void **state)
{
	char *data = NULL;
	size_t len = 0;

	(void)state;
	scopes_write(&data, &len);
	for (size_t end = 12; end < len; end++) {
		FILE *file = fmemopen(data, end, "r");
		struct recording_reader *r;
		struct snapshot *is;

		assert_non_null(file);
		if (!recording_reader_new(file, "test", &r)) {
			while (recording_reader_next_snapshot(r, &is) > 0)
				snapshot_free(is);
			recording_reader_free(r);
		}
		fclose(file);
	}
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(come_back),
		cmocka_unit_test(cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
