// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What guarded blocks have shown, as text, as JSON and on the page: each kind; and from a recording it looks as it
 * did while tracing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/sample_snapshot.h"
#include "user/base/util.h"
#include "user/recording/recording.h"

#define SHOWN 8

struct moment {
	struct misuse bad[SHOWN];
	struct snapshot s;
};

static struct reported_call a_call(uint64_t id, bool named)
{
	return (struct reported_call){.known = true,
				      .stack_id = id,
				      .end = STACK_END_NO_ROWS,
				      .frames = named ? sample_frames_a : NULL,
				      .frame_count = named ? 3 : 0};
}

/* Which calls are known of each, as bits by enum misuse_call. */
#define ALLOC (1u << MISUSE_CALL_ALLOC)
#define FREE  (1u << MISUSE_CALL_FREE)
#define TOUCH (1u << MISUSE_CALL_NOW)

static const struct {
	enum misuse_kind kind;
	enum access_mode mode;
	uint64_t count;
	int64_t offset;
	uint64_t block, size;
	const char *comm;
	int value;
	unsigned calls;
} rows[SHOWN] = {
	{MISUSE_OVERFLOW, ACCESS_WRITE, 5, 103, 0x1000, 100, "shop\x1b[2J", -1, ALLOC | TOUCH},
	{MISUSE_OVERFLOW, ACCESS_UNKNOWN, 1, 128, 0x2000, 128, "worker", -1, ALLOC | TOUCH},
	{MISUSE_UNDERFLOW, ACCESS_READ, 1, -1, 0x1000, 40, "shop", -1, ALLOC | TOUCH},
	{MISUSE_USE_AFTER_FREE, ACCESS_READ, 1200, 8, 0x3000, 64, "", -1, ALLOC | FREE | TOUCH},
	{MISUSE_SLACK_OVERWRITE, ACCESS_WRITE, 1, 101, 0x4000, 100, "a", 0x41, ALLOC | FREE},
	{MISUSE_DOUBLE_FREE, ACCESS_UNKNOWN, 1, 0, 0x5000, 24, "shop", -1, ALLOC | FREE | TOUCH},
	{MISUSE_INVALID_FREE, ACCESS_UNKNOWN, 1, 16, 0x6000, 24, "shop", -1, ALLOC | TOUCH},
	/* Of a place that has no block any more. */
	{MISUSE_INVALID_FREE, ACCESS_UNKNOWN, 1, 0, 0, 0, "shop", -1, TOUCH},
};

/* The count of the first rises, and the names of the second's touch come with the third snapshot. */
static struct misuse make_one(unsigned i, size_t row)
{
	struct misuse bad = {.finder = MISUSE_BY_GUARD,
			     .kind = rows[row].kind,
			     .mode = rows[row].mode,
			     .count = rows[row].count + (row ? 0 : i),
			     .address = rows[row].block + (uint64_t)rows[row].offset,
			     .block = rows[row].block,
			     .size = rows[row].size,
			     .thread = 7 + (uint32_t)row,
			     .value = rows[row].value};

	strcpy(bad.comm, rows[row].comm);
	for (unsigned call = 0; call < MISUSE_CALLS; call++) {
		bool late = row == 1 && call == MISUSE_CALL_NOW;

		/* From where it was allocated on, as the kernel has them. */
		if (rows[row].calls & 1u << call)
			bad.calls[call] = a_call(late ? 9 : MISUSE_CALLS - call, !late || i > 1);
	}
	return bad;
}

static void make(unsigned i, struct moment *m)
{
	m->s = sample_snapshot();
	m->s.target_id = 7;
	m->s.time_ns += i * 10000000000ull;
	m->s.interval_ns = i ? m->s.interval_ns : 0;
	m->s.guard =
		(struct guard_state){.asked = true,
				     .on = i != 3,
				     .reason = i == 3 ? "it has loaded another allocator" : NULL,
				     .period = 10000,
				     .places = 512,
				     .in_use = 30 + i,
				     .guarded = 1000 + i,
				     .freed = 970,
				     .full = i,
				     .passed = 3,
				     .unfit = 12,
				     .amid = 3,
				     .unseen = 1,
				     .oldest_free_ms = i * 61000,
				     .no_use_after_free = i == 2,
				     .lost = i == 3 ? 2 : 0};
	for (size_t row = 0; row < SHOWN; row++)
		m->bad[row] = make_one(i, row);
	/* None first, then more, and not in the order in which they are shown. */
	m->s.misuses[MISUSE_BY_GUARD] = (struct misuse_list){m->bad, i ? SHOWN - 3 + i : 0};
	misuses_sort(m->bad, m->s.misuses[MISUSE_BY_GUARD].count);
}

static char *as(const char *format, bool verbose, const struct snapshot *s)
{
	const struct export_options options = {.verbose = verbose};

	return sample_export(format, &options, s, 0);
}

static void text(void **state)
{
	_cleanup_free_ char *none = NULL, *all = NULL;
	struct moment m;

	(void)state;
	make(0, &m);
	none = as("text", false, &m.s);
	assert_non_null(strstr(none,
			       "\nguard  no bad access seen in 1,000 guarded blocks, one call "
			       "in 10,000\n"));
	assert_null(strstr(none, "places in use"));
	make(3, &m);
	all = as("text", true, &m.s);
	assert_true(sample_matches("text-guard.txt", all));
}

static void text_without(void **state)
{
	static const struct guard_state refused = {
		.asked = true, .reason = "its allocator is not known", .period = 100, .places = 8};
	_cleanup_free_ char *plain = NULL, *off = NULL, *begun = NULL;
	struct moment m;

	(void)state;
	make(0, &m);
	m.s.guard = refused;
	off = as("text", true, &m.s);
	assert_non_null(
		strstr(off, "\nguard  no blocks are guarded: its allocator is not known\n"));
	assert_null(strstr(off, "no bad access"));
	m.s.guard.reason = NULL;
	m.s.guard.on = true;
	begun = as("text", false, &m.s);
	assert_non_null(
		strstr(begun, "\nguard  no block was guarded so far, one call in 100 is\n"));
	m.s.guard = (struct guard_state){0};
	plain = as("text", true, &m.s);
	assert_null(strstr(plain, "guard"));
}

static void suppressed(void **state)
{
	_cleanup_free_ char *shown = NULL, *json = NULL;
	struct moment m;

	(void)state;
	make(1, &m);
	for (size_t i = 1; i < m.s.misuses[MISUSE_BY_GUARD].count; i++)
		m.bad[i].suppressed = "known";
	shown = as("text", false, &m.s);
	assert_non_null(strstr(shown, "\nbad    heap buffer overflow, 6 times; the first: WRITE"));
	assert_null(strstr(shown, "underflow"));
	assert_non_null(strstr(shown, "\nsuppressed: 1204 bad accesses\n"));
	json = as("json", false, &m.s);
	assert_non_null(strstr(json, "\"kind\":\"underflow\",\"access\":\"read\",\"offset\":-1,"));
	assert_non_null(strstr(json, "\"suppressed\":\"known\""));
}

static void json(void **state)
{
	_cleanup_free_ char *all = NULL, *without = NULL;
	struct moment m;

	(void)state;
	make(3, &m);
	all = as("json", false, &m.s);
	assert_true(sample_matches("json-guard.json", all));
	m.s.guard.asked = false;
	without = as("json", false, &m.s);
	assert_null(strstr(without, "guard"));
	assert_null(strstr(without, "bad_accesses"));
}

static void page(void **state)
{
	const char *why = export_find_format("html")->unavailable();
	_cleanup_free_ char *html = NULL, *without = NULL;
	struct moment m;

	(void)state;
	if (why) {
		printf("skipped: no page in this build: %s\n", why);
		skip();
	}
	make(3, &m);
	html = as("html", false, &m.s);
	assert_non_null(
		strstr(html, "\"bad_accesses\":[\n[\"heap buffer overflow, 8 times; the first: "
			     "WRITE 3 bytes after the end of a 100-byte block, by thread 7 (shop"));
	assert_non_null(strstr(html, "[\"read\",1,2],[\"freed before\",1,2],[\"allocated\",1,2]"));
	m.s.misuses[MISUSE_BY_GUARD].count = 0;
	without = as("html", false, &m.s);
	assert_null(strstr(without, "\"bad_accesses\":"));
}

static void recorded(void **state)
{
	static const struct recording_info info;
	struct recording_reader *reader;
	struct recording_writer *writer;
	struct moment m;
	size_t len;
	char *data;
	FILE *file = open_memstream(&data, &len);

	(void)state;
	assert_int_equal(recording_writer_new(file, &info, &writer), 0);
	for (unsigned i = 0; i < 4; i++) {
		make(i, &m);
		assert_int_equal(sample_record(writer, &m.s), 0);
	}
	/* And they may go again. */
	make(0, &m);
	assert_int_equal(sample_record(writer, &m.s), 0);
	recording_writer_free(writer);
	fclose(file);
	file = fmemopen(data, len, "r");
	assert_int_equal(recording_reader_new(file, "guard", &reader), 0);
	for (unsigned i = 0; i < 5; i++) {
		_cleanup_free_ char *live = NULL, *read = NULL;
		struct snapshot *s;

		assert_int_equal(recording_reader_next_snapshot(reader, &s), 1);
		make(i % 4, &m);
		live = as("json", true, &m.s);
		read = as("json", true, s);
		assert_string_equal(read, live);
		snapshot_free(s);
	}
	recording_reader_free(reader);
	fclose(file);
	free(data);
}

static void unchanged_is_small(void **state)
{
	static const struct recording_info info;
	struct recording_writer *w;
	size_t same, none, more, len;
	struct moment m;
	char *data;
	FILE *out = open_memstream(&data, &len);

	(void)state;
	assert_int_equal(recording_writer_new(out, &info, &w), 0);
	make(0, &m);
	sample_growth(w, out, &m.s);
	none = sample_growth(w, out, &m.s);
	m.s.misuses[MISUSE_BY_GUARD].count = SHOWN;
	sample_growth(w, out, &m.s);
	same = sample_growth(w, out, &m.s);
	m.bad[0].count++;
	more = sample_growth(w, out, &m.s);
	recording_writer_free(w);
	fclose(out);
	free(data);
	assert_int_equal(same, none);
	assert_true(more > same && more <= same + 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text),
		cmocka_unit_test(text_without),
		cmocka_unit_test(suppressed),
		cmocka_unit_test(json),
		cmocka_unit_test(page),
		cmocka_unit_test(recorded),
		cmocka_unit_test(unchanged_is_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
