// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Each option, by its row: it reaches its member of every subcommand's struct, and has its help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/cli/options_line.h"
#include "user/base/util.h"
#include "user/cli/help.h"
#include "user/cli/options_table.h"
#include "user/heap/reach.h"

/* ---- reaching ----------------------------------------------------------------------------- */

struct member_place {
	size_t at; /* offset plus 1; 0: the struct has no such member */
	size_t size;
};

struct reach_case {
	const char *name;
	const char *words;
	uint64_t number;  /* expected… */
	const char *text; /* …or this */
	struct member_place watch, replay, survey, doctor, inspect, kernel;
	unsigned is_preset;	  /* enum help_page: the value is there without the option */
	const char *survey_needs; /* words that it goes with there */
};

#define KEPT .survey_needs = "--gate --keep unit=x"

#define IN_KERNEL(m) \
	.kernel = {offsetof(struct kmem_config, m) + 1, sizeof(((struct kmem_config *)0)->m)}
#define IN(kind, m) \
	.kind = {offsetof(struct kind##_config, m) + 1, sizeof(((struct kind##_config *)0)->m)}

static const struct reach_case reach_cases[] = {
	{"at", "--at 5", 5000000000, IN(replay, times.at.ns)},
	{"from", "--from 5", 5000000000, IN(replay, times.from.ns)},
	{"to", "--to 5", 5000000000, IN(replay, times.to.ns)},
	{"pid", "-p 1", 1, .is_preset = ~0u, IN(watch, pids.count), IN(replay, pids.count),
	 IN(doctor, pids.count), IN(inspect, pids.count), IN_KERNEL(pids.count)},
	{"interval", "-i 5", 5000000000, IN(watch, pace.interval_ns), IN(survey, pace.interval_ns),
	 IN(inspect, pace.interval_ns), IN_KERNEL(pace.interval_ns)},
	{"duration", "--duration 5", 5000000000, IN(watch, pace.duration_ns),
	 IN(survey, pace.duration_ns), IN(inspect, pace.duration_ns), IN_KERNEL(pace.duration_ns)},
	{"count", "-n 5", 5, IN(watch, pace.count), IN(survey, pace.count), IN(inspect, pace.count),
	 IN_KERNEL(pace.count)},
	{"top", "-T 5", 5, IN(watch, show.top), IN(replay, show.top), IN(survey, show.top),
	 IN(inspect, show.top), IN_KERNEL(show.top)},
	{"sort", "--sort count", RANK_COUNT, IN(watch, show.sort), IN(replay, show.sort),
	 IN(inspect, show.sort)},
	{"by", "--by file", BY_FILE, IN(watch, show.by), IN(replay, show.by)},
	{"short", "--short", true, IN(watch, show.brief), IN(replay, show.brief),
	 IN(survey, show.brief)},
	{"older", "--older 5", 5000000000, IN(watch, trace.older_ns)},
	{"merge", "--merge", true, IN(watch, show.merge), IN(replay, show.merge)},
	{"format", "-f json", .text = "json", IN(watch, show.format), IN(replay, show.format),
	 IN(survey, show.format), IN(doctor, format), IN(inspect, show.format),
	 IN_KERNEL(show.format)},
	{"output", "-o x", .text = "x", IN(watch, show.output), IN(replay, show.output),
	 IN(survey, show.output), IN(inspect, show.output), IN_KERNEL(show.output)},
	{"record", "--record x", .text = "x", IN(survey, record)},
	{"sample", "-s 5", 5, IN(watch, sample_bytes), IN(survey, sample_bytes),
	 IN_KERNEL(sample_bytes)},
	{"gate", "--gate", true, IN(watch, trace.gate), IN(survey, gate)},
	{"min-size", "-z 5", 5, IN(watch, trace.min_size)},
	{"max-size", "-Z 5", 5, IN(watch, trace.max_size)},
	{"verdict", "--verdict", true, IN(watch, verdict.wanted)},
	{"inspect", "--inspect", true, IN(watch, verdict.inspect)},
	{"max-pause", "--max-pause 5", 5000000000, IN(watch, verdict.max_pause_ns),
	 IN(inspect, verdict.max_pause_ns)},
	{"snapshot", "--snapshot=fork", true, .is_preset = PAGE_INSPECT, IN(watch, verdict.by_copy),
	 IN(inspect, verdict.by_copy)},
	{"leak-check-heuristics", "--leak-check-heuristics length64,multipleinheritance",
	 REACH_LENGTH64 | REACH_MULTIPLE_INHERITANCE, IN(watch, verdict.heuristics),
	 IN(inspect, verdict.heuristics)},
	{"tagged", "--tagged", true, IN(watch, verdict.tagged), IN(inspect, verdict.tagged)},
	{"contents", "--contents 5", 5, IN(watch, verdict.contents), IN(inspect, verdict.contents)},
	{"leak-only", "--leak-only", true, IN(watch, filter.leak_only),
	 IN(replay, filter.leak_only)},
	{"error-exitcode", "--error-exitcode 5", 5, IN(watch, error_exitcode),
	 IN(inspect, error_exitcode), IN_KERNEL(error_exitcode)},
	{"suppressions", "--suppressions x", 1, IN(watch, filter.suppressions.count),
	 IN(replay, filter.suppressions.count), IN(survey, filter.suppressions.count),
	 .survey_needs = "--gate --keep unit=x --guard"},
	{"gen-suppressions", "--gen-suppressions=lsan", SUPPRESSION_LEAKSANITIZER,
	 IN(watch, show.gen_suppressions), IN(replay, show.gen_suppressions)},
	{"no-default-suppressions", "--no-default-suppressions", false,
	 IN(watch, filter.default_suppressions), IN(replay, filter.default_suppressions),
	 IN(survey, filter.default_suppressions)},
	{"lifetimes", "--lifetimes", true, IN(watch, trace.figures.lifetimes)},
	{"temporary", "--temporary", true, IN(watch, trace.figures.temporary)},
	{"peak", "--peak", true, IN(watch, trace.figures.peak)},
	{"sizes", "--sizes", true, IN(watch, trace.figures.sizes)},
	{"group", "--group size", true, IN(watch, trace.group_sizes)},
	{"usable", "--usable", true, IN(watch, trace.figures.usable)},
	{"check-frees", "--check-frees=5", 5, IN(watch, trace.check_frees)},
	{"guard", "--guard=5", 5, IN(watch, trace.guard.period), IN(survey, keep.guard.period),
	 KEPT},
	{"guard-slots", "--guard --guard-slots 8", 8, IN(watch, trace.guard.places),
	 IN(survey, keep.guard.places), KEPT},
	{"scope", "--scope f#arg1", 1, IN(watch, trace.scopes.count), IN(survey, scopes.count)},
	{"scope-only", "--scope-only --scope f", true, IN(watch, trace.scope_only)},
	{"own", "--own a* --own b", 2, IN(watch, show.own.count), IN(replay, show.own.count),
	 IN(survey, show.own.count)},
	{"not-own", "--not-own a*", 1, IN(watch, show.not_own.count),
	 IN(replay, show.not_own.count), IN(survey, show.not_own.count)},
	{"no-inlines", "--no-inlines", false, IN(watch, symbols.inlines),
	 IN(survey, symbols.inlines)},
	{"native-frames", "--native-frames", true, IN(watch, trace.native_frames)},
	{"debuginfod", "--no-debuginfod --debuginfod", true, .is_preset = ~0u,
	 IN(watch, symbols.debuginfod), IN(survey, symbols.debuginfod),
	 IN(inspect, symbols.debuginfod)},
	{"no-debuginfod", "--no-debuginfod", false, IN(watch, symbols.debuginfod),
	 IN(survey, symbols.debuginfod), IN(inspect, symbols.debuginfod)},
	{"sysroot", "--sysroot x", .text = "x", IN(inspect, sysroot)},
	{"children", "--children exact", CHILDREN_EXACT, IN(watch, trace.children)},
	{"no-follow", "--no-follow", CHILDREN_NONE, IN(watch, trace.children)},
	{"mmap", "--mmap", true, IN(watch, trace.mmap)},
	{"object", "-O x", .text = "x", IN(watch, trace.object)},
	{"symbols-prefix", "--symbols-prefix x", 1, IN(watch, trace.symbols_prefixes.count)},
	{"alloc-fn", "--alloc-fn x:1", 1, IN(watch, trace.alloc_fns.count)},
	{"realloc-fn", "--realloc-fn x:1:2", 1, IN(watch, trace.realloc_fns.count)},
	{"free-fn", "--free-fn x:1", 1, IN(watch, trace.free_fns.count)},
	{"attach", "--attach single", ATTACH_SINGLE, IN(watch, trace.attach)},
	{"stack", "--stack fp", true, IN(watch, trace.frame_pointers)},
	{"depth", "--depth 5", 5, IN(watch, trace.depth)},
	{"ask-runtime", "--ask-runtime", true, IN(watch, trace.ask_runtime)},
	{"max-live", "--max-live 5", 5, IN(watch, trace.max_live)},
	{"max-stacks", "--max-stacks 5", 5, IN(watch, trace.max_stacks), IN(survey, keep.stacks)},
	{"cgroup", "--cgroup x", .text = "x", IN(watch, select.cgroup), IN(survey, scope.cgroup),
	 IN_KERNEL(select.cgroup)},
	{"container", "--container x", .text = "x", IN(watch, select.container),
	 IN(survey, scope.container), IN_KERNEL(select.container)},
	{"container-runtime", "--container-runtime x", .text = "x", IN(survey, container_runtime)},
	{"unit", "--unit x", .text = "x", IN(watch, select.unit), IN(survey, scope.unit),
	 IN_KERNEL(select.unit)},
	{"user", "--user 5", 5, IN(survey, scope.user)},
	{"comm", "--comm x", .text = "x", IN(survey, scope.comm)},
	{"exclude", "--exclude x", .text = "x", IN(survey, scope.exclude)},
	{"suspects", "--suspects 5", 5, IN(survey, probes.suspects)},
	{"min-growth", "--min-growth 5", 5, IN(survey, probes.min_growth)},
	{"window", "--window 5", 5000000000, IN(survey, probes.window_ns)},
	{"budget", "--budget 5", 50, IN(survey, probes.budget), IN_KERNEL(budget)},
	{"no-drill", "--no-drill", false, IN(survey, probes.wanted), IN_KERNEL(drill)},
	{"keep", "--gate --keep unit=x", 1, IN(survey, keep.filters.count)},
	{"keep-rate", "--keep-rate 5", 5, IN(survey, keep.rate)},
	{"keep-processes", "--keep-processes 5", 5, IN(survey, keep.processes)},
	{"keep-live", "--keep-live 5", 5, IN(survey, keep.live)},
	{"keep-live-all", "--keep-live-all 5", 5, IN(survey, keep.live_all)},
	{"keep-memory", "--keep-memory 5", 5, IN(survey, keep.memory)},
	{"metrics", "--metrics :5", true, IN(survey, metrics.wanted)},
	{"metrics-host", "--metrics-host x", .text = "x", IN(survey, metrics.name)},
	{"metrics-processes", "--metrics-processes 5", 5, IN(survey, metrics.processes)},
	{"profiles", "--gate --keep unit=x --profiles :5", true, IN(survey, profiles.wanted)},
	{"profiles-token", "--gate --keep unit=x --profiles :5 --profiles-token x", .text = "x",
	 IN(survey, profiles.token_file)},
	{"probe", "--probe", true, IN_KERNEL(probes.at_once)},
	{"kind", "--kind pages,percpu", 1u << KERNEL_PAGES | 1u << KERNEL_PERCPU,
	 IN_KERNEL(probes.kinds)},
	{"cache", "--cache dentry,TCP --cache filp", 2, IN_KERNEL(probes.caches.count)},
	{"try", "--try", true, IN(doctor, try_load)},
	{"verbose", "-v", true, IN(watch, show.verbose), IN(replay, show.verbose),
	 IN(survey, show.verbose), IN(doctor, verbose), IN(inspect, show.verbose),
	 IN_KERNEL(show.verbose)},
};

static const struct {
	enum help_page page;
	const char *line; /* what it needs */
	const char *end;
} bases[] = {
	{PAGE_WATCH, "-p 1", ""},	    {PAGE_RECORD, "record -p 1 -o f", ""},
	{PAGE_REPORT, "report", "f"},	    {PAGE_DIFF, "diff", "f"},
	{PAGE_SURVEY, "survey", ""},	    {PAGE_DOCTOR, "doctor", ""},
	{PAGE_INSPECT, "inspect -p 1", ""}, {PAGE_TOP, "top", "-p 1"},
	{PAGE_KERNEL, "kernel", ""},
};

/* What top takes for the survey only: what chooses processes, and what a watch does not have. */
static bool is_of_survey(const struct reach_case *c)
{
	return !c->watch.at || !strcmp(c->name, "cgroup") || !strcmp(c->name, "container") ||
	       !strcmp(c->name, "unit");
}

/* Of its two structs the one that has it. */
static struct member_place place_in_top(const struct reach_case *c)
{
	struct member_place place = c->survey;

	if (!is_of_survey(c))
		return c->watch;
	place.at += place.at ? offsetof(struct top_config, survey) : 0;
	return place;
}

static struct member_place place_in(const struct reach_case *c, enum help_page page)
{
	switch (page) {
	case PAGE_WATCH:
	case PAGE_RECORD:
		return c->watch;
	case PAGE_TOP:
		return place_in_top(c);
	case PAGE_REPORT:
	case PAGE_DIFF:
		return c->replay;
	case PAGE_SURVEY:
		return c->survey;
	case PAGE_INSPECT:
		return c->inspect;
	case PAGE_KERNEL:
		return c->kernel;
	default:
		return c->doctor;
	}
}

static bool has_value(const struct reach_case *c, const struct options *options,
		      struct member_place place)
{
	const char *member = (const char *)&options->config + place.at - 1, *text;
	uint64_t number = 0;

	if (!c->text) {
		memcpy(&number, member, place.size); /* little-endian, as all that we run on */
		return number == c->number;
	}
	memcpy(&text, member, sizeof(text));
	if (text && !strcmp(c->name, "format"))
		text = ((const struct exporter_format *)text)->name;
	return text && !strcmp(text, c->text);
}

static void check_reaches(const struct reach_case *c, size_t base)
{
	struct member_place place = place_in(c, bases[base].page);
	/* Without -p it is the survey, which has options of its own. */
	bool survey = bases[base].page == PAGE_TOP && is_of_survey(c);
	const char *end = survey ? "" : bases[base].end;
	const struct options *options;
	char line[256];

	if (!place.at)
		fail_msg("--%s has no place in the struct of '%s'", c->name, bases[base].line);
	snprintf(line, sizeof(line), "%s %s", bases[base].line, end);
	options = parse_good(line);
	if (!(c->is_preset & bases[base].page) && has_value(c, options, place))
		fail_msg("'%s' has the value of '%s' already", line, c->words);
	options_free(options);
	snprintf(line, sizeof(line), "%s %s %s %s", bases[base].line, c->words,
		 bases[base].page == PAGE_SURVEY && c->survey_needs ? c->survey_needs : "", end);
	options = parse_good(line);
	if (!has_value(c, options, place))
		fail_msg("'%s' does not reach its member", line);
	options_free(options);
}

static void every_option_reaches_its_member(void **state)
{
	(void)state;
	assert_int_equal(setenv("DEBUGINFOD_URLS", "https://debuginfod.example", 1), 0);
	for (size_t i = 0, j = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (!strcmp(row->name, "version") || !strcmp(row->name, "help") ||
		    !strcmp(row->name, "no-config"))
			continue;
		if (j == ARRAY_SIZE(reach_cases) || strcmp(reach_cases[j].name, row->name) != 0)
			fail_msg("--%s: no case here, or not in the table's order", row->name);
		for (size_t b = 0; b < ARRAY_SIZE(bases); b++) {
			if (row->commands & bases[b].page)
				check_reaches(&reach_cases[j], b);
		}
		j++;
	}
	assert_int_equal(unsetenv("DEBUGINFOD_URLS"), 0);
}

/* ---- help --------------------------------------------------------------------------------- */

static char *print_page(const struct command *command, enum help_page page)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(help_print(out, cli_commands, command, page), 0);
	fclose(out);
	return text;
}

static void check_size(const char *page, int max_lines)
{
	int lines = 0;

	for (const char *line = page; *line; lines++) {
		size_t width = strcspn(line, "\n");

		if (width > 80)
			fail_msg("wider than a screen: %.*s", (int)width, line);
		if (width && line[width - 1] == ' ')
			fail_msg("a blank at the end: %.*s", (int)width, line);
		assert_int_equal(line[width], '\n');
		line += width + 1;
	}
	if (lines > max_lines)
		fail_msg("longer than a screen, %d lines: %s", lines, page);
}

/* On this page, as "--name" or "-n" that is no other option's beginning. */
static bool mentions(const char *page, const struct option_row *row)
{
	char name[64], letter[] = {'-', row->letter, '\0'};

	snprintf(name, sizeof(name), "--%s", row->name);
	for (const char *at = page; (at = strstr(at, name)) != NULL; at++) {
		if (!strchr("-abcdefghijklmnopqrstuvwxyz", at[strlen(name)]))
			return true;
	}
	return row->letter && strstr(page, letter);
}

#define SCREEN 24 /* lines that every terminal has */

/* The topics of a subcommand, one behind the other: each fits a screen. */
static char *print_topics(unsigned topics)
{
	char *all = calloc(1, 1);

	assert_non_null(all);
	for (unsigned page = 1; page <= topics; page <<= 1) {
		_cleanup_free_ char *before = all, *text = NULL;

		if (!(page & topics)) {
			before = NULL;
			continue;
		}
		text = print_page(&cli_commands[0], (enum help_page)page);
		assert_non_null(strstr(text, "Examples:"));
		check_size(text, SCREEN);
		assert_true(asprintf(&all, "%s%s", before, text) > 0);
	}
	return all;
}

/*
 * What a subcommand takes is on its own page or, for those whose page ends with "More options", on
 * one that it names.
 */
static void pages_fit_a_screen_and_are_complete(void **state)
{
	_cleanup_free_ char *main_page = print_page(&cli_commands[0], PAGE_WATCH);
	_cleanup_free_ char *topics = print_topics(PAGES_WATCH_TOPICS);
	_cleanup_free_ char *survey_topics = print_topics(PAGES_SURVEY_TOPICS);
	_cleanup_free_ char *survey = print_page(command_named("survey"), PAGE_SURVEY);

	(void)state;
	for (const struct command *c = cli_commands; c->run; c++) {
		_cleanup_free_ char *page = print_page(c, c->page);
		_cleanup_free_ char *all = NULL;

		assert_non_null(strstr(page, "Examples:"));
		/* The two that have most to say scroll. */
		check_size(page, c->page == PAGE_SURVEY || c->page == PAGE_WATCH ? 40 : SCREEN);
		assert_true(asprintf(&all, "%s%s%s%s%s", page,
				     strstr(page, "memleakbpf --help,") ? main_page : "",
				     strstr(page, "--help=") ? topics : "",
				     c->page == PAGE_SURVEY ? survey_topics : "",
				     strstr(page, "memleakbpf survey --help,") ? survey : "") > 0);
		for (size_t i = 0; i < option_row_count; i++) {
			const struct option_row *row = &option_rows[i];

			if (row->commands & c->page && !mentions(all, row))
				fail_msg("--%s is missing in: %s", row->name, all);
		}
	}
}

static bool begins_with_word(const char *text, const char *word)
{
	return !strncmp(text, word, strlen(word)) &&
	       !strchr("abcdefghijklmnopqrstuvwxyz0123456789", text[strlen(word)]);
}

/* The preset of a row stands in the text that the pages have for it, if it has one. */
static void check_preset(const struct option_row *row, const struct option_text *text)
{
	const char *preset = text->preset ? text->preset : row->preset;

	/* The examples of a value need not be the preset. */
	if (!preset || text->argument || text->with_next || strstr(text->text, "{default}") ||
	    strstr(text->text, "{values}"))
		return;
	for (const char *at = text->text; *at; at++) {
		if (begins_with_word(at, preset))
			return;
	}
	fail_msg("--%s: '%s' does not say %s", row->name, text->text, preset);
}

static void texts_are_for_those_who_take_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		assert_false(row->commands & row->refused_by);
		assert_true(!row->refused_by == !row->refusal);
		for (size_t j = 0; j < OPTION_TEXTS_MAX && row->texts[j].pages; j++) {
			unsigned pages = row->texts[j].pages;

			if (pages & PAGES_WATCH_TOPICS)
				assert_true(row->commands & PAGE_WATCH);
			if (pages & PAGES_SURVEY_TOPICS)
				assert_true(row->commands & PAGE_SURVEY);
			if (pages & ~PAGES_WATCH_TOPICS & ~PAGES_SURVEY_TOPICS & ~row->commands)
				fail_msg("--%s: help for those who do not take it", row->name);
			check_preset(row, &row->texts[j]);
		}
	}
}

static void lists_for_programs(void **state)
{
	_cleanup_free_ char *watch = print_page(&cli_commands[0], PAGE_OPTIONS);
	_cleanup_free_ char *doctor = print_page(command_named("doctor"), PAGE_OPTIONS);

	(void)state;
	assert_string_equal(
		doctor, "-p, --pid PID[,PID...]\talso what would be traced in these processes, "
			"and how\n"
			"-f, --format text|json\ttext or json: one object about the machine, "
			"without -p\n"
			"--try\talso load all programs, as a real trace does\n"
			"-v, --verbose\tmore detail\n"
			"--no-config\n"
			"--version\n"
			"-h, --help[=select|leaks|checks|figures|scopes|stacks|probes|keep|serve|"
			"options]\n");
	assert_non_null(
		strstr(watch, "\n--attach auto|session|multi|single|usdt|gate\tkind of probe: "));
	assert_non_null(strstr(watch, "\n--check-frees[=N]\tdouble, "));
	assert_non_null(strstr(watch, "\n--mmap\ttrace mmap and munmap as well\n"));
	/* What shares a line of --help has its text as well. */
	assert_non_null(strstr(watch, "\n-z, --min-size SIZE\ttrace only blocks of these sizes\n"));
	/* Between them is one of the survey's, whose text is its own. */
	assert_non_null(strstr(watch, "\n--cgroup PATH\tprocesses that match, later ones too\n"));
	assert_non_null(
		strstr(watch, "\n--container NAME\tprocesses that match, later ones too\n"));
	assert_null(strstr(watch, "--metrics"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_option_reaches_its_member),
		cmocka_unit_test(pages_fit_a_screen_and_are_complete),
		cmocka_unit_test(texts_are_for_those_who_take_it),
		cmocka_unit_test(lists_for_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
