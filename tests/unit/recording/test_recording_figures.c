// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a recording has of stacks beside their values comes back as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/sample_snapshot.h"
#include "user/base/util.h"
#include "user/recording/recording.h"

#define SNAPSHOTS 5

/* The last but one has none, and in each the stacks stand otherwise; those of the middle one do not change. */
static void figures_make(unsigned i, struct snapshot *s, struct stack stacks[SAMPLE_STACKS],
			 struct stack_figures figures[SAMPLE_STACKS])
{
	unsigned value = i == 2 ? 1 : i;

	memcpy(stacks, sample_stacks, sizeof(sample_stacks));
	memset(figures, 0, SAMPLE_STACKS * sizeof(*figures));
	*s = sample_snapshot();
	s->target_id = 7;
	s->stacks = stacks;
	if (i == 3)
		return;
	s->figures = figures;
	s->figures_kept = (struct figures_kept){
		.lifetimes = true, .temporary = i != 4, .peak = true, .usable = i == 2};
	s->peak = (struct peak){.bytes = 10 + i,
				.time_ns = 20 + i,
				.captured_bytes = i,
				.captured_ns = 3 * i,
				.captured_error = 0.125 * i};
	figures[0] = (struct stack_figures){
		.lifetimes = {value, 2, [23] = 1ull << 40},
		.outlived_ns = 1000000000 + value,
		.outlived = {3, value},
		.temporary = {value << 20, 4 * value},
		.temporary_error = 0.25 * value,
		.at_peak = {5, value},
		.at_peak_error = 0.5 * value,
		.peak_bytes = 6 + value,
		.usable = {7 * value, 3},
		.usable_asked = 5 * value,
		.sizes = {.by_power = i == 1, .values = {0, value}, .counts = {1, 2, value}},
	};
	figures[1].temporary = (struct amount){0, 1};
	for (size_t k = 0; k < SAMPLE_STACKS; k++)
		stacks[k].figures = &figures[k];
}

static void come_back(void **state)
{
	const struct recording_info info = {.tool_version = "1", .host = "box"};
	struct stack_figures figures[SAMPLE_STACKS];
	struct stack stacks[SAMPLE_STACKS];
	struct recording_reader *r;
	struct recording_writer *w;
	struct snapshot s, *is;
	char *data = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&data, &len);

	(void)state;
	assert_int_equal(recording_writer_new(file, &info, &w), 0);
	for (unsigned i = 0; i < SNAPSHOTS; i++) {
		figures_make(i, &s, stacks, figures);
		assert_int_equal(sample_record(w, &s), 0);
	}
	recording_writer_free(w);
	assert_int_equal(fclose(file), 0);
	file = fmemopen(data, len, "r");
	assert_non_null(file);
	assert_int_equal(recording_reader_new(file, "test", &r), 0);
	for (unsigned i = 0; i < SNAPSHOTS; i++) {
		figures_make(i, &s, stacks, figures);
		assert_int_equal(recording_reader_next_snapshot(r, &is), 1);
		assert_int_equal(figures_bits(&is->figures_kept), figures_bits(&s.figures_kept));
		assert_memory_equal(&is->peak, &s.peak, sizeof(s.peak));
		for (size_t k = 0; k < SAMPLE_STACKS; k++) {
			assert_int_equal(!is->stacks[k].figures, !s.stacks[k].figures);
			if (s.stacks[k].figures)
				assert_memory_equal(is->stacks[k].figures, s.stacks[k].figures,
						    sizeof(figures[0]));
		}
		snapshot_free(is);
	}
	assert_int_equal(recording_reader_next_snapshot(r, &is), 0);
	recording_reader_free(r);
	fclose(file);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
