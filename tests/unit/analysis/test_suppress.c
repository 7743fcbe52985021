// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Suppressions: both formats, what they match, what they make of a snapshot. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/borrowed_report.h"
#include "tests/unit/suppressed_frames.h"
#include "user/analysis/leaks.h"
#include "user/analysis/suppress.h"
#include "user/analysis/suppress_rule.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int parse(struct suppressions *s, const char *text)
{
	return suppressions_parse(s, "test.supp", text, strlen(text));
}

/* Would these lines of one Memcheck:Leak suppression take the stack? */
static bool locations_take(const char *lines, const struct frame *const *frames, size_t count)
{
	struct suppressions *s = suppressions_new();
	struct stack stack = {.live = {8, 1}, .frames = frames, .frame_count = count};
	struct snapshot snapshot = {.stacks = &stack, .stack_count = 1};
	struct report *r = report_borrow(&snapshot);
	char text[1024];
	bool hidden;

	snprintf(text, sizeof(text), "{\n  a name\n  Memcheck:Leak\n%s\n}\n", lines);
	assert_int_equal(parse(s, text), 0);
	assert_int_equal(suppressions_apply(s, r), 0);
	hidden = r->notes[0].hidden;
	report_drop(r);
	suppressions_free(s);
	return hidden;
}

static void wildcards(void **state)
{
	(void)state;
	assert_true(wildcard_match("", ""));
	assert_true(wildcard_match("*", ""));
	assert_true(wildcard_match("a*c", "abcbc"));
	assert_true(wildcard_match("*b*", "abc"));
	assert_true(wildcard_match("a?c", "abc"));
	assert_true(wildcard_match("?*?", "ab"));
	assert_false(wildcard_match("a?c", "ac"));
	assert_false(wildcard_match("abc", "abcd"));
	assert_false(wildcard_match("bc", "abc"));
	assert_false(wildcard_match("", "a"));
	assert_false(wildcard_match("a*d", "abc"));
}

/* tests/integration/suppress.bats asks LeakSanitizer itself. */
static void templates(void **state)
{
	(void)state;
	assert_true(template_match("oo", "foobar"));
	assert_true(template_match("^foo", "foobar"));
	assert_true(template_match("bar$", "foobar"));
	assert_true(template_match("^f*r$", "foobar"));
	assert_true(template_match("f*a", "foobar"));
	assert_true(template_match("*", "x"));
	assert_true(template_match("^*oo", "foo"));
	assert_false(template_match("^oo", "foobar"));
	assert_false(template_match("foo$", "foobar"));
	/* The first place counts, and nothing goes back from there. */
	assert_false(template_match("o$", "foo"));
	assert_true(template_match("o*$", "foo"));
	assert_false(template_match("a*f", "foobar"));
	assert_false(template_match("x", NULL));
	assert_false(template_match("*", ""));
}

static void valgrind_locations(void **state)
{
	(void)state;
	assert_true(locations_take("fun:malloc\nfun:main", plain, COUNT(plain)));
	assert_true(locations_take("fun:malloc", plain, COUNT(plain)));
	assert_false(locations_take("fun:main", plain, COUNT(plain)));
	assert_true(locations_take("...\nfun:main", plain, COUNT(plain)));
	assert_true(locations_take("fun:*alloc\n...\nfun:(below main)", plain, COUNT(plain)));
	assert_false(locations_take("fun:malloc\nfun:main\nfun:other", plain, COUNT(plain)));
	assert_false(
		locations_take("fun:malloc\nfun:main\n...\nfun:a\nfun:b", plain, COUNT(plain)));
	assert_true(locations_take("obj:*/libc.so*\nobj:/srv/shop", plain, COUNT(plain)));
	assert_false(locations_take("obj:libc.so*", plain, COUNT(plain)));
	assert_true(locations_take("fun:malloc\nsrc:main.cc", plain, COUNT(plain)));
	assert_true(locations_take("fun:malloc\nsrc:main.cc:7", plain, COUNT(plain)));
	assert_false(locations_take("fun:malloc\nsrc:main.cc:8", plain, COUNT(plain)));
}

/* Frame 0 is malloc here, operator new there; names may be mangled, demangled, or unknown. */
static void valgrind_cxx(void **state)
{
	(void)state;
	assert_true(locations_take("fun:_Znwm\nfun:_ZN4shop*", cxx, COUNT(cxx)));
	assert_true(locations_take("fun:_Zn?m\nfun:_ZN4shop7Archive4keepEPKc\nfun:???\nfun:main",
				   cxx, COUNT(cxx)));
	assert_true(locations_take(
		"fun:operator new(unsigned long)\nfun:shop::Archive::keep(char const*)", cxx,
		COUNT(cxx)));
	assert_true(locations_take("fun:malloc\nfun:_Znwm\nsrc:archive.cc:42", cxx, COUNT(cxx)));
	assert_true(locations_take("...\nobj:*libz*\nfun:main", cxx, COUNT(cxx)));
	assert_false(locations_take("fun:_ZN4shop*", cxx, COUNT(cxx)));
	assert_true(locations_take("fun:_Znam\nfun:_ZN4shop*", cxx, COUNT(cxx)));
	assert_false(locations_take("fun:_ZdaPv\nfun:_ZN4shop*", cxx, COUNT(cxx)));
}

static bool pattern_takes(const char *pattern, const struct frame *const *frames, size_t count)
{
	const struct rule rule = {.name = (char *)pattern, .pattern = true};

	return rule_matches(&rule, frames, count);
}

/* A script has the place of an object; names and files of it are not taken for those of C's libraries. */
static void scripts(void **state)
{
	const struct frame python =
		frame_managed(FRAME_KIND_PYTHON, "Cart.add", "/srv/shop.py", 12);
	const struct frame lua = frame_managed(FRAME_KIND_JIT, "_start", "/srv/libc.so.lua", 3);
	struct frame jit = frame_managed(FRAME_KIND_JAVASCRIPT, "tick", "/srv/leak.js", 8);
	const struct frame *const frames[] = {&f_malloc, &python, &jit, &lua};

	(void)state;
	jit.symbol = "JS:*tick /srv/leak.js:8:26";
	assert_true(locations_take("fun:malloc\nfun:Cart.add", frames, COUNT(frames)));
	assert_true(locations_take("fun:malloc\nsrc:shop.py:12", frames, COUNT(frames)));
	assert_false(locations_take("fun:malloc\nsrc:shop.py:13", frames, COUNT(frames)));
	assert_true(locations_take("fun:malloc\nobj:*/shop.py", frames, COUNT(frames)));
	assert_true(locations_take("...\nfun:tick", frames, COUNT(frames)));
	assert_true(locations_take("...\nfun:JS:*tick*", frames, COUNT(frames)));
	assert_true(locations_take("...\nsrc:/srv/leak.js", frames, COUNT(frames)));
	assert_true(pattern_takes("^Cart.add$", frames, COUNT(frames)));
	assert_true(pattern_takes("shop.py", frames, COUNT(frames)));
	assert_false(pattern_takes("shop.rb", frames, COUNT(frames)));
	assert_false(locations_take("...\nfun:(below main)", frames, COUNT(frames)));
	assert_true(frame_in_libc(&f_malloc));
	assert_false(frame_in_libc(&lua));
	/* The one that allocated, for people. */
	assert_int_equal(frames_allocating(frames, COUNT(frames), ALLOCATING_PROGRAM), 1);
	assert_int_equal(frames_allocating(frames + 2, 2, ALLOCATING_PROGRAM), 1);
}

static void lsan_patterns(void **state)
{
	(void)state;
	assert_true(pattern_takes("Archive::keep", cxx, COUNT(cxx)));
	assert_true(pattern_takes("^main$", cxx, COUNT(cxx)));
	assert_true(pattern_takes("archive.cc", cxx, COUNT(cxx)));
	assert_true(pattern_takes("libz.so", cxx, COUNT(cxx)));
	assert_true(pattern_takes("/opt/*.1$", cxx, COUNT(cxx)));
	assert_false(pattern_takes("Archive::keep", plain, COUNT(plain)));
	assert_false(pattern_takes("^ain", plain, COUNT(plain)));
}

static const char *refusal; /* what the log says */

static int refused(const char *text)
{
	struct suppressions *s = suppressions_new();
	char path[] = "/tmp/suppress-XXXXXX";
	int fd = mkstemp(path), keep = dup(STDERR_FILENO), err;
	static char said[1024];
	ssize_t n;

	assert_true(fd >= 0 && keep >= 0);
	unlink(path);
	dup2(fd, STDERR_FILENO);
	err = parse(s, text);
	dup2(keep, STDERR_FILENO);
	n = pread(fd, said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	refusal = said;
	close(fd);
	close(keep);
	suppressions_free(s);
	return err;
}

static void errors(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{"race:foo\n", "test.supp:1: expected leak:PATTERN (LeakSanitizer's"},
		{"# c\n\nleak:a\n\nthread:b\n", "test.supp:5: expected leak:PATTERN"},
		{"leak:\n", "test.supp:1: a pattern must follow"},
		{"leak:a\n{\n", "test.supp:2: expected leak:PATTERN"},
		{"{\n}\n", "test.supp:2: expected the suppression's name"},
		{"{\nname\nMemcheck:Leak\nfun:a\n", "test.supp:1: the file ends"},
		{"{\nname\n", "test.supp:1: the file ends"},
		{"{\n", "test.supp:1: the file ends"},
		{"{\nname\nLeak\nfun:a\n}\n", "test.supp:3: expected TOOL:KIND"},
		{"{\nname\nMemcheck:Leak\nfunny\n}\n", "test.supp:4: expected fun:"},
		{"{\nname\nMemcheck:Leak\nfun:\n}\n", "test.supp:4: a name must follow"},
		{"{\nname\nMemcheck:Leak\n...\n}\n", "test.supp:5: expected at least one line"},
		{"{\nname\nMemcheck:Leak\nmatch-leak-kinds: lost\nfun:a\n}\n",
		 "test.supp:4: expected kinds out of definite"},
		{"{\nname\nMemcheck:Leak\nfun:a\nmatch-leak-kinds: all\n}\n",
		 "test.supp:5: expected fun:"},
		{"{\nname\nMemcheck:Cond\nfun:a\n", "test.supp:1: the file ends"},
		{"{\nn\nMemcheck:Leak\nfun:a\n}\nleak:b\n", "test.supp:6: expected '{'"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(refused(bad[i].text), -EINVAL);
		if (!strstr(refusal, bad[i].message))
			fail_msg("'%s' gave: %s", bad[i].text, refusal);
	}
	assert_int_equal(refused(""), 0);
	assert_int_equal(refused("# nothing\n\n"), 0);
	assert_int_equal(refused("{\n n\n Addrcheck,Memcheck:Leak\n fun:a\n}\n"), 0);
	assert_int_equal(refused("\t leak:a \r\n# c\n leak:b"), 0);
}

static struct suppressed *apply(struct suppressions *s, struct report *r)
{
	assert_int_equal(suppressions_apply(s, r), 0);
	return r->suppressed;
}

/* Each block is counted to one suppression, and the sum is what is hidden. */
static void accounting(void **state)
{
	struct stack stacks[] = {
		{.live = {100, 2}, .frames = cxx, .frame_count = COUNT(cxx)},
		{.live = {30, 1}, .frames = plain, .frame_count = COUNT(plain)},
		{.live = {7, 1}},
		{.alloc = {9, 9}, .frames = cxx, .frame_count = COUNT(cxx)},
	};
	struct snapshot snapshot = {.stacks = stacks, .stack_count = COUNT(stacks)};
	struct report *r = report_borrow(&snapshot);
	struct suppressions *s = suppressions_new();
	const struct suppressed *got;

	(void)state;
	assert_int_equal(parse(s, "leak:never\nleak:Archive\nleak:shop\n"), 0);
	got = apply(s, r);
	assert_int_equal(got->total.bytes, 130);
	assert_int_equal(got->total.count, 3);
	assert_int_equal(got->stacks, 2);
	assert_int_equal(got->count, 2);
	assert_string_equal(got->by[0].name, "Archive");
	assert_string_equal(got->by[0].file, "test.supp");
	assert_int_equal(got->by[0].line, 2);
	assert_int_equal(got->by[0].amount.bytes, 100);
	assert_int_equal(got->by[1].amount.bytes, 30);
	assert_true(r->notes[0].hidden && r->notes[1].hidden);
	assert_false(r->notes[2].hidden || r->notes[3].hidden);
	assert_int_equal(leaks_of(r).bytes, 7);
	report_drop(r);
	suppressions_free(s);
}

/* With a verdict a suppression takes the classes that it names. */
static void classes(void **state)
{
	struct stack stack = {
		.live = {15, 4},
		.verdict = {[VERDICT_DEFINITE] = {1, 1},
			    [VERDICT_INDIRECT] = {2, 1},
			    [VERDICT_POSSIBLE] = {4, 1},
			    [VERDICT_REACHABLE] = {8, 1}},
		.frames = plain,
		.frame_count = COUNT(plain),
	};
	struct snapshot snapshot = {
		.verdict.state = VERDICT_TAKEN, .stacks = &stack, .stack_count = 1};
	struct report *r = report_borrow(&snapshot);
	struct suppressions *s = suppressions_new();
	const struct suppressed *got;

	(void)state;
	assert_int_equal(parse(s, "{\na\nMemcheck:Leak\nmatch-leak-kinds: none\nfun:malloc\n}\n"
				  "{\nb\nMemcheck:Leak\nmatch-leak-kinds:definite,possible\n"
				  "fun:malloc\n}\n{\nc\nMemcheck:Leak\nmatch-leak-kinds: "
				  "definite,reachable\nfun:malloc\n}\n"),
			 0);
	got = apply(s, r);
	assert_int_equal(got->count, 2);
	assert_int_equal(got->by[0].amount.bytes, 5);
	assert_int_equal(got->by[1].amount.bytes, 8);
	assert_int_equal(got->stacks, 0);
	assert_false(r->notes[0].hidden);
	assert_int_equal(leaks_of(r).bytes, 2);
	leaks_hide_others(r);
	assert_false(r->notes[0].hidden);
	assert_int_equal(parse(s, "{\nd\nMemcheck:Leak\nfun:malloc\n}\n"), 0);
	got = apply(s, r);
	assert_int_equal(got->total.bytes, 15);
	assert_true(r->notes[0].hidden);
	assert_int_equal(leaks_of(r).count, 0);
	report_drop(r);
	suppressions_free(s);
}

static void builtin(void **state)
{
	static const struct frame buffer = {
		.function = "_IO_file_doallocate", .module = "libc.so.6", .module_path = LIBC};
	static const struct frame locale = {
		.function = "setlocale", .module = "libc.so.6", .module_path = LIBC};
	static const struct frame mine = {
		.function = "setlocale", .module = "shop", .module_path = "/srv/shop"};
	static const struct frame *const frames[][3] = {
		{&f_malloc, &buffer, &f_main},
		{&f_malloc, &locale, &f_main},
		{&f_malloc, &mine, &f_main},
	};
	struct stack stacks[] = {
		{.live = {1, 1}, .frames = frames[0], .frame_count = 3},
		{.live = {2, 1}, .frames = frames[1], .frame_count = 3},
		{.live = {4, 1}, .frames = frames[2], .frame_count = 3},
		{.live = {8, 1}, .frames = cxx, .frame_count = COUNT(cxx)},
	};
	struct snapshot snapshot = {.stacks = stacks, .stack_count = COUNT(stacks)};
	struct report *r = report_borrow(&snapshot);
	struct suppressions *s = suppressions_new();

	(void)state;
	assert_int_equal(suppressions_add_builtin(s), 0);
	assert_int_equal(apply(s, r)->total.bytes, 3);
	assert_null(r->suppressed->by[0].file);
	report_drop(r);
	suppressions_free(s);
}

/* What Debian's valgrind brings along: hundreds of suppressions of all kinds. */
static void valgrinds_own(void **state)
{
	static const char path[] = "/usr/libexec/valgrind/default.supp";
	struct suppressions *s = suppressions_new();
	FILE *file = fopen(path, "re");

	(void)state;
	if (!file) {
		suppressions_free(s);
		print_message("no valgrind\n");
		skip();
	}
	assert_int_equal(suppressions_read(s, file, path), 0);
	fclose(file);
	suppressions_free(s);
}

static void bad_frees(void **state)
{
	struct suppressions *s = suppressions_new();

	(void)state;
	assert_int_equal(parse(s, "{\nknown\nMemcheck:Free\nfun:malloc\nfun:main\n}\n"), 0);
	assert_string_equal(suppressions_match_free(s, plain, COUNT(plain)), "known");
	assert_null(suppressions_match_free(s, cxx, COUNT(cxx)));
	suppressions_free(s);
}

static void bad_accesses(void **state)
{
	struct suppressions *s = suppressions_new();

	(void)state;
	assert_int_equal(parse(s, "{\nknown\nMemcheck:Addr8\nfun:malloc\nfun:main\n}\n"
				  "{\nnot\nMemcheck:Cond\nfun:*\n}\n"),
			 0);
	assert_string_equal(suppressions_match_access(s, plain, COUNT(plain)), "known");
	assert_null(suppressions_match_access(s, cxx, COUNT(cxx)));
	/* It is neither a leak's nor a free's. */
	assert_null(suppressions_match_free(s, plain, COUNT(plain)));
	assert_int_equal(parse(s, "{\nfree\nMemcheck:Free\nfun:malloc\n}\n"), 0);
	assert_string_equal(suppressions_match_access(s, plain, COUNT(plain)), "known");
	suppressions_free(s);
}

/* glibc's own second free, at the end of a thread, with its symbol table and without. */
static void thread_caches(void **state)
{
	static const struct frame f_free = {.function = "free",
					    .module = "libc.so.6",
					    .module_path = LIBC},
				  f_shutdown = {.function = "tcache_thread_shutdown",
						.module = "libc.so.6",
						.module_path = LIBC,
						.inlined = true},
				  f_freeres = {.function = "__malloc_arena_thread_freeres",
					       .module = "libc.so.6",
					       .module_path = LIBC},
				  f_key = {.function = "__nptl_deallocate_tsd",
					   .module = "libc.so.6",
					   .module_path = LIBC},
				  f_thread = {.function = "start_thread",
					      .module = "libc.so.6",
					      .module_path = LIBC},
				  f_nameless = {.module = "libc.so.6", .module_path = LIBC};
	static const struct frame *const named[] = {&f_free, &f_shutdown, &f_freeres, &f_thread},
					 *const nameless[] = {&f_free, &f_nameless, &f_nameless,
							      &f_nameless},
					 /* pthread_key_create(&key, free) of what has been freed */
						 *const key[] = {&f_free, &f_key, &f_thread,
								 &f_nameless},
					 *const elsewhere[] = {&f_free, &f_nameless, &f_nameless,
							       &f_main};
	struct suppressions *s = suppressions_new();

	(void)state;
	assert_null(suppressions_match_free(s, nameless, COUNT(nameless)));
	assert_int_equal(suppressions_add_builtin(s), 0);
	assert_string_equal(suppressions_match_free(s, named, COUNT(named)), SUPPRESS_THREAD_CACHE);
	assert_string_equal(suppressions_match_free(s, nameless, COUNT(nameless)),
			    SUPPRESS_THREAD_CACHE);
	assert_null(suppressions_match_free(s, nameless, COUNT(nameless) - 1));
	assert_null(suppressions_match_free(s, key, COUNT(key)));
	assert_null(suppressions_match_free(s, elsewhere, COUNT(elsewhere)));
	suppressions_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wildcards),
		cmocka_unit_test(templates),
		cmocka_unit_test(valgrind_locations),
		cmocka_unit_test(valgrind_cxx),
		cmocka_unit_test(lsan_patterns),
		cmocka_unit_test(scripts),
		cmocka_unit_test(errors),
		cmocka_unit_test(accounting),
		cmocka_unit_test(classes),
		cmocka_unit_test(builtin),
		cmocka_unit_test(valgrinds_own),
		cmocka_unit_test(bad_frees),
		cmocka_unit_test(bad_accesses),
		cmocka_unit_test(thread_caches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
