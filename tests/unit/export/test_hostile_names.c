// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Every format prints one snapshot, survey, inspection and comparison whose names hold what a terminal
 * obeys. A target chooses these names. None of them may come out raw.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include <cmocka.h>

#include "tests/unit/sample_inspection.h"
#include "tests/unit/sample_snapshot.h"
#include "bpf/kinds.h"
#include "user/base/util.h"
#include "user/model/comparison.h"

/* ESC, CSI in one character, DEL, RIGHT-TO-LEFT OVERRIDE, BEL, LINE SEPARATOR; no UTF-8 last. */
#define HARM "\x1bZ\xc2\x9bZ\x7fZ\xe2\x80\xaeZ\aZ\xe2\x80\xa8Z\xffZ"
static const char *const harms[] = {"\x1bZ", "\xc2\x9bZ",     "\x7fZ", "\xe2\x80\xaeZ",
				    "\aZ",   "\xe2\x80\xa8Z", "\xffZ"};

/* One for each place that a name is in: a format may show the one and not the other. */
#define NAME(what) what HARM

static const struct export_options options[] = {
	{0},
	{.verbose = true, .show_older = true, .older_ns = 1, .color = true, .utf8 = true},
	{.brief = true, .width = 100},
	{.suppressions = SUPPRESSION_VALGRIND},
	{.suppressions = SUPPRESSION_LEAKSANITIZER},
};

struct hostile {
	struct frame frames[3];
	const struct frame *list[3];
	struct stack stack;
	struct scope scope;
	struct misuse bad_free;
	struct misuse bad_access;
	char *cmdline[3];
	struct module_map map;
	struct snapshot snapshot;
	struct report *report;
};

static void hostile_fill_faults(struct hostile *h)
{
	const struct reported_call call = {.known = true, .frames = h->list, .frame_count = 3};

	h->bad_free = (struct misuse){.finder = MISUSE_BY_CHECK,
				      .kind = MISUSE_INSIDE_BLOCK,
				      .count = 1,
				      .calls = {call, call, call},
				      .suppressed = NULL};
	h->bad_access = (struct misuse){.finder = MISUSE_BY_GUARD,
					.kind = MISUSE_USE_AFTER_FREE,
					.count = 1,
					.thread = 1,
					.comm = "t\x1bZ\xc2\x9bZ\x7fZ\aZ",
					.calls = {call, call, call}};
	h->scope = (struct scope){.function = (char *)NAME("scope"),
				  .tag = (char *)NAME("tag"),
				  .calls = 1,
				  .kept = {1, 1},
				  .live = {1, 1}};
	h->snapshot.frees_checked = true;
	h->snapshot.misuses[MISUSE_BY_CHECK] = (struct misuse_list){&h->bad_free, 1};
	h->snapshot.guard = (struct guard_state){.asked = true, .reason = NAME("reason")};
	h->snapshot.misuses[MISUSE_BY_GUARD] = (struct misuse_list){&h->bad_access, 1};
	h->snapshot.scoped = true;
	h->snapshot.scopes = (struct scopes_list){.items = &h->scope, .count = 1};
	h->stack.scope = 1;
}

static void hostile_fill(struct hostile *h)
{
	*h = (struct hostile){
		.frames = {sample_malloc, sample_caller, sample_no_function},
		.list = {&h->frames[0], &h->frames[1], &h->frames[2]},
		.cmdline = {(char *)NAME("/arg0"), (char *)NAME("arg1"), NULL},
		.map = {.start = 0x1000, .end = 0x9000, .vaddr = 0x1000, .path = NAME("/path")}};
	h->frames[1].function = NAME("function");
	h->frames[1].symbol = NAME("symbol");
	h->frames[1].file = NAME("/file");
	h->frames[1].module = h->frames[2].module = NAME("module");
	h->frames[1].module_path = h->frames[2].module_path = NAME("/path");
	h->stack = (struct stack){.id = 1,
				  .live = {100, 1},
				  .alloc = {200, 2},
				  .free = {100, 1},
				  .frames = h->list,
				  .frame_count = 3,
				  .verdict = {{100, 1}},
				  .held_by = (char *)NAME("holder"),
				  .contents = (char *)NAME("contents"),
				  .contents_len = sizeof(NAME("contents")) - 1};
	h->snapshot = (struct snapshot){.time_ns = 1767323045678000000ULL,
					.elapsed_ns = 1000,
					.interval_ns = 1000,
					.pid = 12,
					.comm = "c\x1bZ\xc2\x9bZ\x7fZ\aZ",
					.cmdline = h->cmdline,
					.live = {100, 1},
					.alloc = {200, 2},
					.free = {100, 1},
					.growth = {.anon = 3, .untraced = 2},
					.verdict = {.state = VERDICT_TAKEN},
					.stacks = &h->stack,
					.stack_count = 1};
	h->snapshot.growth.where = (char *)NAME("mapping");
	h->snapshot.maps = module_maps_new(&h->map, 1);
	assert_non_null(h->snapshot.maps);
	hostile_fill_faults(h);
	h->report = report_borrow(&h->snapshot);
	h->report->place = (struct report_place){NAME("unit"), NAME("container"), NAME("pod"),
						 NAME("space/pod")};
	memcpy(h->report->misuses, h->snapshot.misuses, sizeof(h->report->misuses));
}

static void hostile_drop(struct hostile *h)
{
	memset(h->report->misuses, 0, sizeof(h->report->misuses));
	report_drop(h->report);
	free(h->snapshot.maps);
}

static char *unpacked(const char *data, size_t len, size_t *to_len)
{
	char *to = malloc(1 << 20);
	z_stream z = {.next_in = (Bytef *)data,
		      .avail_in = (uInt)len,
		      .next_out = (Bytef *)to,
		      .avail_out = 1 << 20};

	assert_non_null(to);
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	inflateEnd(&z);
	*to_len = z.total_out;
	return to;
}

/* Has every name come out that the format shows, and each of them clean? */
static void check(const char *format, const char *what, char *data, size_t len, const char *name)
{
	if (len > 2 && !memcmp(data, "\x1f\x8b", 2)) {
		char *packed = data;

		data = unpacked(packed, len, &len);
		free(packed);
	}
	for (size_t i = 0; i < ARRAY_SIZE(harms); i++) {
		const char *found = memmem(data, len, harms[i], strlen(harms[i]));

		if (!found)
			continue;
		while (found > data && found[-1] != '\n' && found[-1] >= ' ')
			found--;
		fail_msg("-f %s: harm %zu is raw in a %s: ...%.60s", format, i, what, found);
	}
	if (!memmem(data, len, name, strlen(name)))
		fail_msg("-f %s: %s is not in a %s", format, name, what);
	free(data);
}

static void snapshots(void **state)
{
	const struct exporter_format *format;

	(void)state;
	for (size_t f = 0; (format = export_format_at(f)) != NULL; f++) {
		for (size_t o = 0; !format->only_inspections && o < ARRAY_SIZE(options); o++) {
			struct hostile h;
			const struct stack *shown = &h.stack;
			size_t len = 0;
			char *data = NULL;
			FILE *out = open_memstream(&data, &len);
			struct exporter *e = format->open(out, &options[o]);

			hostile_fill(&h);
			assert_non_null(e);
			assert_int_equal(format->snapshot(e, h.report, &shown, 1), 0);
			assert_int_equal(format->close(e), 0);
			assert_int_equal(fclose(out), 0);
			check(format->name, "snapshot", data, len, "function");
			hostile_drop(&h);
		}
	}
}

static void surveys(void **state)
{
	const struct exporter_format *format;

	(void)state;
	for (size_t f = 0; (format = export_format_at(f)) != NULL; f++) {
		for (size_t o = 0; format->survey && o < ARRAY_SIZE(options); o++) {
			struct hostile h;
			const struct stack *shown = &h.stack;
			struct survey_drill drill = {
				.shown = &shown, .shown_count = 1, .note = NAME("note")};
			struct survey_row row = {.process = {.pid = 12,
							     .anon = 1 << 20,
							     .comm = "c\x1bZ\xc2\x9bZ\x7fZ\aZ"},
						 .trend = {.kind = TREND_GROWING,
							   .leaking = true,
							   .growth_known = true,
							   .growth = 1e6,
							   .reason = "grew"},
						 .samples = 9,
						 .cgroup = NAME("/cgroup"),
						 .unit = NAME("unit"),
						 .container = NAME("container"),
						 .runtime = "docker",
						 .pod = NAME("pod"),
						 .pod_name = NAME("space/pod"),
						 .drill = &drill};
			struct survey_end end = {.time_ns = 1,
						 .pid = 13,
						 .comm = "e\x1bZ\xc2\x9bZ\x7fZ\aZ",
						 .where = NAME("where"),
						 .processes = 1,
						 .growing = 1,
						 .leaking = 1,
						 .growth = 1e6};
			struct survey_report report = {.time_ns = 1767323045678000000ull,
						       .elapsed_ns = 1000,
						       .source = "bpf",
						       .process_count = 1,
						       .growing_count = 1,
						       .rows = &row,
						       .row_count = 1,
						       .ends = &end,
						       .end_count = 1};
			size_t len = 0;
			char *data = NULL;
			FILE *out = open_memstream(&data, &len);
			struct exporter *e = format->open(out, &options[o]);

			hostile_fill(&h);
			drill.report = h.report;
			drill.snapshot = &h.snapshot;
			assert_int_equal(format->survey(e, &report), 0);
			assert_int_equal(format->close(e), 0);
			assert_int_equal(fclose(out), 0);
			check(format->name, "survey", data, len, "c");
			hostile_drop(&h);
		}
	}
}

static void inspections(void **state)
{
	const struct exporter_format *format;

	(void)state;
	for (size_t f = 0; (format = export_format_at(f)) != NULL; f++) {
		for (size_t o = 0; format->inspection && o < ARRAY_SIZE(options); o++) {
			struct sample_inspection s;
			char *data;

			sample_inspection_fill_traced(&s);
			s.inspection.core = (char *)NAME("core");
			snprintf(s.inspection.comm, sizeof(s.inspection.comm),
				 "c\x1bZ\xc2\x9bZ\x7fZ\aZ");
			s.cmdline[1] = (char *)NAME("arg1");
			snprintf(s.allocators[1].why, sizeof(s.allocators[1].why), NAME("why"));
			s.mappings[0].held_by = (char *)NAME("holder");
			s.mappings[1].name = (char *)NAME("mapping");
			s.groups[0].name = (char *)NAME("class");
			s.groups[0].module = (char *)NAME("module");
			s.groups[0].holders[0].path = (char *)NAME("holder");
			s.ways[0].name = (char *)NAME("way");
			s.ways[2].name = (char *)NAME("class");
			s.keepers[3].function = (char *)NAME("keeper");
			snprintf(s.allocators[1].name, sizeof(s.allocators[1].name), NAME("name"));
			s.groups[0].origin.function = (char *)NAME("function");
			s.groups[3].contents = (char *)NAME("contents");
			s.groups[3].contents_len = sizeof(NAME("contents")) - 1;
			data = sample_inspection_export(format->name, &options[o], &s.inspection,
							10);
			assert_non_null(data);
			check(format->name, "inspection", data, strlen(data), "class");
		}
	}
}

static void comparisons(void **state)
{
	const struct exporter_format *format;

	(void)state;
	for (size_t f = 0; (format = export_format_at(f)) != NULL; f++) {
		for (size_t o = 0; format->compare && o < ARRAY_SIZE(options); o++) {
			struct hostile h;
			struct compared_stack stack;
			struct compared_scope scope;
			struct compared_access access;
			struct comparison c = {.stacks = &stack,
					       .stack_count = 1,
					       .scopes = &scope,
					       .scope_count = 1,
					       .accesses = &access,
					       .access_count = 1,
					       .access_counts = {1},
					       .grown = 1};
			size_t len = 0;
			char *data = NULL;
			FILE *out = open_memstream(&data, &len);

			hostile_fill(&h);
			memcpy(c.old.comm, h.snapshot.comm, sizeof(c.old.comm));
			memcpy(c.now.comm, h.snapshot.comm, sizeof(c.now.comm));
			c.old.pid = c.now.pid = 12;
			c.old.guarded = c.now.guarded = true;
			stack = (struct compared_stack){h.stack, {1, 1}, {100, 1}, true};
			scope = (struct compared_scope){h.scope.function, h.scope.tag, &h.scope,
							&h.scope};
			access = (struct compared_access){h.bad_access, 0, 1};
			assert_int_equal(format->compare(out, &options[o], &c, 10), 0);
			assert_int_equal(fclose(out), 0);
			check(format->name, "comparison", data, len, "function");
			hostile_drop(&h);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(snapshots),
		cmocka_unit_test(surveys),
		cmocka_unit_test(inspections),
		cmocka_unit_test(comparisons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
