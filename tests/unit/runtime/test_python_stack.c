// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where Python's functions come to stand among those of C. Stacks are written as words, innermost
 * function first. Those of C are in the table `places`. Python's have a letter each; behind the one
 * that C has called there is a bar: "f g| h|" are two calls of the evaluating function. A bar that stands
 * alone is the frame of CPython 3.12 and later that is no function's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/stack_end.h"
#include "user/base/util.h"
#include "tests/unit/runtime/host.h"
#include "user/runtime/python/python_rows.h"
#include "user/runtime/python/target_python.h"

#define TARGET 3
#define COOKIE 7

/* The interpreter's evaluating function, and its part that is elsewhere; ends are not in them. */
#define EVAL	  0x1000
#define EVAL_END  0x2000
#define COLD	  0x9000
#define COLD_END  0x9100
#define EVAL_CALL 0x1080

enum home {
	HOME_PYTHON, /* the interpreter */
	HOME_OTHER,
	HOME_NONE, /* code without a file */
};

static const struct known_place {
	const char *word;
	enum home home;
	uint64_t offset; /* a return address */
} known_places[] = {
	{"malloc", HOME_OTHER, 0x100},
	{"start", HOME_OTHER, 0x300},
	{"lib", HOME_OTHER, 0x400},
	{"lib2", HOME_OTHER, 0x500},
	{"jit", HOME_NONE, EVAL_CALL},
	{"other", HOME_OTHER, EVAL_CALL},
	{"list", HOME_PYTHON, 0x5000},
	{"call", HOME_PYTHON, 0x6000},
	{"call2", HOME_PYTHON, 0x6100},
	{"run", HOME_PYTHON, 0x7000},
	{"zero", HOME_PYTHON, 0},
	{"eval", HOME_PYTHON, EVAL_CALL},
	{"cold", HOME_PYTHON, COLD + 0x10},
	/* The call is the first or the last instruction, or the one before or behind. */
	{"eval-before", HOME_PYTHON, EVAL},
	{"eval-first", HOME_PYTHON, EVAL + 1},
	{"eval-last", HOME_PYTHON, EVAL_END},
	{"eval-behind", HOME_PYTHON, EVAL_END + 1},
	{"cold-first", HOME_PYTHON, COLD + 1},
	{"cold-last", HOME_PYTHON, COLD_END},
};

/* As much of a target as the stack is made from. */
struct fixture {
	struct test_host host;
	struct runtime_target target;
	struct known_python python;
	struct object_cache *objects;
	struct object *homes[HOME_NONE + 1];
	uint64_t last_hash;
	struct stack_draft draft;
};

struct woven {
	char text[4096];
	uint64_t id;
	uint8_t end;
	bool is_woven;
};

static int fixture_new(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));

	f->objects = object_cache_new();
	f->target.id = TARGET;
	if (!f->objects || !test_host_open(&f->host) ||
	    object_cache_open(f->objects, "/proc/self/exe", &f->homes[HOME_PYTHON]) ||
	    object_cache_open(f->objects, "/bin/sh", &f->homes[HOME_OTHER]))
		return -1;
	f->python.object_id = object_id(f->homes[HOME_PYTHON]);
	f->python.runtime.eval = (struct runtime_range){EVAL, EVAL_END};
	f->python.runtime.eval_cold = (struct runtime_range){COLD, COLD_END};
	f->target.states[RUNTIME_PYTHON] = calloc(1, sizeof(struct target_python));
	((struct target_python *)f->target.states[RUNTIME_PYTHON])->known = &f->python;
	*state = f;
	return 0;
}

static int fixture_free(void **state)
{
	struct fixture *f = *state;

	object_unref(f->homes[HOME_PYTHON]);
	object_unref(f->homes[HOME_OTHER]);
	object_cache_free(f->objects);
	runtime_target_clear(&f->host.runtimes, &f->target);
	test_host_close(&f->host);
	test_free(f);
	return 0;
}

/* ---- from words, and into words ------------------------------------------------------------- */

/* The next word of *text, which is moved behind it. False: there is none. */
static bool word_next(const char **text, char word[static 32])
{
	int len = 0;

	if (sscanf(*text, " %31s%n", word, &len) != 1)
		return false;
	*text += len;
	return true;
}

static size_t locations_from(const struct fixture *f, const char *text,
			     struct location locations[static ABI_MAX_FRAMES])
{
	size_t count = 0;
	char word[32];

	while (word_next(&text, word)) {
		size_t i = 0;

		while (i < ARRAY_SIZE(known_places) && strcmp(known_places[i].word, word) != 0)
			i++;
		assert_true(i < ARRAY_SIZE(known_places) && count < ABI_MAX_FRAMES);
		locations[count].object = f->homes[known_places[i].home];
		locations[count++].offset = known_places[i].offset;
	}
	return count;
}

/*
 * The code object of the function with that letter. Of '?' nothing has come, and of '*' no name. Its
 * line is its letter.
 */
static void code_add(struct fixture *f, char letter, uint64_t code)
{
	struct python_code_event *event;

	if (letter == '?')
		return;
	event = test_calloc(1, sizeof(*event));
	*event = (struct python_code_event){
		.header.target_id = TARGET, .code = code, .cookie = COOKIE};
	event->first_line = letter;
	if (letter != '*')
		event->function = (struct runtime_text){1, 1, {(uint8_t)letter}};
	event->file = (struct runtime_text){5, 1, "/a.py"};
	python_ops.event(&f->host.runtimes, &f->target, RUNTIME_CODE, &event->header);
	test_free(event);
}

/* Sends the chain, whose code objects are at `base`. Its hash. */
static uint64_t chain_add(struct fixture *f, const char *text, bool cut, uint64_t base)
{
	struct runtime_chain_event *event = test_calloc(1, sizeof(*event));
	char word[32];

	event->header.target_id = TARGET;
	event->hash = ++f->last_hash;
	event->cut = cut;
	while (word_next(&text, word)) {
		struct runtime_call *call = &event->calls[event->count++];

		assert_true(event->count <= RUNTIME_MAX_CALLS);
		call->place = strchr(word, '|') ? PYTHON_ENTRY : 0;
		if (*word == '|')
			continue;
		call->code = base + 0x100 * (uint8_t)*word;
		call->cookie = COOKIE;
		code_add(f, *word, call->code);
	}
	runtime_chains_add(&f->target.chains, event);
	test_free(event);
	return f->last_hash;
}

static const char *place_word(const struct fixture *f, const struct stack_place *place,
			      char word[static 32])
{
	const struct frame *frame = place->frame;

	if (frame) {
		assert_int_equal(frame->kind, FRAME_KIND_PYTHON);
		if (frame->file)
			assert_string_equal(frame->file, "/a.py");
		snprintf(word, 32, "%s", frame->function ?: frame->file ? "*" : "?");
		if (frame->function || frame->file)
			assert_int_equal(frame->line, *word);
		else
			assert_int_equal(frame->line, 0);
		return word;
	}
	for (size_t i = 0; i < ARRAY_SIZE(known_places); i++) {
		if (place->location.object == f->homes[known_places[i].home] &&
		    place->location.offset == known_places[i].offset)
			return known_places[i].word;
	}
	return "(none)";
}

static void draft_fill(struct fixture *f, const struct location *from, size_t count, uint8_t end)
{
	memset(&f->draft, 0xa5, sizeof(f->draft));
	f->draft.end = end;
	for (f->draft.count = 0; f->draft.count < count; f->draft.count++)
		f->draft.places[f->draft.count] =
			(struct stack_place){.location = from[f->draft.count]};
}

/* `python`: the chain's hash, 0: the stack has none. */
static void weave(struct fixture *f, const char *c, uint64_t python, uint8_t end, struct woven *out)
{
	struct location locations[ABI_MAX_FRAMES];
	char *to = strcpy(out->text, ""), word[32];

	draft_fill(f, locations, locations_from(f, c, locations), end);
	out->is_woven = python_ops.weave(&f->host.runtimes, &f->target, python, NULL, &f->draft);
	stack_draft_limit(&f->draft, f->host.runtimes.host.max_frames);
	out->end = f->draft.end;
	out->id = stack_places_id(f->draft.places, f->draft.count, f->draft.end);
	for (size_t i = 0; i < f->draft.count; i++)
		to += sprintf(to, i ? " %s" : "%s", place_word(f, &f->draft.places[i], word));
}

/* ---- which functions, and where ------------------------------------------------------------- */

struct weave_case {
	const char *what, *c, *python, *woven;
	uint8_t end; /* of the walk */
	bool cut, native, truncated;
	uint32_t max_frames; /* 0: as many as there can be */
};

static void must_weave(struct fixture *f, const struct weave_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct weave_case *w = &cases[i];
		struct woven woven;

		f->host.runtimes.host.native_frames = w->native;
		f->host.runtimes.host.max_frames = w->max_frames ?: ABI_MAX_FRAMES;
		weave(f, w->c, chain_add(f, w->python, w->cut, 0x10000), w->end, &woven);
		if (strcmp(woven.text, w->woven) != 0)
			fail_msg("%s: \"%s\" in place of \"%s\"", w->what, woven.text, w->woven);
		if (woven.end != (w->truncated ? STACK_END_TRUNCATED : w->end))
			fail_msg("%s: ends by %d", w->what, woven.end);
		assert_true(woven.is_woven);
		assert_int_not_equal(woven.id, 0);
	}
}

static void first_frames_marked(void **state)
{
	static const struct weave_case cases[] = {
		{"one function", "malloc list eval run start", "f|",
		 .woven = "malloc list f start"},
		{"that call each other", "malloc eval run start", "f g h|",
		 .woven = "malloc f g h start"},
		{"called from C of CPython's", "malloc eval call call2 eval call eval run start",
		 "f g| h| i j|", .woven = "malloc f g h i j start"},
		{"called from C of others", "malloc list lib eval call lib2 call2 eval run start",
		 "f g| h|", .woven = "malloc list lib f g lib2 h start"},
		{"no mark at the end", "malloc eval run start", "f g", .woven = "malloc f g start"},
	};

	must_weave(*state, cases, ARRAY_SIZE(cases));
}

static void bare_entry_frames(void **state)
{
	static const struct weave_case cases[] = {
		{"the last one has returned", "malloc eval call eval run start", "| f g|",
		 .woven = "malloc f g start"},
		{"all have", "malloc list eval run start", "|", .woven = "malloc list start"},
		{"in between", "malloc eval call eval lib eval run start", "f| | g|",
		 .woven = "malloc f lib g start"},
		{"two of them", "malloc eval lib eval lib2 eval run start", "| | f|",
		 .woven = "malloc lib lib2 f start"},
		{"not behind another's function", "malloc eval lib eval start", "f | g|",
		 .woven = "malloc f lib g start"},
		{"of which no call was found", "malloc eval run start", "f| | g|",
		 .woven = "malloc f g start"},
		{"at the end", "malloc eval call eval run start", "f| |",
		 .woven = "malloc f start"},
	};

	must_weave(*state, cases, ARRAY_SIZE(cases));
}

static void calls_and_chain_do_not_agree(void **state)
{
	static const struct weave_case cases[] = {
		{"chain too long", "malloc list eval run start", "f| g| h i|",
		 .woven = "malloc list f g h i start"},
		{"and functions of others", "malloc list eval lib run start", "f| g|",
		 .woven = "malloc list f g lib start"},
		{"no call at all", "malloc list run start", "f| g|",
		 .woven = "malloc list run start f g"},
		{"chain too long, walk incomplete", "malloc list eval lib call", "f| g| h|",
		 .woven = "malloc list f lib g h", .end = STACK_END_NO_ROWS},
		{"walk ended at once", "malloc", "f g|", .woven = "malloc f g",
		 .end = STACK_END_BAD_CFA},
		{"walk incomplete, and all were found", "malloc eval lib", "f|",
		 .woven = "malloc f lib", .end = STACK_END_TRUNCATED},
		{"chain too short", "malloc list eval call eval call2 eval run start", "f|",
		 .woven = "malloc list f start"},
		{"chain too short, C of others", "malloc eval lib eval lib2 eval start", "f|",
		 .woven = "malloc f lib lib2 start"},
	};

	must_weave(*state, cases, ARRAY_SIZE(cases));
}

/* What has called the outermost function of a chain that was cut is not known. */
static void chain_cut(void **state)
{
	static const struct weave_case cases[] = {
		{"between calls", "malloc eval call eval lib eval run start", "f| g|",
		 .woven = "malloc f g", .cut = true, .truncated = true},
		{"within a call", "malloc eval call eval run start", "f| g h",
		 .woven = "malloc f g h", .cut = true, .truncated = true},
		{"in a call that was not found", "malloc eval lib run start", "f| g|",
		 .woven = "malloc f g", .cut = true, .truncated = true},
		{"walk incomplete", "malloc eval lib", "f| g|", .woven = "malloc f lib g",
		 .cut = true, .end = STACK_END_NO_MAPPING, .truncated = true},
		{"walk incomplete behind it", "malloc eval lib", "f", .woven = "malloc f",
		 .cut = true, .end = STACK_END_NO_MAPPING, .truncated = true},
		{"native", "malloc eval call eval run start", "f| g",
		 .woven = "malloc eval f call eval g", .cut = true, .truncated = true,
		 .native = true},
	};

	must_weave(*state, cases, ARRAY_SIZE(cases));
}

static void what_evaluates(void **state)
{
	static const struct weave_case cases[] = {
		{"its part elsewhere", "malloc cold call eval run start", "f| g|",
		 .woven = "malloc f g start"},
		{"from its first to its last instruction",
		 "malloc eval-first lib eval-last lib cold-first lib cold-last start",
		 "f| g| h| i|", .woven = "malloc f lib g lib h lib i start"},
		{"what is before and behind", "malloc eval-before eval-behind lib eval start", "f|",
		 .woven = "malloc eval-before eval-behind lib f start"},
		{"such an offset in other code", "malloc jit other eval start", "f|",
		 .woven = "malloc jit other f start"},
		/* A trampoline of -X perf's is left out, and no more than one. */
		{"in other code behind", "malloc jit eval jit jit other start", "f|",
		 .woven = "malloc jit f jit other start"},
		/* The probe's own place is no return address. */
		{"the traced function", "eval list eval start", "f|", .woven = "eval list f start"},
	};

	must_weave(*state, cases, ARRAY_SIZE(cases));
}

static void no_part_elsewhere(void **state)
{
	static const struct weave_case w = {"no such part", "malloc cold zero eval start", "f|",
					    .woven = "malloc cold zero f start"};
	struct fixture *f = *state;

	f->python.runtime.eval_cold = (struct runtime_range){0, 0};
	must_weave(f, &w, 1);
}

static void with_native_frames(void **state)
{
	static const struct weave_case cases[] = {
		{"all of C", "malloc list eval call call2 eval lib run start", "f g| h|",
		 .woven = "malloc list eval f g call call2 eval h lib run start", .native = true},
		{"chain too long", "malloc eval run start", "f| g|",
		 .woven = "malloc eval f g run start", .native = true},
		{"chain too short", "malloc eval call eval run start", "f|",
		 .woven = "malloc eval f call eval run start", .native = true},
		{"bare", "malloc eval call eval start", "| f|",
		 .woven = "malloc eval call eval f start", .native = true},
	};

	must_weave(*state, cases, ARRAY_SIZE(cases));
}

static void most_frames(void **state)
{
	static const struct weave_case cases[] = {
		{"one too many", "malloc eval run start", "f g h|", .woven = "malloc f g h",
		 .truncated = true, .max_frames = 4},
		{"just enough", "malloc eval run start", "f g h|", .woven = "malloc f g h start",
		 .max_frames = 5},
		{"what is left out does not count", "malloc eval call eval run start", "f| g|",
		 .woven = "malloc f g start", .max_frames = 4},
		{"of an incomplete walk", "malloc eval lib", "f|", .woven = "malloc f",
		 .end = STACK_END_NO_ROWS, .truncated = true, .max_frames = 2},
		{"of the rest", "malloc list start", "f| g|", .woven = "malloc list start f",
		 .truncated = true, .max_frames = 4},
	};

	must_weave(*state, cases, ARRAY_SIZE(cases));
}

static char *repeat(char *to, const char *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to = stpcpy(to, words);
	return to;
}

/* As much as there can be on both sides: before it is cut that is all of the array. */
static void as_much_as_there_is(void **state)
{
	char c[ABI_MAX_FRAMES * 8], python[RUNTIME_MAX_CALLS * 8], expected[4096];
	struct weave_case w = {.what = "longest",
			       .c = c,
			       .python = python,
			       .woven = expected,
			       .truncated = true,
			       .native = true};

	repeat(repeat(c, "malloc ", 1), "eval ", ABI_MAX_FRAMES - 1);
	repeat(python, "f| ", RUNTIME_MAX_CALLS);
	repeat(stpcpy(expected, "malloc"), " eval f", ABI_MAX_FRAMES / 2 - 1);
	strcat(expected, " eval");
	must_weave(*state, &w, 1);
	/* All of them in one call, or in none that was found. */
	repeat(python, "f ", RUNTIME_MAX_CALLS);
	repeat(stpcpy(expected, "malloc eval"), " f", ABI_MAX_FRAMES - 2);
	must_weave(*state, &w, 1);
	repeat(repeat(c, "malloc ", 1), "lib ", ABI_MAX_FRAMES - 1);
	repeat(stpcpy(expected, "malloc"), " lib", ABI_MAX_FRAMES - 1);
	must_weave(*state, &w, 1);
	repeat(stpcpy(repeat(c, "malloc ", 1), "eval "), "lib ", ABI_MAX_FRAMES - 2);
	repeat(python, "f| ", RUNTIME_MAX_CALLS);
	repeat(stpcpy(expected, "malloc eval"), " f", ABI_MAX_FRAMES - 2);
	must_weave(*state, &w, 1);
}

static void without_a_name(void **state)
{
	static const struct weave_case cases[] = {
		{"that has not come", "malloc eval call eval start", "f ?| g|",
		 .woven = "malloc f ? g start"},
		{"that is no string", "malloc eval start", "* f|", .woven = "malloc * f start"},
	};

	must_weave(*state, cases, ARRAY_SIZE(cases));
}

/* ---- stacks without Python's functions ------------------------------------------------------ */

static void must_be_as_walked(struct fixture *f, uint64_t python)
{
	static const char c[] = "malloc list eval call eval-last cold run start";
	struct woven woven;

	weave(f, c, python, STACK_END_NO_ROWS, &woven);
	assert_string_equal(woven.text, c);
	assert_false(woven.is_woven);
	assert_int_equal(woven.end, STACK_END_NO_ROWS);
}

static void no_chain(void **state)
{
	struct fixture *f = *state;
	uint64_t hash = chain_add(f, "f|", false, 0x10000);
	struct runtime_chains chains;

	must_be_as_walked(f, 0);
	/* It was lost on its way. */
	must_be_as_walked(f, hash + 1);
	/* It is another target's. */
	chains = f->target.chains;
	f->target.chains = (struct runtime_chains){0};
	must_be_as_walked(f, hash);
	/* The interpreter is not mapped any more. */
	f->target.chains = chains;
	((struct target_python *)f->target.states[RUNTIME_PYTHON])->known = NULL;
	must_be_as_walked(f, hash);
}

/* ---- one stack or two ----------------------------------------------------------------------- */

static uint64_t id_of(struct fixture *f, const char *c, const char *python, uint64_t base,
		      uint8_t end)
{
	struct woven woven;

	weave(f, c, chain_add(f, python, false, base), end, &woven);
	return woven.id;
}

static void ids(void **state)
{
	struct fixture *f = *state;
	uint64_t id = id_of(f, "malloc list eval call eval start", "f| g|", 0x10000, 0);

	/* Of what is shown: wherever the code objects are, and by whichever way of CPython's. */
	assert_int_equal(id, id_of(f, "malloc list eval call eval start", "f| g|", 0x90000, 0));
	assert_int_equal(id,
			 id_of(f, "malloc list eval call2 cold run start", "f| g|", 0x10000, 0));
	assert_int_equal(id, id_of(f, "malloc list eval start", "f g|", 0x10000, 0));
	assert_int_not_equal(id, id_of(f, "malloc list eval start", "g f|", 0x10000, 0));
	assert_int_not_equal(id, id_of(f, "malloc list eval start", "f|", 0x10000, 0));
	assert_int_not_equal(id, id_of(f, "malloc list eval start", "f ?|", 0x10000, 0));
	assert_int_not_equal(id, id_of(f, "malloc call eval start", "f g|", 0x10000, 0));
	assert_int_not_equal(id, id_of(f, "malloc list eval lib", "f g|", 0x10000, 0));
	assert_int_not_equal(
		id, id_of(f, "malloc list eval start", "f g|", 0x10000, STACK_END_NO_ROWS));
	/* Where C's own are shown, they count. */
	f->host.runtimes.host.native_frames = true;
	id = id_of(f, "malloc list eval call eval start", "f| g|", 0x10000, 0);
	assert_int_equal(id, id_of(f, "malloc list eval call eval start", "f| g|", 0x90000, 0));
	assert_int_not_equal(id,
			     id_of(f, "malloc list eval call2 eval start", "f| g|", 0x10000, 0));
	assert_int_not_equal(id, id_of(f, "malloc list eval call cold start", "f| g|", 0x10000, 0));
}

/* The id of a stack of one function that has these. Each code object is at an address of its own. */
static uint64_t id_of_names(struct fixture *f, const char *function, const char *file,
			    uint32_t line)
{
	struct python_code_event *event = test_calloc(1, sizeof(*event));
	struct runtime_chain_event *chain = test_calloc(1, sizeof(*chain));
	struct location locations[] = {{f->homes[HOME_OTHER], 0x100},
				       {f->homes[HOME_PYTHON], EVAL_CALL}};

	event->header.target_id = chain->header.target_id = TARGET;
	event->code = chain->calls[0].code = 0x100000 + ++f->last_hash;
	event->first_line = (int32_t)line;
	event->function.width = event->file.width = 1;
	event->function.length = (uint32_t)sprintf((char *)event->function.bytes, "%s", function);
	event->file.length = (uint32_t)sprintf((char *)event->file.bytes, "%s", file);
	chain->hash = f->last_hash;
	chain->count = 1;
	python_ops.event(&f->host.runtimes, &f->target, RUNTIME_CODE, &event->header);
	runtime_chains_add(&f->target.chains, chain);
	draft_fill(f, locations, ARRAY_SIZE(locations), STACK_END_COMPLETE);
	assert_true(python_ops.weave(&f->host.runtimes, &f->target, chain->hash, NULL, &f->draft));
	assert_int_equal(f->draft.count, 2);
	test_free(event);
	test_free(chain);
	return stack_places_id(f->draft.places, f->draft.count, f->draft.end);
}

static void ids_of_names(void **state)
{
	struct fixture *f = *state;
	uint64_t id = id_of_names(f, "ab", "/c.py", 5);

	assert_int_equal(id, id_of_names(f, "ab", "/c.py", 5));
	assert_int_not_equal(id, id_of_names(f, "ab", "/c.py", 6));
	assert_int_not_equal(id, id_of_names(f, "ac", "/c.py", 5));
	assert_int_not_equal(id, id_of_names(f, "ab", "/d.py", 5));
	assert_int_not_equal(id, id_of_names(f, "a", "b/c.py", 5));
	assert_int_not_equal(id, id_of_names(f, "ab/c.py", "", 5));
	assert_int_not_equal(id, id_of_names(f, "", "ab/c.py", 5));
}

#define WEAVE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_new, fixture_free)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WEAVE_TEST(first_frames_marked),
		WEAVE_TEST(bare_entry_frames),
		WEAVE_TEST(calls_and_chain_do_not_agree),
		WEAVE_TEST(chain_cut),
		WEAVE_TEST(what_evaluates),
		WEAVE_TEST(no_part_elsewhere),
		WEAVE_TEST(with_native_frames),
		WEAVE_TEST(most_frames),
		WEAVE_TEST(as_much_as_there_is),
		WEAVE_TEST(without_a_name),
		WEAVE_TEST(no_chain),
		WEAVE_TEST(ids),
		WEAVE_TEST(ids_of_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
