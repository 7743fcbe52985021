// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What holds a block, contents of lost blocks and bad frees: from a recording they look as they did
 * while tracing, and what stays is not written again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/sample_snapshot.h"
#include "bpf/kinds.h"
#include "user/base/util.h"
#include "user/recording/recording.h"

#define BAD_FREES 3
#define TIMES	  6

/* A process's snapshots: what is in each differs. */
struct moment {
	struct stack stacks[SAMPLE_STACKS];
	struct misuse bad[BAD_FREES];
	struct snapshot s;
};

static const char *const paths[TIMES] = {
	"cache+0x10 (shop)\na block of 64 KiB from grow\n… 17 more blocks …\na block of 32 B from "
	"add",
	"cache+0x10 (shop)\na block of 64 KiB from grow\n… 18 more blocks …\na block of 32 B from "
	"add",
	NULL,
	"cache+0x10 (shop)",
	"the heap\na block of 1 B",
	"the heap\na block of 1 B",
};

static struct reported_call a_call(uint64_t id, bool named)
{
	return (struct reported_call){.known = true,
				      .stack_id = id,
				      .end = STACK_END_NO_ROWS,
				      .frames = named ? sample_frames_b : NULL,
				      .frame_count = named ? 3 : 0};
}

static void make_bad_frees(unsigned i, struct moment *m)
{
	const struct misuse bad[BAD_FREES] = {
		{.finder = MISUSE_BY_CHECK,
		 .kind = MISUSE_DOUBLE_FREE,
		 .count = 5 + i,
		 .address = 0x1000,
		 .block = 0x1000,
		 .size = 40,
		 /* The stack of the first free gets its names later. */
		 .calls = {a_call(1, true), a_call(2, i > 1), a_call(3, true)}},
		{.finder = MISUSE_BY_CHECK,
		 .kind = MISUSE_MISMATCH,
		 .alloc_family = FAMILY_NEW_ARRAY,
		 .free_family = FAMILY_MALLOC,
		 .count = 1,
		 .address = 0x2000,
		 .block = 0x2000,
		 .calls = {a_call(4, true)}},
		{.finder = MISUSE_BY_CHECK,
		 .kind = MISUSE_INSIDE_BLOCK,
		 .count = 1,
		 .address = 0x3018,
		 .block = 0x3000,
		 .size = 64,
		 .calls = {a_call(5, true)}},
	};

	memcpy(m->bad, bad, sizeof(bad));
	m->s.frees_checked = true;
	/* One more at a time, and not in the order in which they are shown. */
	m->s.misuses[MISUSE_BY_CHECK] =
		(struct misuse_list){m->bad, i < BAD_FREES ? i + 1 : BAD_FREES};
	misuses_sort(m->bad, m->s.misuses[MISUSE_BY_CHECK].count);
}

static void make(unsigned i, struct moment *m)
{
	static char contents[] = "a secret";

	memset(m, 0, sizeof(*m));
	memcpy(m->stacks, sample_stacks, sizeof(m->stacks));
	m->s = sample_snapshot();
	m->s.stacks = m->stacks;
	m->s.target_id = 7;
	m->s.time_ns += i * 10000000000ull;
	m->s.interval_ns = i ? m->s.interval_ns : 0;
	/* The fifth was refused: of that moment nothing is known. */
	m->s.verdict.state = i == 4 ? VERDICT_REFUSED : VERDICT_TAKEN;
	if (i == 4)
		strcpy(m->s.verdict.reason, "a debugger is attached");
	m->stacks[1].verdict[VERDICT_REACHABLE] = m->stacks[1].live;
	m->s.verdict.classes[VERDICT_REACHABLE] = m->stacks[1].live;
	if (i != 4) {
		m->stacks[1].held_by = (char *)paths[i];
		m->stacks[0].contents = i == 3 ? NULL : contents;
		m->stacks[0].contents_len = i == 3 ? 0 : i == 1 ? 8 : 5;
	}
	make_bad_frees(i, m);
}

static char *as_json(const struct snapshot *s)
{
	const struct export_options options = {.verbose = true};

	return sample_export("json", &options, s, SAMPLE_STACKS);
}

static void as_while_tracing(void **state)
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
	for (unsigned i = 0; i < TIMES; i++) {
		make(i, &m);
		assert_int_equal(sample_record(writer, &m.s), 0);
	}
	recording_writer_free(writer);
	fclose(file);
	file = fmemopen(data, len, "r");
	assert_int_equal(recording_reader_new(file, "notes", &reader), 0);
	for (unsigned i = 0; i < TIMES; i++) {
		_cleanup_free_ char *live = NULL, *recorded = NULL;
		struct snapshot *s;

		assert_int_equal(recording_reader_next_snapshot(reader, &s), 1);
		make(i, &m);
		s->verdict.classes[VERDICT_REACHABLE] = m.s.verdict.classes[VERDICT_REACHABLE];
		live = as_json(&m.s);
		recorded = as_json(s);
		assert_string_equal(recorded, live);
		assert_int_equal(s->stacks[1].held_by != NULL, i != 2 && i != 4);
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
	struct moment m;
	size_t plain, same, line, count, len;
	char *data;
	FILE *out = open_memstream(&data, &len);

	(void)state;
	make(1, &m);
	assert_int_equal(recording_writer_new(out, &info, &w), 0);
	sample_growth(w, out, &m.s);
	same = sample_growth(w, out, &m.s);
	m.stacks[1].held_by = (char *)paths[0];
	line = sample_growth(w, out, &m.s);
	m.bad[0].count++;
	count = sample_growth(w, out, &m.s);
	recording_writer_free(w);
	fclose(out);
	free(data);
	/* Without any of it. */
	out = open_memstream(&data, &len);
	m.stacks[1].held_by = m.stacks[0].contents = NULL;
	m.stacks[0].contents_len = m.s.misuses[MISUSE_BY_CHECK].count = 0;
	m.s.frees_checked = false;
	assert_int_equal(recording_writer_new(out, &info, &w), 0);
	sample_growth(w, out, &m.s);
	plain = sample_growth(w, out, &m.s);
	recording_writer_free(w);
	fclose(out);
	free(data);
	assert_int_equal(same, plain);
	/*
	 * The line that has changed, a byte or two for each of the others, and what says where it
	 * belongs.
	 */
	assert_true(line > plain && line <= plain + strlen("… 17 more blocks …") + 20);
	assert_true(count > plain && count <= plain + 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_while_tracing),
		cmocka_unit_test(unchanged_is_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
