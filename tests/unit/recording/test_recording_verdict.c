// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Verdicts through a recording's field and back, and damaged ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/recording/recording_verdict.h"

static void round_trip(struct snapshot *from, struct snapshot *to, struct recording_out *out)
{
	const uint32_t numbers[] = {1, 0};
	struct recorded_notes written = {0}, read = {0};
	const struct wire *wire = &out->chunk.body;
	struct recording_in in = {0};
	struct wire_reader reader;
	struct wire_field f;

	assert_int_equal(recording_put_verdict(out, from, numbers, &written), 0);
	assert_false(wire->failed);
	reader = (struct wire_reader){wire->data, wire->data + wire->len};
	assert_int_equal(wire_next(&reader, &f), 1);
	assert_int_equal(f.field, 12);
	assert_int_equal(recording_take_verdict(&in, f.body, to, &read), 0);
	recorded_notes_free(&written);
	recorded_notes_free(&read);
}

static void taken(void **state)
{
	struct stack a[2] = {0}, b[2] = {0};
	struct snapshot from = {.stacks = a, .stack_count = 2},
			to = {.stacks = b, .stack_count = 2};
	struct recording_out out = {0};

	(void)state;
	a[0].verdict[VERDICT_DEFINITE] = (struct amount){UINT64_MAX, 3};
	a[0].verdict[VERDICT_REACHABLE] = (struct amount){0, 1};
	a[1].verdict[VERDICT_POSSIBLE] = (struct amount){70, 1};
	a[0].verdict[VERDICT_INDIRECT] = (struct amount){30, 2};
	a[0].kept = (struct amount){UINT64_MAX, 2};
	a[1].hangs = (struct amount){9, 1};
	from.verdict = (struct verdict){.state = VERDICT_TAKEN,
					.before = {{7, 1}, {0, 0}, {0, 0}, {UINT64_MAX, 2}},
					.pause_ns = 1,
					.total_ns = 2,
					.read_bytes = 3,
					.unknown_bytes = 4,
					.unread_bytes = 5,
					.approximate = true};
	round_trip(&from, &to, &out);
	from.verdict.classes[VERDICT_DEFINITE] = a[0].verdict[VERDICT_DEFINITE];
	from.verdict.classes[VERDICT_INDIRECT] = a[0].verdict[VERDICT_INDIRECT];
	from.verdict.classes[VERDICT_REACHABLE] = a[0].verdict[VERDICT_REACHABLE];
	from.verdict.classes[VERDICT_POSSIBLE] = a[1].verdict[VERDICT_POSSIBLE];
	assert_memory_equal(&to.verdict, &from.verdict, sizeof(to.verdict));
	assert_memory_equal(b[1].verdict, a[0].verdict, sizeof(b[1].verdict));
	assert_memory_equal(b[0].verdict, a[1].verdict, sizeof(b[0].verdict));
	assert_memory_equal(&b[1].kept, &a[0].kept, sizeof(b[1].kept));
	assert_memory_equal(&b[0].hangs, &a[1].hangs, sizeof(b[0].hangs));
	assert_int_equal(b[0].kept.count, 0);
	wire_free(&out.chunk.body);
}

static void refused(void **state)
{
	struct snapshot from = {0}, to = {0};
	struct recording_out out = {0};

	(void)state;
	from.verdict.state = VERDICT_REFUSED;
	memset(from.verdict.reason, 'x', REASON_MAX - 1);
	round_trip(&from, &to, &out);
	assert_int_equal(to.verdict.state, VERDICT_REFUSED);
	assert_string_equal(to.verdict.reason, from.verdict.reason);
	wire_free(&out.chunk.body);
	/* A recording may say what it likes: no terminal obeys it. */
	strcpy(from.verdict.reason, "it \033[2Jis gone\xc2\x9b");
	round_trip(&from, &to, &out);
	assert_string_equal(to.verdict.reason, "it ?[2Jis gone?");
	wire_free(&out.chunk.body);
	from.verdict.state = VERDICT_NOT_ASKED;
	assert_int_equal(recording_put_verdict(&out, &from, NULL, NULL), 0);
	assert_int_equal(out.chunk.body.len, 0);
}

/*
 * Rows that are not there, classes that are not, lists and reasons cut short; notes of such rows,
 * of none, and with a line that is no text.
 */
static void damaged(void **state)
{
	static const uint8_t bad[][8] = {{0x8a, 0x01, 1, 9},
					 {0x8a, 0x01, 2, 0, 1},
					 {0x4a, 2, 9, 1},
					 {0x4a, 2, 0, 0x10},
					 {0x4a, 3, 0, 1, 5},
					 {0x4a, 9, 0, 1},
					 {0x4a, 1, 0x80},
					 {0x52, 2, 0x08, 2},
					 {0x52, 2, 0x1a, 0},
					 {0x52, 3, 0x08, 0, 0x12},
					 {0x52, 6, 0x08, 0, 0x12, 2, 0x0a, 9}};
	static const uint8_t no_text[] = {0x52, 8, 0x08, 0, 0x12, 4, 0x0a, 2, 'a', 0};
	struct wire_reader r = {no_text, no_text + sizeof(no_text)};
	struct stack stacks[2] = {0};
	struct snapshot to = {.stacks = stacks, .stack_count = 2};
	struct recorded_notes notes = {0};
	struct recording_in in = {0};

	(void)state;
	assert_int_equal(recording_take_verdict(&in, r, &to, &notes), -EBADMSG);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		size_t size = bad[i][0] == 0x8a ? bad[i][2] + 3u : bad[i][1] + 2u;

		r = (struct wire_reader){bad[i], bad[i] + (size < 8 ? size : 8)};
		assert_int_equal(recording_take_verdict(&in, r, &to, &notes), -EBADMSG);
	}
	recorded_notes_free(&notes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(taken),
		cmocka_unit_test(refused),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
