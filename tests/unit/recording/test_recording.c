// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/sample_snapshot.h"
#include "bpf/lost_cause.h"
#include "user/base/util.h"
#include "user/model/frame_table.h"
#include "user/recording/recording.h"
#include "user/recording/wire.h"

static const struct recording_info info = {
	.tool_version = "9.8.7",
	.kernel = "6.1.0",
	.machine = "x86_64",
	.host = "box",
	.older_ns = 300000000000ULL,
};

static const struct module_map sample_maps[] = {
	{0x555500001000, 0x555500005000, 0x1000, 0x1000, "/srv/shop", NULL, 0},
	{0x7f0000028000, 0x7f00001bd000, 0x28000, 0x28000, "/usr/lib/x86_64-linux-gnu/libc.so.6",
	 sample_build_id, sizeof(sample_build_id)},
};

/* A file in memory that has been written, and can be read. */
struct file {
	char *data;
	size_t len;
};

static FILE *read_back(const struct file *f, size_t len)
{
	FILE *in = fmemopen(f->data, len, "r");

	assert_non_null(in);
	return in;
}

/*
 * Five snapshots of the same process: values move, frames of the third stack come with the third.
 */
static void make_snapshot(unsigned i, struct snapshot *s, struct stack stacks[SAMPLE_STACKS])
{
	memcpy(stacks, sample_stacks, sizeof(sample_stacks));
	*s = sample_snapshot();
	s->target_id = 7;
	s->stacks = stacks;
	s->time_ns += i * 10000000000ULL;
	s->elapsed_ns += i * 10000000000ULL;
	s->memory = (struct memory_use){.rss = 1000000 + i, .anon = 500000, .pss = 700000 + i};
	s->ages_unread = i == 3 ? 300000 : 0;
	if (i > 1) {
		s->arenas = (struct amount){i << 20, i};
		s->end = (struct process_end){.cause = END_MEMORY_LIMIT,
					      .code = 9,
					      .limit = i << 20,
					      .cgroup = "/pod/web",
					      .sender = 100 + i,
					      .sent = END_SENT_AGAIN,
					      .sender_comm = "systemd"};
		s->heaps = (struct untraced_heaps){.kinds = i % 8, .bytes = {i, 10 * i, 100 * i}};
	}
	s->attached = i % ATTACHED_BY_KINDS;
	s->growth.mmap_traced = i == 3;
	s->growth.anon = i > 1 ? 5000000 + i : 0;
	s->growth.untraced = i > 1 ? 4000000 + i : 0;
	s->growth.space = i > 1 ? 160000000 + i : 0;
	s->growth.space_resident = i > 2 ? 3000000 : 0;
	s->growth.where = i > 2 ? "4.0 MiB in one place\n1.0 MiB in another" : NULL;
	s->lost[LOST_FRAMES] = i;
	s->lost_anywhere[LOST_FRAMES] = i / 2;
	if (i > 1)
		missing_add(&s->missing, "ages", "no ages", "it: no");
	s->final = i == 4;
	s->exited = i == 4;
	stacks[0].alloc.bytes += 100 * i;
	stacks[0].alloc.count += i;
	stacks[0].live.bytes += 100 * i;
	stacks[0].live.count += i;
	stacks[0].older = stacks[0].live;
	stacks[0].oldest_ns += i * 10000000000ULL; /* the block stays, and grows older */
	stacks[0].error_bytes = 0.125 * i;
	stacks[2].end = STACK_END_NO_ROWS;
	if (i >= 2) {
		stacks[2].frames = sample_frames_a;
		stacks[2].frame_count = 2;
	}
	/* The last stack is new in the second snapshot. */
	s->stack_count = i ? 3 : 2;
	s->live = s->alloc = s->free = (struct amount){0};
	for (size_t k = 0; k < s->stack_count; k++) {
		s->live.bytes += stacks[k].live.bytes;
		s->live.count += stacks[k].live.count;
		s->alloc.bytes += stacks[k].alloc.bytes;
		s->alloc.count += stacks[k].alloc.count;
		s->free.bytes += stacks[k].free.bytes;
		s->free.count += stacks[k].free.count;
	}
}

static void write_file(struct file *f, unsigned count)
{
	FILE *out = open_memstream(&f->data, &f->len);
	struct module_maps *maps = module_maps_new(sample_maps, ARRAY_SIZE(sample_maps));
	struct recording_writer *w;

	assert_int_equal(recording_writer_new(out, &info, &w), 0);
	for (unsigned i = 0; i < count; i++) {
		struct stack stacks[SAMPLE_STACKS];
		struct snapshot s;

		make_snapshot(i, &s, stacks);
		/* At its end a process has no maps; a reader still knows the last ones. */
		s.maps = i == 4 ? NULL : maps;
		assert_int_equal(sample_record(w, &s), 0);
	}
	recording_writer_free(w);
	assert_int_equal(fclose(out), 0);
	free(maps);
}

static void assert_frame(const struct frame *a, const struct frame *b)
{
	const char *const pairs[][2] = {{a->function, b->function},
					{a->module, b->module},
					{a->module_path, b->module_path},
					{a->file, b->file}};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		assert_int_equal(!pairs[i][0], !pairs[i][1]);
		if (pairs[i][0])
			assert_string_equal(pairs[i][0], pairs[i][1]);
	}
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->line, b->line);
	assert_int_equal(a->inlined, b->inlined);
	assert_int_equal(a->offset, b->offset);
	assert_int_equal(a->module_offset, b->module_offset);
	assert_int_equal(a->build_id_len, b->build_id_len);
	if (a->build_id_len)
		assert_memory_equal(a->build_id, b->build_id, a->build_id_len);
}

static void assert_amount(struct amount a, struct amount b)
{
	assert_int_equal(a.bytes, b.bytes);
	assert_int_equal(a.count, b.count);
}

static void assert_stack(const struct stack *a, const struct stack *b)
{
	assert_int_equal(a->id, b->id);
	assert_amount(a->live, b->live);
	assert_amount(a->alloc, b->alloc);
	assert_amount(a->free, b->free);
	assert_amount(a->older, b->older);
	assert_int_equal(a->oldest_ns, b->oldest_ns);
	assert_true(a->error_bytes == b->error_bytes);
	assert_int_equal(a->truncated, b->truncated);
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->frame_count, b->frame_count);
	for (size_t i = 0; i < a->frame_count; i++)
		assert_frame(a->frames[i], b->frames[i]);
}

static void assert_snapshot(const struct snapshot *is, unsigned i)
{
	struct stack stacks[SAMPLE_STACKS];
	struct snapshot s;

	make_snapshot(i, &s, stacks);
	assert_int_equal(is->target_id, 7);
	assert_int_equal(is->pid, 1234);
	assert_memory_equal(is->comm, s.comm, sizeof(s.comm));
	assert_string_equal(is->cmdline[2], "8080");
	assert_null(is->cmdline[3]);
	assert_int_equal(is->time_ns, s.time_ns);
	assert_int_equal(is->elapsed_ns, s.elapsed_ns);
	assert_int_equal(is->interval_ns, s.interval_ns);
	assert_int_equal(is->final, s.final);
	assert_int_equal(is->exited, s.exited);
	assert_int_equal(is->unknown_frees, 17);
	assert_int_equal(is->lost[LOST_FRAMES], i);
	assert_int_equal(is->lost_anywhere[LOST_FRAMES], i / 2);
	assert_int_equal(is->missing.count, s.missing.count);
	for (size_t m = 0; m < s.missing.count; m++) {
		assert_string_equal(is->missing.parts[m].what, s.missing.parts[m].what);
		assert_string_equal(is->missing.parts[m].why, s.missing.parts[m].why);
		assert_string_equal(is->missing.parts[m].costs, s.missing.parts[m].costs);
	}
	assert_int_equal(is->memory.rss, 1000000 + i);
	assert_int_equal(is->memory.pss, 700000 + i);
	assert_int_equal(is->ages_unread, s.ages_unread);
	assert_int_equal(is->arenas.bytes, s.arenas.bytes);
	assert_int_equal(is->arenas.count, s.arenas.count);
	assert_memory_equal(&is->end, &s.end, sizeof(s.end));
	assert_int_equal(is->growth.space, s.growth.space);
	assert_int_equal(is->growth.space_resident, s.growth.space_resident);
	assert_memory_equal(&is->heaps, &s.heaps, sizeof(s.heaps));
	assert_int_equal(is->attached, s.attached);
	assert_int_equal(is->growth.mmap_traced, s.growth.mmap_traced);
	assert_int_equal(is->growth.anon, s.growth.anon);
	assert_int_equal(is->growth.untraced, s.growth.untraced);
	assert_int_equal(!is->growth.where, !s.growth.where);
	if (s.growth.where)
		assert_string_equal(is->growth.where, s.growth.where);
	assert_amount(is->live, s.live);
	assert_amount(is->alloc, s.alloc);
	assert_amount(is->free, s.free);
	assert_non_null(is->maps);
	assert_int_equal(is->maps->count, 2);
	assert_string_equal(is->maps->items[0].path, "/srv/shop");
	assert_int_equal(is->maps->items[1].end, 0x7f00001bd000);
	assert_int_equal(is->maps->items[1].build_id_len, sizeof(sample_build_id));
	assert_int_equal(is->stack_count, s.stack_count);
	for (size_t k = 0; k < s.stack_count; k++)
		assert_stack(&is->stacks[k], &stacks[k]);
}

static void round_trip(void **state)
{
	struct recording_reader *r;
	struct snapshot *s;
	struct file f;
	FILE *in;

	(void)state;
	write_file(&f, 5);
	in = read_back(&f, f.len);
	assert_int_equal(recording_reader_new(in, "test", &r), 0);
	assert_string_equal(recording_reader_info(r)->tool_version, "9.8.7");
	assert_string_equal(recording_reader_info(r)->host, "box");
	assert_int_equal(recording_reader_info(r)->older_ns, info.older_ns);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(recording_reader_next_snapshot(r, &s), 1);
		assert_snapshot(s, i);
		snapshot_free(s);
	}
	assert_int_equal(recording_reader_next_snapshot(r, &s), 0);
	recording_reader_free(r);
	fclose(in);
	free(f.data);
}

/* What does not change costs no room: the process's numbers are a few dozen bytes. */
static void unchanged_is_small(void **state)
{
	struct stack stacks[SAMPLE_STACKS];
	struct recording_writer *w;
	struct snapshot s;
	struct file f;
	size_t before;
	FILE *out = open_memstream(&f.data, &f.len);

	(void)state;
	assert_int_equal(recording_writer_new(out, &info, &w), 0);
	make_snapshot(1, &s, stacks);
	assert_int_equal(sample_record(w, &s), 0);
	before = f.len;
	s.time_ns += 10000000000ULL;
	s.elapsed_ns += 10000000000ULL;
	for (size_t i = 0; i < 3; i++)
		stacks[i].oldest_ns += stacks[i].oldest_ns ? 10000000000ULL : 0;
	assert_int_equal(sample_record(w, &s), 0);
	assert_true(f.len - before < 100);
	recording_writer_free(w);
	fclose(out);
	free(f.data);
}

/* Reads what there is: how many snapshots, and *err. Every one of them must be right. */
static unsigned count_snapshots(FILE *in, int *err)
{
	struct recording_reader *r;
	struct snapshot *s;
	unsigned n = 0;
	int got;

	*err = recording_reader_new(in, "test", &r);
	if (*err)
		return 0;
	while ((got = recording_reader_next_snapshot(r, &s)) > 0) {
		assert_snapshot(s, n++);
		snapshot_free(s);
	}
	*err = got;
	/* It does not go on behind damage. */
	assert_int_equal(recording_reader_next_snapshot(r, &s), got);
	recording_reader_free(r);
	return n;
}

/*
 * A writer that was killed: whatever the length, what is complete can be read, and the rest is no
 * error.
 */
static void cut_anywhere(void **state)
{
	unsigned last = 0;
	struct file f;

	(void)state;
	write_file(&f, 5);
	for (size_t len = 1; len <= f.len; len++) {
		FILE *in = read_back(&f, len);
		int err;
		unsigned n = count_snapshots(in, &err);

		if (len < 12)
			assert_int_equal(err, -EBADMSG);
		else
			assert_int_equal(err, 0);
		assert_true(n == last || n == last + 1);
		last = n;
		fclose(in);
	}
	assert_int_equal(last, 5);
	free(f.data);
}

/* Each single byte changed is noticed, and nothing wrong comes out before. */
static void damaged_anywhere(void **state)
{
	struct file f;

	(void)state;
	write_file(&f, 5);
	for (size_t at = 0; at < f.len; at++) {
		FILE *in;
		unsigned n;
		int err;

		f.data[at] ^= 0x41;
		in = read_back(&f, f.len);
		n = count_snapshots(in, &err);
		/* A length that is too long looks like a file that was cut. */
		assert_true(err < 0 || n < 5);
		fclose(in);
		f.data[at] ^= 0x41;
	}
	free(f.data);
}

static void newer_version(void **state)
{
	struct file f;
	FILE *in;
	int err;

	(void)state;
	write_file(&f, 1);
	f.data[8] = RECORDING_VERSION + 1;
	in = read_back(&f, f.len);
	count_snapshots(in, &err);
	assert_int_equal(err, -EPROTONOSUPPORT);
	fclose(in);
	free(f.data);
}

/*
 * A disk that fills up in the middle of a snapshot: the error is told, and the file ends where the
 * last snapshot did.
 */
static void full_disk(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct recording_writer *w;

	(void)state;
	if (!full) {
		print_message("no /dev/full\n");
		skip();
	}
	assert_int_equal(recording_writer_new(full, &info, &w), -ENOSPC);
	fclose(full);
}

static void two_targets(void **state)
{
	struct stack stacks[SAMPLE_STACKS];
	struct recording_reader *r;
	struct recording_writer *w;
	struct snapshot s, *is;
	struct file f;
	FILE *out = open_memstream(&f.data, &f.len), *in;

	(void)state;
	assert_int_equal(recording_writer_new(out, &info, &w), 0);
	for (unsigned i = 0; i < 4; i++) {
		make_snapshot(i / 2, &s, stacks);
		s.target_id = 1 + i % 2;
		s.pid = (pid_t)(1000 + i % 2);
		s.cmdline = NULL;
		assert_int_equal(sample_record(w, &s), 0);
	}
	recording_writer_free(w);
	fclose(out);
	in = read_back(&f, f.len);
	assert_int_equal(recording_reader_new(in, "test", &r), 0);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(recording_reader_next_snapshot(r, &is), 1);
		make_snapshot(i / 2, &s, stacks);
		assert_int_equal(is->pid, 1000 + i % 2);
		assert_null(is->cmdline);
		assert_amount(is->live, s.live);
		assert_stack(&is->stacks[0], &stacks[0]);
		snapshot_free(is);
	}
	recording_reader_free(r);
	fclose(in);
	free(f.data);
}

static void frames_are_kept_once(void **state)
{
	struct frame_table *t = frame_table_new();
	struct frame copy = sample_caller;
	uint32_t a, b, c, none;
	char name[64];

	(void)state;
	snprintf(name, sizeof(name), "%s", sample_caller.function);
	copy.function = name;
	assert_int_equal(frame_table_frame(t, &sample_caller, &a), 0);
	assert_int_equal(frame_table_frame(t, &copy, &b), 0);
	assert_int_equal(a, b);
	copy.line++;
	assert_int_equal(frame_table_frame(t, &copy, &b), 0);
	assert_int_not_equal(a, b);
	/* The table's own copy. */
	name[0] = 'x';
	assert_string_equal(frame_table_frame_at(t, b)->function, sample_caller.function);
	assert_int_equal(frame_table_stack(t, sample_frames_a, 3, &c), 0);
	assert_int_equal(frame_table_stack(t, sample_frames_a, 2, &b), 0);
	assert_int_not_equal(b, c);
	assert_int_equal(frame_table_stack(t, sample_frames_a, 3, &b), 0);
	assert_int_equal(b, c);
	assert_int_equal(frame_table_string(t, NULL, &none), 0);
	assert_int_equal(none, 0);
	/* Enough for the tables to grow a few times. */
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		assert_int_equal(frame_table_string(t, name, &a), 0);
		assert_int_equal(frame_table_string(t, name, &b), 0);
		assert_int_equal(a, b);
		assert_string_equal(frame_table_string_at(t, a, NULL), name);
	}
	frame_table_free(t);
}

/* What runtimes call frames; of a kind that a later version has made up there is a runtime that is not known. */
static void kinds_of_frames(void **state)
{
	struct frame frames[FRAME_KINDS + 1];
	const struct frame *list[FRAME_KINDS + 1];
	struct stack stack = {.id = 5, .live = {16, 1}, .alloc = {16, 1}, .frames = list};
	struct snapshot s = sample_snapshot(), *is;
	struct recording_writer *w;
	struct recording_reader *r;
	struct file f;
	FILE *file = open_memstream(&f.data, &f.len);

	(void)state;
	for (unsigned i = 0; i <= FRAME_KINDS; i++) {
		frames[i] = frame_managed((enum frame_kind)i, "f", i % 2 ? "/srv/a.py" : NULL, 100);
		list[i] = &frames[i];
	}
	stack.frame_count = FRAME_KINDS + 1;
	s.stacks = &stack;
	s.stack_count = 1;
	assert_int_equal(recording_writer_new(file, &info, &w), 0);
	assert_int_equal(sample_record(w, &s), 0);
	recording_writer_free(w);
	fclose(file);
	file = read_back(&f, f.len);
	assert_int_equal(recording_reader_new(file, "test", &r), 0);
	assert_int_equal(recording_reader_next_snapshot(r, &is), 1);
	assert_int_equal(is->stacks[0].frame_count, FRAME_KINDS + 1);
	for (unsigned i = 0; i < FRAME_KINDS; i++)
		assert_frame(is->stacks[0].frames[i], &frames[i]);
	assert_int_equal(is->stacks[0].frames[FRAME_KINDS]->kind, FRAME_KIND_JIT);
	snapshot_free(is);
	recording_reader_free(r);
	fclose(file);
	free(f.data);
}

#define TARGETS 5000

/* Somebody may claim any number of targets, with one stack each: a hundred bytes of the file. */
static void many_targets(void **state)
{
	struct stack stack = {.id = 5, .live = {16, 1}, .alloc = {16, 1}};
	struct recording_reader *r;
	struct recording_writer *w;
	struct snapshot s, *is;
	struct file f;
	FILE *out = open_memstream(&f.data, &f.len), *in;
	size_t before, used;

	(void)state;
	assert_int_equal(recording_writer_new(out, &info, &w), 0);
	for (uint32_t i = 0; i < TARGETS; i++) {
		s = (struct snapshot){.target_id = i, .pid = 7, .stacks = &stack, .stack_count = 1};
		assert_int_equal(sample_record(w, &s), 0);
	}
	recording_writer_free(w);
	fclose(out);
	in = read_back(&f, f.len);
	before = mallinfo2().uordblks;
	assert_int_equal(recording_reader_new(in, "test", &r), 0);
	for (uint32_t i = 0; i < TARGETS; i++) {
		assert_int_equal(recording_reader_next_snapshot(r, &is), 1);
		assert_int_equal(is->target_id, i);
		snapshot_free(is);
	}
	used = mallinfo2().uordblks - before;
	print_message("%zu bytes of the file and %zu of memory for each target\n", f.len / TARGETS,
		      used / TARGETS);
	assert_in_range(used, 0, TARGETS * 1000ul);
	recording_reader_free(r);
	fclose(in);
	free(f.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),	   cmocka_unit_test(unchanged_is_small),
		cmocka_unit_test(cut_anywhere),	   cmocka_unit_test(damaged_anywhere),
		cmocka_unit_test(newer_version),   cmocka_unit_test(full_disk),
		cmocka_unit_test(two_targets),	   cmocka_unit_test(frames_are_kept_once),
		cmocka_unit_test(kinds_of_frames), cmocka_unit_test(many_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
