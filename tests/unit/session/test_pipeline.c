// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The way from a snapshot to the output, fed by a source that is made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/session/pipeline.h"

#define TEXT_MAX  4096
#define TARGETS	  10
#define STACK_IDS 10

/* ---- a format that writes down what it was given ------------------------------------------- */

static char written[TEXT_MAX];

static struct exporter *open_nothing(FILE *out, const struct export_options *options)
{
	static char some;

	(void)out;
	(void)options;
	written[0] = '\0';
	return (struct exporter *)&some;
}

static int close_nothing(struct exporter *e)
{
	(void)e;
	return 0;
}

static void put(const char *format, ...)
{
	size_t used = strlen(written);
	va_list args;

	va_start(args, format);
	vsnprintf(written + used, sizeof(written) - used, format, args);
	va_end(args);
}

static int write_down(struct exporter *e, const struct report *r, const struct stack *const *shown,
		      size_t count)
{
	const struct snapshot *s = r->snapshot;

	(void)e;
	put("%s%s%s %llu%+lld:", s->comm, s->processes ? "*" : "", s->final ? "." : "",
	    (unsigned long long)s->live.bytes, (long long)r->delta_bytes);
	for (size_t i = 0; i < count; i++) {
		const struct stack_notes *notes = report_notes(r, shown[i]);

		put(" %s=%llu%+lld%s", notes->frames ? notes->frames[0]->function : "?",
		    (unsigned long long)shown[i]->live.bytes, (long long)notes->delta_bytes,
		    notes->trend.kind == TREND_GROWING ? "!" : "");
	}
	put("\n");
	return 0;
}

static const struct exporter_format format = {
	.open = open_nothing,
	.snapshot = write_down,
	.close = close_nothing,
};

static const struct exporter_format format_of_all = {
	.wants_all = true,
	.open = open_nothing,
	.snapshot = write_down,
	.close = close_nothing,
};

/* ---- a source that counts what it is asked for --------------------------------------------- */

struct made_up {
	struct source source;
	unsigned named[TARGETS][STACK_IDS]; /* by target and stack */
	bool gone[TARGETS];		    /* names of it are not known any more */
	uint64_t shown_from_ns;
};

static struct frame frame_of[STACK_IDS];
static const struct frame *const frames_of[STACK_IDS] = {
	&frame_of[0], &frame_of[1], &frame_of[2], &frame_of[3], &frame_of[4],
	&frame_of[5], &frame_of[6], &frame_of[7], &frame_of[8], &frame_of[9],
};

static int make_frames(void **state)
{
	static char names[STACK_IDS][4];

	(void)state;
	for (size_t i = 0; i < STACK_IDS; i++) {
		snprintf(names[i], sizeof(names[i]), "f%zu", i);
		frame_of[i].function = names[i];
	}
	return 0;
}

static int name_stack(const struct source *source, uint32_t target_id, uint64_t stack_id,
		      const struct frame *const **frames, size_t *count)
{
	/* What it counts is no part of what the pipeline sees. */
	struct made_up *m = (struct made_up *)source;

	assert_true(target_id < TARGETS && stack_id < STACK_IDS);
	if (m->gone[target_id])
		return 0;
	m->named[target_id][stack_id]++;
	*frames = &frames_of[stack_id];
	*count = 1;
	return 0;
}

static bool shows(const struct source *source, uint64_t time_ns)
{
	return time_ns >= ((const struct made_up *)source)->shown_from_ns;
}

/* Names come when they are asked for, as from a trace. */
static const struct source_ops live_ops = {.name_stack = name_stack};

/* Names are there, as in a recording. */
static const struct source_ops replay_ops = {.shows = shows};

/* ---- snapshots ----------------------------------------------------------------------------- */

/* A stack for each of the bytes that is not 0, with the place as its id. */
static struct snapshot *make(const struct made_up *m, uint32_t target_id, uint64_t second,
			     const uint64_t bytes[STACK_IDS])
{
	struct snapshot *s = calloc(1, sizeof(*s));

	s->target_id = target_id;
	s->pid = (pid_t)target_id;
	s->time_ns = s->elapsed_ns = second * NS_PER_S;
	snprintf(s->comm, sizeof(s->comm), target_id < 5 ? "shop" : "cart");
	s->stacks = calloc(STACK_IDS, sizeof(*s->stacks));
	for (uint64_t id = 0; id < STACK_IDS; id++) {
		struct stack *stack = &s->stacks[s->stack_count];

		if (!bytes[id])
			continue;
		s->stack_count++;
		*stack = (struct stack){.id = id,
					.live = {bytes[id], 1},
					.alloc = {bytes[id], 1},
					.older = {bytes[id], 1}};
		if (!m->source.ops->name_stack) {
			stack->frames = &frames_of[id];
			stack->frame_count = 1;
		}
	}
	snapshot_total(s);
	return s;
}

struct room {
	struct made_up source;
	struct filter_config filter;
	struct show_config show;
	struct pipeline_config config;
	struct pipeline *pipeline;
};

static void set_up(struct room *r, const struct source_ops *ops)
{
	*r = (struct room){
		.source.source = {ops},
		.show = {.format = &format, .top = 10},
	};
	r->config = (struct pipeline_config){.filter = &r->filter, .show = &r->show};
}

static void begin(struct room *r)
{
	written[0] = '\0'; /* the output begins with the first report */
	assert_int_equal(pipeline_new(&r->config, &r->source.source, &r->pipeline), 0);
}

static void take(struct room *r, struct snapshot *s)
{
	assert_int_equal(pipeline_take(r->pipeline, s), 0);
}

static void end(struct room *r)
{
	assert_int_equal(pipeline_free(r->pipeline), 0);
}

static unsigned names_asked(const struct room *r)
{
	unsigned n = 0;

	for (size_t i = 0; i < TARGETS; i++) {
		for (size_t k = 0; k < STACK_IDS; k++)
			n += r->source.named[i][k];
	}
	return n;
}

#define BYTES(...) ((const uint64_t[STACK_IDS]){__VA_ARGS__})

/* ---- tests --------------------------------------------------------------------------------- */

static void test_differences(void **state)
{
	struct room r;

	(void)state;
	set_up(&r, &live_ops);
	begin(&r);
	take(&r, make(&r.source, 1, 1, BYTES(0, 10, 20)));
	take(&r, make(&r.source, 6, 1, BYTES(0, 1)));
	take(&r, make(&r.source, 1, 2, BYTES(0, 40, 20, 5)));
	assert_string_equal(written, "shop 30+30: f2=20+20 f1=10+10\n"
				     "cart 1+1: f1=1+1\n"
				     "shop 65+35: f1=40+30 f2=20+0 f3=5+5\n");
	assert_int_equal(pipeline_shown(r.pipeline), 3);
	end(&r);
}

static void test_names_of_what_is_shown(void **state)
{
	struct room r;

	(void)state;
	set_up(&r, &live_ops);
	r.show.top = 1;
	begin(&r);
	take(&r, make(&r.source, 1, 1, BYTES(0, 10, 20, 30)));
	assert_string_equal(written, "shop 60+60: f3=30+30\n");
	assert_int_equal(names_asked(&r), 1);
	end(&r);

	set_up(&r, &live_ops);
	r.show.top = 1;
	r.show.format = &format_of_all;
	begin(&r);
	take(&r, make(&r.source, 1, 1, BYTES(0, 10, 20, 30)));
	assert_string_equal(written, "shop 60+60:\n");
	assert_int_equal(names_asked(&r), 3);
	end(&r);
}

static void test_trends(void **state)
{
	struct room r;

	(void)state;
	set_up(&r, &live_ops);
	r.show.top = 1;
	r.show.sort = RANK_GROWTH;
	begin(&r);
	for (uint64_t i = 1; i <= 40; i++) {
		written[0] = '\0';
		/* The second one grows in one step, the last time. */
		take(&r, make(&r.source, 1, i, BYTES(0, i * 100000, i < 40 ? 1 : 1 << 28)));
	}
	assert_string_equal(written, "shop 272435456+268535455: f1=4000000+100000!\n");
	end(&r);
}

/* A trend knows what was before the range; a difference does, too. */
static void test_range(void **state)
{
	struct room r;

	(void)state;
	set_up(&r, &replay_ops);
	r.source.shown_from_ns = 40 * NS_PER_S;
	begin(&r);
	for (uint64_t i = 1; i <= 40; i++)
		take(&r, make(&r.source, 1, i, BYTES(0, i * 100000)));
	assert_int_equal(pipeline_finish(r.pipeline), 0);
	assert_string_equal(written, "shop 4000000+100000: f1=4000000+100000!\n");
	assert_int_equal(pipeline_shown(r.pipeline), 1);
	end(&r);
}

static void test_last_only(void **state)
{
	struct room r;
	struct snapshot *last;

	(void)state;
	set_up(&r, &replay_ops);
	r.config.last_only = true;
	begin(&r);
	take(&r, make(&r.source, 6, 1, BYTES(0, 1)));
	take(&r, make(&r.source, 1, 1, BYTES(0, 10)));
	take(&r, make(&r.source, 1, 2, BYTES(0, 40)));
	last = make(&r.source, 6, 2, BYTES(0, 3));
	last->exited = last->final = true;
	take(&r, last);
	assert_string_equal(written, "");
	assert_int_equal(pipeline_finish(r.pipeline), 0);
	assert_string_equal(written, "cart. 3+2: f1=3+2\n"
				     "shop 40+30: f1=40+30\n");
	end(&r);
}

/* One held at its end has been reported: what comes when it has gone is nothing new. */
static void test_held_at_its_end(void **state)
{
	struct snapshot *held, *ended;
	struct room r;

	(void)state;
	set_up(&r, &live_ops);
	r.config.outcome = true;
	begin(&r);
	take(&r, make(&r.source, 1, 1, BYTES(0, 10)));
	assert_false(pipeline_has_last(r.pipeline, 1));
	held = make(&r.source, 1, 2, BYTES(0, 20));
	held->final = held->exited = true;
	take(&r, held);
	assert_true(pipeline_has_last(r.pipeline, 1));
	ended = make(&r.source, 1, 3, BYTES(0, 20));
	ended->final = ended->exited = true;
	take(&r, ended);
	assert_string_equal(written, "shop 10+10: f1=10+10\n"
				     "shop. 20+10: f1=20+10\n");
	assert_true(pipeline_outcome(r.pipeline)->found_leaks);
	assert_false(pipeline_outcome(r.pipeline)->left_unjudged);
	pipeline_forget(r.pipeline, 1);
	assert_false(pipeline_has_last(r.pipeline, 1));
	end(&r);
}

static void test_unjudged(void **state)
{
	struct room r;
	struct snapshot *last;

	(void)state;
	set_up(&r, &live_ops);
	r.config.outcome = r.config.verdict = true;
	begin(&r);
	last = make(&r.source, 1, 1, BYTES(0, 10));
	last->final = last->exited = true;
	last->verdict.state = VERDICT_REFUSED;
	take(&r, last);
	assert_false(pipeline_outcome(r.pipeline)->found_leaks);
	assert_true(pipeline_outcome(r.pipeline)->left_unjudged);
	end(&r);
}

static void write_file(char path[static 32], const char *text)
{
	int fd;

	strcpy(path, "/tmp/test_pipeline.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void test_suppressed(void **state)
{
	char path[32];
	const char *const paths[] = {path, NULL};
	struct snapshot *last;
	struct room r;

	(void)state;
	write_file(path, "leak:f2\n");
	set_up(&r, &live_ops);
	r.filter.suppressions = (struct string_list){paths, 1};
	r.config.outcome = true;
	begin(&r);
	unlink(path);
	take(&r, make(&r.source, 1, 1, BYTES(0, 10, 20)));
	last = make(&r.source, 1, 2, BYTES(0, 0, 20));
	last->final = true;
	take(&r, last);
	assert_string_equal(written, "shop 30+30: f1=10+10\n"
				     "shop. 20+0:\n");
	assert_false(pipeline_outcome(r.pipeline)->found_leaks);
	end(&r);
}

/* A last snapshot of a target with such a touch, by this stack. */
static struct snapshot *make_touched(const struct made_up *m, uint32_t target_id, uint64_t stack_id,
				     enum misuse_kind kind)
{
	struct snapshot *s = make(m, target_id, 1, BYTES(0));
	struct misuse *misuse = calloc(1, sizeof(*misuse));

	s->final = s->exited = true;
	s->guard.asked = true;
	s->misuses[MISUSE_BY_GUARD] = (struct misuse_list){misuse, 1};
	*misuse = (struct misuse){.finder = MISUSE_BY_GUARD, .kind = kind, .count = 1};
	misuse->calls[MISUSE_CALL_NOW] =
		(struct reported_call){.known = true, .stack_id = stack_id};
	return s;
}

/* A bad access is found as a leak is, unless a suppression has it: by its own stack. */
static void test_bad_accesses(void **state)
{
	static const struct {
		enum misuse_kind kind;
		uint64_t stack_id;
		bool found;
	} rows[] = {
		{MISUSE_OVERFLOW, 3, true},	  {MISUSE_OVERFLOW, 4, false},
		{MISUSE_DOUBLE_FREE, 4, true},	  {MISUSE_DOUBLE_FREE, 5, false},
		{MISUSE_USE_AFTER_FREE, 5, true},
	};
	char path[32];
	const char *const paths[] = {path, NULL};
	struct room r;

	(void)state;
	write_file(path, "{\nread\nMemcheck:Addr8\nfun:f4\n}\n"
			 "{\nfreed\nMemcheck:Free\nfun:f5\n}\n");
	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		size_t row = i / 2;

		set_up(&r, &live_ops);
		r.filter.suppressions = (struct string_list){paths, 1};
		r.config.outcome = true;
		/* Of a sum's processes each is asked for itself. */
		r.show.merge = i & 1;
		begin(&r);
		take(&r, make_touched(&r.source, 1, rows[row].stack_id, rows[row].kind));
		assert_int_equal(names_asked(&r), 1);
		if (pipeline_outcome(r.pipeline)->found_leaks != rows[row].found)
			fail_msg("row %zu", row);
		end(&r);
	}
	unlink(path);
}

/* What no suppression could take, by its class, is named only where it is shown. */
static void test_names_of_what_could_be_suppressed(void **state)
{
	char path[32];
	const char *const paths[] = {path, NULL};
	struct snapshot *now;
	struct room r;

	(void)state;
	write_file(path, "{\nlost\nMemcheck:Leak\nmatch-leak-kinds: definite\nfun:f2\n}\n");
	set_up(&r, &live_ops);
	r.filter.suppressions = (struct string_list){paths, 1};
	r.show.top = 2;
	begin(&r);
	unlink(path);
	now = make(&r.source, 1, 1, BYTES(0, 10, 20, 30, 40));
	now->verdict.state = VERDICT_TAKEN;
	now->stacks[0].verdict[VERDICT_DEFINITE] = now->stacks[0].live;
	now->stacks[1].verdict[VERDICT_DEFINITE] = now->stacks[1].live;
	now->stacks[2].verdict[VERDICT_REACHABLE] = now->stacks[2].live;
	now->stacks[3].verdict[VERDICT_POSSIBLE] = now->stacks[3].live;
	take(&r, now);
	assert_string_equal(written, "shop 100+100: f1=10+10 f4=40+40\n");
	assert_int_equal(names_asked(&r), 3);
	assert_int_equal(r.source.named[1][3], 0);
	end(&r);
}

/* What two processes of one program and one of another do in three rounds, the last at the end. */
static void play(struct room *r, bool live)
{
	struct snapshot *s;

	take(r, make(&r->source, 1, 1, BYTES(0, 10, 20)));
	take(r, make(&r->source, 2, 1, BYTES(0, 1, 0, 30)));
	take(r, make(&r->source, 6, 1, BYTES(0, 5)));
	if (live)
		pipeline_round(r->pipeline, false);
	/* The first ends between two rounds; its names go with it. */
	s = make(&r->source, 1, 2, BYTES(0, 10, 25));
	s->exited = s->final = true;
	take(r, s);
	r->source.gone[1] = true;
	if (live)
		pipeline_forget(r->pipeline, 1);
	take(r, make(&r->source, 2, 3, BYTES(0, 2, 0, 30)));
	take(r, make(&r->source, 6, 3, BYTES(0, 6)));
	if (live)
		pipeline_round(r->pipeline, false);
	s = make(&r->source, 2, 4, BYTES(0, 2, 0, 31));
	s->final = true;
	take(r, s);
	s = make(&r->source, 6, 4, BYTES(0, 7));
	s->final = true;
	take(r, s);
	if (live)
		pipeline_round(r->pipeline, true);
	else
		pipeline_finish(r->pipeline);
}

#define LAST_SUMS                                \
	"shop*. 68+6: f3=31+1 f2=25+5 f1=12+0\n" \
	"cart*. 7+1: f1=7+1\n"
#define SUMS                                        \
	"shop* 61+61: f3=30+30 f2=20+20 f1=11+11\n" \
	"cart* 5+5: f1=5+5\n"                       \
	"shop* 32+1: f3=30+0 f1=2+1\n"              \
	"cart* 6+1: f1=6+1\n" LAST_SUMS

static void test_merged_live_as_replayed(void **state)
{
	struct room r;

	(void)state;
	set_up(&r, &live_ops);
	r.show.merge = true;
	begin(&r);
	play(&r, true);
	assert_string_equal(written, SUMS);
	end(&r);

	set_up(&r, &replay_ops);
	r.show.merge = true;
	begin(&r);
	play(&r, false);
	assert_string_equal(written, SUMS);
	end(&r);
}

static void test_merged_last_only(void **state)
{
	struct room r;

	(void)state;
	set_up(&r, &replay_ops);
	r.show.merge = true;
	r.config.last_only = true;
	begin(&r);
	play(&r, false);
	assert_string_equal(written, LAST_SUMS);
	end(&r);
}

/* A recorder that was killed: what has ended does not count among what lived then. */
static void test_merged_cut(void **state)
{
	struct snapshot *s;
	struct room r;

	(void)state;
	set_up(&r, &replay_ops);
	r.show.merge = true;
	begin(&r);
	take(&r, make(&r.source, 1, 1, BYTES(0, 10)));
	take(&r, make(&r.source, 2, 1, BYTES(0, 1)));
	s = make(&r.source, 1, 2, BYTES(0, 10));
	s->exited = s->final = true;
	take(&r, s);
	assert_int_equal(pipeline_finish(r.pipeline), 0);
	assert_string_equal(written, "shop* 11+11: f1=11+11\n");
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_differences),
		cmocka_unit_test(test_names_of_what_is_shown),
		cmocka_unit_test(test_trends),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_last_only),
		cmocka_unit_test(test_held_at_its_end),
		cmocka_unit_test(test_unjudged),
		cmocka_unit_test(test_suppressed),
		cmocka_unit_test(test_bad_accesses),
		cmocka_unit_test(test_names_of_what_could_be_suppressed),
		cmocka_unit_test(test_merged_live_as_replayed),
		cmocka_unit_test(test_merged_last_only),
		cmocka_unit_test(test_merged_cut),
	};

	return cmocka_run_group_tests(tests, make_frames, NULL);
}
