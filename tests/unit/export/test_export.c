// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The formats that take every stack: folded, android, pprof, perfetto; their own readers are asked
 * in tests/integration/export.bats.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include <cmocka.h>

#include "tests/unit/sample_snapshot.h"
#include "user/base/util.h"
#include "user/export/pprof_profile.h"
#include "user/recording/wire.h"

static const struct export_options plain;

static const struct module_map sample_maps[] = {
	{0x555500002000, 0x555500005000, 0x1000, 0x2000, "/srv/shop", NULL, 0},
	{0x7f0000028000, 0x7f00001bd000, 0x28000, 0x28000, "/usr/lib/x86_64-linux-gnu/libc.so.6",
	 sample_build_id, sizeof(sample_build_id)},
};

/* Runs a format over snapshots; the result is free()d by the caller. */
static char *export_all(const char *name, const struct export_options *options,
			struct snapshot *const *snapshots, size_t count, size_t *len)
{
	const struct exporter_format *format = export_find_format(name);
	char *data = NULL;
	FILE *out = open_memstream(&data, len);
	struct exporter *e;

	assert_non_null(format);
	assert_true(format->wants_all);
	e = format->open(out, options);
	assert_non_null(e);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(sample_take(format, e, snapshots[i]), 0);
	assert_int_equal(format->close(e), 0);
	fclose(out);
	return data;
}

static char *export_sample(const char *name, const struct export_options *options, size_t *len)
{
	struct snapshot s = sample_snapshot(), *list[] = {&s};
	char *data;

	s.maps = module_maps_new(sample_maps, ARRAY_SIZE(sample_maps));
	s.memory = (struct memory_use){.rss = 5000000, .anon = 4000000};
	data = export_all(name, options, list, 1, len);
	free(s.maps);
	return data;
}

static void folded(void **state)
{
	size_t len;
	_cleanup_free_ char *text = export_sample("folded", &plain, &len);

	(void)state;
	assert_true(sample_matches("folded-usual.txt", text));
}

static void folded_values(void **state)
{
	struct export_options options = {.value = EXPORT_LIVE_COUNT};
	size_t len;
	_cleanup_free_ char *counts = export_sample("folded", &options, &len), *alloc = NULL,
			    *growth = NULL;

	(void)state;
	assert_non_null(strstr(counts, "shop;[stack not recorded] 3\n"));
	options.value = EXPORT_ALLOC_BYTES;
	alloc = export_sample("folded", &options, &len);
	assert_non_null(strstr(alloc, "malloc 2726296\n"));
	options.value = EXPORT_GROWTH;
	growth = export_sample("folded", &options, &len);
	/* What shrank is no growth. */
	assert_string_equal(strchr(growth, '\n'), "\n");
	assert_non_null(strstr(growth, "malloc 12288\n"));
}

/* What a reader of lines would take for something else. */
static void folded_hostile(void **state)
{
	static const struct frame frame = {.function = "a;b\nc\xff"};
	static const struct frame *const frames[] = {&frame};
	struct stack stack = {.live = {5, 1}, .frames = frames, .frame_count = 1};
	struct snapshot s = {.pid = 1, .comm = "x;\n\xff", .stacks = &stack, .stack_count = 1};
	struct snapshot other = s, *const list[] = {&s, &other};
	_cleanup_free_ char *text = NULL, *two = NULL;
	size_t len;

	(void)state;
	text = export_all("folded", &plain, list, 1, &len);
	assert_string_equal(text, "x:??;a:b?c? 5\n");
	/*
	 * A name may be that of several processes; and who became another program has nothing any
	 * more.
	 */
	other.target_id = 2;
	other.pid = 2;
	two = export_all("folded", &plain, list, 2, &len);
	assert_string_equal(two, "x:?"
				 "?-1;a:b?c? 5\nx:?"
				 "?-2;a:b?c? 5\n");
	free(two);
	other.target_id = s.target_id;
	other.execed = true;
	two = export_all("folded", &plain, list, 2, &len);
	assert_string_equal(two, "");
}

static void android(void **state)
{
	size_t len;
	_cleanup_free_ char *text = export_sample("android", &plain, &len);

	(void)state;
	assert_true(sample_matches("android-usual.txt", text));
}

/* A document follows the last snapshot, in the file itself as long as tracing goes on. */
static void rewritten(void **state)
{
	const struct exporter_format *format = export_find_format("folded");
	const struct export_options options = {.rewrite = true};
	struct snapshot s = sample_snapshot();
	FILE *out = tmpfile();
	char text[256] = "";
	struct exporter *e = format->open(out, &options);

	(void)state;
	assert_int_equal(sample_take(format, e, &s), 0);
	s.stack_count = 0;
	assert_int_equal(sample_take(format, e, &s), 0);
	s.stacks = &sample_stacks[1];
	s.stack_count = 1;
	assert_int_equal(sample_take(format, e, &s), 0);
	rewind(out);
	fread(text, 1, sizeof(text) - 1, out);
	assert_string_equal(text,
			    "shop;[truncated];0x7f0012345678;libssl.so.3+0x3a210;malloc 4096\n");
	assert_int_equal(format->close(e), 0);
	fclose(out);
}

/* ---- messages, read by field number ------------------------------------------------------- */

/* The nth field of that number; false when there are fewer. */
static bool nth(struct wire_reader message, unsigned field, size_t n, struct wire_field *out)
{
	while (wire_next(&message, out) > 0) {
		if (out->field == field && !n--)
			return true;
	}
	return false;
}

static struct wire_reader sub(struct wire_reader message, unsigned field, size_t n)
{
	struct wire_field f;

	assert_true(nth(message, field, n, &f));
	assert_int_equal(f.type, WIRE_BYTES);
	return f.body;
}

static uint64_t number(struct wire_reader message, unsigned field)
{
	struct wire_field f;

	return nth(message, field, 0, &f) ? f.number : 0;
}

static size_t count_of(struct wire_reader message, unsigned field)
{
	struct wire_field f;
	size_t n = 0;

	while (nth(message, field, n, &f))
		n++;
	return n;
}

static bool is_text(struct wire_reader body, const char *text)
{
	return wire_left(&body) == strlen(text) && !memcmp(body.at, text, strlen(text));
}

/* The message with that id (field 1) in a repeated field. */
static struct wire_reader by_id(struct wire_reader message, unsigned field, uint64_t id)
{
	struct wire_field f;

	for (size_t i = 0; nth(message, field, i, &f); i++) {
		if (number(f.body, 1) == id)
			return f.body;
	}
	fail_msg("no message %u with id %u", field, (unsigned)id);
	return message;
}

static uint8_t unpacked[1 << 16];

static struct wire_reader gunzip(const char *data, size_t len)
{
	z_stream z = {.next_in = (Bytef *)data,
		      .avail_in = (uInt)len,
		      .next_out = unpacked,
		      .avail_out = sizeof(unpacked)};

	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	inflateEnd(&z);
	return (struct wire_reader){unpacked, unpacked + z.total_out};
}

static void pprof(void **state)
{
	size_t len;
	_cleanup_free_ char *data = export_sample("pprof", &plain, &len);
	struct wire_reader profile = gunzip(data, len), sample, location, ids, values, mapping;
	uint64_t id, value, expected[] = {2048, 2726296, 1024, 1363148};

	(void)state;
	assert_int_equal(count_of(profile, 1), 4);
	assert_int_equal(count_of(profile, 2), SAMPLE_STACKS);
	/* String 0 is the empty one. */
	assert_true(is_text(sub(profile, 6, 0), ""));
	assert_true(is_text(sub(profile, 6, number(sub(profile, 1, 3), 1)), "inuse_space"));
	/* What readers leave out of it: the allocation functions. */
	assert_true(is_text(sub(profile, 6, number(profile, 7)),
			    "malloc|std::vector<Order, std::allocator<Order> >::push_back"));
	assert_int_equal(count_of(profile, 8), 0);
	assert_int_equal(number(profile, 9), 1767323045678000000ULL);
	sample = sub(profile, 2, 0);
	values = sub(sample, 2, 0);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(wire_read_varint(&values, &value), 0);
		assert_int_equal(value, expected[i]);
	}
	/* malloc, and one location for the caller with what is inlined there. */
	ids = sub(sample, 1, 0);
	assert_int_equal(wire_read_varint(&ids, &id), 0);
	assert_int_equal(wire_read_varint(&ids, &id), 0);
	assert_int_equal(wire_left(&ids), 0);
	location = by_id(profile, 4, id);
	assert_int_equal(count_of(location, 4), 2);
	/* 0x2345 in the module, which is mapped from 0x2000 on. */
	assert_int_equal(number(location, 3), 0x555500002345);
	assert_int_equal(number(sub(location, 4, 0), 2), 1287);
	assert_int_equal(number(sub(location, 4, 1), 2), 42);
	mapping = by_id(profile, 3, number(location, 2));
	assert_int_equal(number(mapping, 2), 0x555500002000);
	assert_true(is_text(sub(profile, 6, number(mapping, 5)), "/srv/shop"));
	/* The program's own is the first. */
	assert_int_equal(number(mapping, 1), 1);
}

/* The text of a sample's label; "" when it has none of that key. */
static bool label_is(struct wire_reader profile, struct wire_reader sample, const char *key,
		     const char *text)
{
	for (size_t i = 0; i < count_of(sample, 3); i++) {
		struct wire_reader label = sub(sample, 3, i);

		if (is_text(sub(profile, 6, number(label, 1)), key))
			return is_text(sub(profile, 6, number(label, 2)), text);
	}
	return !*text;
}

/* The string of the nth comment. */
static uint64_t comment_number(struct wire_reader profile, size_t n)
{
	struct wire_field f;

	assert_true(nth(profile, 13, n, &f));
	return f.number;
}

/* One process's own, of a difference: with what is known of it, and what has become less. */
static void pprof_of_one(void **state)
{
	const struct pprof_about about = {
		.default_type = "alloc_space", .build_id = "c0ffee", .difference = true};
	struct snapshot s = sample_snapshot();
	struct stack stacks[2];
	struct report *r;
	_cleanup_free_ uint8_t *data = NULL;
	struct wire_reader profile, sample, values;
	uint64_t value, expected[] = {0, 0, (uint64_t)-24, (uint64_t)-4096};
	size_t len;

	(void)state;
	memcpy(stacks, &sample_stacks[1], sizeof(stacks));
	stacks[0].alloc = stacks[1].alloc = stacks[1].live = (struct amount){0};
	stacks[0].live = (struct amount){.bytes = (uint64_t)-4096, .count = (uint64_t)-24};
	s.stacks = stacks;
	s.stack_count = ARRAY_SIZE(stacks);
	r = sample_report(&s);
	r->place = (struct report_place){
		.unit = "shop.service", .pod = "p0d", .pod_name = "shop/web-0"};
	assert_int_equal(pprof_profile(r, &about, &data, &len), 0);
	report_drop(r);
	profile = gunzip((const char *)data, len);
	assert_true(is_text(sub(profile, 6, number(profile, 14)), "alloc_space"));
	/* What has not changed is not there. */
	assert_int_equal(count_of(profile, 2), 1);
	sample = sub(profile, 2, 0);
	values = sub(sample, 2, 0);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(wire_read_varint(&values, &value), 0);
		assert_int_equal(value, expected[i]);
	}
	assert_true(label_is(profile, sample, "unit", "shop.service"));
	assert_true(label_is(profile, sample, "pod", "p0d"));
	assert_true(label_is(profile, sample, "pod_name", "shop/web-0"));
	assert_true(label_is(profile, sample, "container", ""));
	assert_true(label_is(profile, sample, "comm", "shop"));
	assert_true(is_text(sub(profile, 6, comment_number(profile, 1)), "build id c0ffee"));
}

/* Sums of what the samples of all dumps say last, per call stack. */
struct heap_sum {
	uint64_t alloc[8], freed[8], alloc_count[8], freed_count[8];
};

static void read_dumps(struct wire_reader trace, struct heap_sum *sum, size_t *dumps)
{
	struct wire_field packet, dump, s;

	*dumps = 0;
	memset(sum, 0, sizeof(*sum));
	for (size_t i = 0; nth(trace, 1, i, &packet); i++) {
		if (!nth(packet.body, 37, 0, &dump))
			continue;
		assert_int_equal(number(dump.body, 7), *dumps);
		assert_int_equal(number(packet.body, 13), *dumps ? 2 : 3);
		++*dumps;
		assert_true(nth(dump.body, 5, 0, &dump));
		for (size_t k = 0; nth(dump.body, 2, k, &s); k++) {
			uint64_t stack = number(s.body, 1);

			assert_in_range(stack, 1, 7);
			/* They never fall. */
			assert_true(number(s.body, 2) >= sum->alloc[stack]);
			assert_true(number(s.body, 3) >= sum->freed[stack]);
			sum->alloc[stack] = number(s.body, 2);
			sum->freed[stack] = number(s.body, 3);
			assert_true(number(s.body, 5) >= sum->alloc_count[stack]);
			assert_true(number(s.body, 6) >= sum->freed_count[stack]);
			sum->alloc_count[stack] = number(s.body, 5);
			sum->freed_count[stack] = number(s.body, 6);
		}
	}
}

static struct amount live_of(const struct heap_sum *sum)
{
	struct amount live = {0};

	for (size_t i = 0; i < 8; i++) {
		live.bytes += sum->alloc[i] - sum->freed[i];
		live.count += sum->alloc_count[i] - sum->freed_count[i];
	}
	return live;
}

static void perfetto(void **state)
{
	struct stack later[SAMPLE_STACKS];
	struct snapshot a = sample_snapshot(), b = a, *const list[] = {&a, &b};
	_cleanup_free_ char *data = NULL;
	struct wire_reader trace;
	struct heap_sum sum;
	size_t len, dumps;
	struct amount live;

	(void)state;
	/*
	 * The frames of the third stack come late, and take its numbers away from the unknown ones.
	 */
	memcpy(later, sample_stacks, sizeof(later));
	later[0].alloc.bytes += 1000;
	later[0].live.bytes += 1000;
	later[2].frames = sample_frames_b;
	later[2].frame_count = 2;
	b.stacks = later;
	b.elapsed_ns += 1000000000;
	data = export_all("perfetto", &plain, list, 2, &len);
	trace = (struct wire_reader){(uint8_t *)data, (uint8_t *)data + len};
	read_dumps(trace, &sum, &dumps);
	assert_int_equal(dumps, 2);
	live = live_of(&sum);
	assert_int_equal(live.bytes, 1363148 + 4096 + 1000);
	assert_int_equal(live.count, 1024 + 1 + 3);
}

/*
 * Every format tells of a disk that is full: those that say each snapshot when it is made then,
 * documents at their end at the latest.
 */
static void full_disk(void **state)
{
	static const char *const names[] = {"text",  "json", "folded",	 "android",
					    "pprof", "otlp", "perfetto", "html"};
	struct snapshot s = sample_snapshot();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct exporter_format *format = export_find_format(names[i]);
		FILE *out = fopen("/dev/full", "w");
		struct exporter *e = format->open(out, &plain);
		int err = sample_take(format, e, &s), close_err = format->close(e);

		if (!strcmp(names[i], "text") || !strcmp(names[i], "json"))
			assert_int_equal(err, -ENOSPC);
		assert_int_equal(err ? err : close_err, -ENOSPC);
		fclose(out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded),	  cmocka_unit_test(folded_values),
		cmocka_unit_test(folded_hostile), cmocka_unit_test(android),
		cmocka_unit_test(rewritten),	  cmocka_unit_test(pprof),
		cmocka_unit_test(pprof_of_one),	  cmocka_unit_test(perfetto),
		cmocka_unit_test(full_disk),
	};

	/* Golden texts hold times of day. */
	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
