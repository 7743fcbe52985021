// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <sys/mman.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpf/abi.h"
#include "tests/unit/cli/options_line.h"
#include "user/base/util.h"
#include "user/cli/help.h"
#include "user/heap/reach.h"

/* What was written to standard error while reading the line; free() it. */
static char *parse_bad(const char *line)
{
	const struct options *options = NULL;
	char *text = calloc(1, 4096);
	int saved, file, err;
	ssize_t n;

	assert_non_null(text);
	fflush(stderr);
	saved = dup(STDERR_FILENO);
	file = memfd_create("stderr", MFD_CLOEXEC);
	assert_true(saved >= 0 && file >= 0);
	assert_int_equal(dup2(file, STDERR_FILENO), STDERR_FILENO);
	err = parse(line, &options);
	fflush(stderr);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	close(saved);
	n = pread(file, text, 4095, 0);
	assert_true(n >= 0);
	close(file);
	if (err != -EINVAL || options)
		fail_msg("'%s' gave %d instead of a refusal", line, err);
	return text;
}

static void defaults(void **state)
{
	const struct options *o = parse_good("-p 12");

	(void)state;
	assert_ptr_equal(o->command, &cli_commands[0]);
	assert_int_equal(o->action, ACTION_RUN);
	assert_int_equal(o->config.watch.pids.count, 1);
	assert_int_equal(o->config.watch.pids.pids[0], 12);
	assert_null(o->config.watch.argv);
	assert_true(o->config.watch.pace.interval_ns == 10000000000ULL);
	assert_int_equal(o->config.watch.pace.count, 0);
	assert_int_equal(o->config.watch.trace.min_size, 0);
	assert_true(o->config.watch.trace.max_size == UINT64_MAX);
	assert_int_equal(o->config.watch.sample_bytes, 0);
	assert_int_equal(o->config.watch.trace.attach, ATTACH_AUTO);
	assert_int_equal(o->config.watch.trace.frame_pointers, false);
	assert_int_equal(o->config.watch.trace.depth, ABI_MAX_FRAMES);
	assert_int_equal(o->config.watch.trace.children, CHILDREN_LATE);
	assert_int_equal(o->config.watch.trace.max_live, 2097152);
	assert_int_equal(o->config.watch.trace.max_stacks, 65536);
	assert_int_equal(o->config.watch.show.top, 10);
	assert_int_equal(o->config.watch.trace.older_ns, 0);
	assert_int_equal(o->config.watch.show.sort, RANK_LIVE);
	assert_string_equal(o->config.watch.show.format->name, "text");
	assert_null(o->config.watch.show.output);
	assert_null(o->config.watch.trace.object);
	assert_null(o->config.watch.trace.symbols_prefixes.items);
	assert_null(o->config.watch.trace.alloc_fns.items);
	assert_null(o->config.watch.trace.free_fns.items);
	assert_true(o->config.watch.symbols.inlines);
	assert_false(o->config.watch.trace.mmap);
	assert_false(o->config.watch.symbols.debuginfod);
	assert_int_equal(o->config.watch.error_exitcode, 0);
	assert_false(o->config.watch.verdict.wanted);
	assert_true(o->config.watch.verdict.max_pause_ns == 500000000);
	assert_int_equal(o->config.watch.verdict.by_copy, false);
	assert_int_equal(o->config.watch.verdict.heuristics, REACH_ALL);
	assert_false(o->config.watch.verdict.tagged);
	assert_int_equal(o->verbose, 0);
	options_free(o);
}

static void every_short_option(void **state)
{
	const struct options *o =
		parse_good("-p 1,2 -p 3 -p 2 -i 500ms -n 3 -T 5 -z 64k -Z 1M -s 512k "
			   "-f json -o out.json -O libfoo.so -vv");

	(void)state;
	assert_int_equal(o->config.watch.pids.count, 3);
	assert_int_equal(o->config.watch.pids.pids[2], 3);
	assert_true(o->config.watch.pace.interval_ns == 500000000);
	assert_int_equal(o->config.watch.pace.count, 3);
	assert_int_equal(o->config.watch.show.top, 5);
	assert_int_equal(o->config.watch.trace.min_size, 65536);
	assert_int_equal(o->config.watch.trace.max_size, 1048576);
	assert_int_equal(o->config.watch.sample_bytes, 524288);
	assert_string_equal(o->config.watch.show.format->name, "json");
	assert_string_equal(o->config.watch.show.output, "out.json");
	assert_string_equal(o->config.watch.trace.object, "libfoo.so");
	assert_int_equal(o->verbose, 2);
	options_free(o);
}

static void every_long_option(void **state)
{
	const struct options *o = parse_good(
		"--pid=7 --interval=2s --count 4 --top=1 --min-size=1 --max-size=1 --older 5m "
		"--sort growth --no-inlines --attach multi --stack fp --depth 2 --mmap "
		"--children exact --max-live 10 --max-stacks 20 --error-exitcode 255 --verdict "
		"--max-pause 50ms --leak-check-heuristics stdstring,newarray --tagged --contents "
		"64 --snapshot=fork "
		"--suppressions a --suppressions=b --no-default-suppressions "
		"--gen-suppressions=lsan");

	(void)state;
	assert_int_equal(o->config.watch.pids.pids[0], 7);
	assert_true(o->config.watch.pace.interval_ns == 2000000000ULL);
	assert_int_equal(o->config.watch.pace.count, 4);
	assert_int_equal(o->config.watch.show.top, 1);
	assert_int_equal(o->config.watch.trace.min_size, 1);
	assert_int_equal(o->config.watch.trace.max_size, 1);
	assert_true(o->config.watch.trace.older_ns == 300000000000ULL);
	assert_int_equal(o->config.watch.show.sort, RANK_GROWTH);
	assert_false(o->config.watch.symbols.inlines);
	assert_int_equal(o->config.watch.trace.attach, ATTACH_MULTI);
	assert_int_equal(o->config.watch.trace.frame_pointers, true);
	assert_int_equal(o->config.watch.trace.depth, 2);
	assert_true(o->config.watch.trace.mmap);
	assert_int_equal(o->config.watch.trace.children, CHILDREN_EXACT);
	assert_int_equal(o->config.watch.trace.max_live, 10);
	assert_int_equal(o->config.watch.trace.max_stacks, 20);
	assert_int_equal(o->config.watch.error_exitcode, 255);
	assert_true(o->config.watch.verdict.wanted);
	assert_true(o->config.watch.verdict.max_pause_ns == 50000000);
	assert_int_equal(o->config.watch.verdict.heuristics, REACH_STDSTRING | REACH_NEWARRAY);
	assert_true(o->config.watch.verdict.tagged);
	assert_int_equal(o->config.watch.verdict.contents, 64);
	assert_int_equal(o->config.watch.verdict.by_copy, true);
	assert_false(o->config.watch.filter.leak_only);
	assert_int_equal(o->config.watch.filter.suppressions.count, 2);
	assert_string_equal(o->config.watch.filter.suppressions.items[1], "b");
	assert_null(o->config.watch.filter.suppressions.items[2]);
	assert_false(o->config.watch.filter.default_suppressions);
	assert_int_equal(o->config.watch.show.gen_suppressions, SUPPRESSION_LEAKSANITIZER);
	options_free(o);
}

static void suppression_options(void **state)
{
	const struct options *o = parse_good("-p 1 --gen-suppressions --leak-only");

	(void)state;
	assert_int_equal(o->config.watch.show.gen_suppressions, SUPPRESSION_VALGRIND);
	assert_true(o->config.watch.filter.leak_only && o->config.watch.verdict.wanted);
	assert_int_equal(o->config.watch.trace.check_frees, 0);
	assert_true(o->config.watch.filter.default_suppressions);
	assert_null(o->config.watch.filter.suppressions.items);
	options_free(o);
}

static void check_frees(void **state)
{
	const struct options *o = parse_good("-p 1 --check-frees");

	(void)state;
	assert_int_equal(o->config.watch.trace.check_frees, 65536);
	options_free(o);
	o = parse_good("-p 1 --check-frees=100");
	assert_int_equal(o->config.watch.trace.check_frees, 100);
	options_free(o);
}

static void guard(void **state)
{
	const struct options *o = parse_good("-p 1");

	(void)state;
	assert_int_equal(o->config.watch.trace.guard.period, 0);
	options_free(o);
	o = parse_good("-p 1 --guard -s 64k");
	assert_int_equal(o->config.watch.trace.guard.period, 10000);
	assert_int_equal(o->config.watch.trace.guard.places, 512);
	options_free(o);
	o = parse_good("-p 1 --guard --gate");
	assert_int_equal(o->config.watch.trace.guard.period, 10000);
	assert_true(o->config.watch.trace.gate);
	options_free(o);
	o = parse_good("record -o f --guard=1 --guard-slots=4096 -- x");
	assert_int_equal(o->config.watch.trace.guard.period, 1);
	assert_int_equal(o->config.watch.trace.guard.places, 4096);
	options_free(o);
}

static void repeated_texts(void **state)
{
	const struct options *o =
		parse_good("-p 1 --symbols-prefix je_ --symbols-prefix my_ --alloc-fn pool_get:2 "
			   "--alloc-fn arr:1:2 --free-fn pool_put:1");

	(void)state;
	assert_int_equal(o->config.watch.trace.symbols_prefixes.count, 2);
	assert_string_equal(o->config.watch.trace.symbols_prefixes.items[0], "je_");
	assert_string_equal(o->config.watch.trace.symbols_prefixes.items[1], "my_");
	assert_null(o->config.watch.trace.symbols_prefixes.items[2]);
	assert_int_equal(o->config.watch.trace.alloc_fns.count, 2);
	assert_string_equal(o->config.watch.trace.alloc_fns.items[1], "arr:1:2");
	assert_null(o->config.watch.trace.alloc_fns.items[2]);
	assert_int_equal(o->config.watch.trace.free_fns.count, 1);
	assert_string_equal(o->config.watch.trace.free_fns.items[0], "pool_put:1");
	options_free(o);
}

static void commands_to_run(void **state)
{
	const struct options *o = parse_good("-v -- ls -l -p 3 --help");

	(void)state;
	assert_string_equal(o->config.watch.argv[0], "ls");
	assert_string_equal(o->config.watch.argv[4], "--help");
	assert_null(o->config.watch.argv[5]);
	assert_int_equal(o->config.watch.pids.count, 0);
	assert_int_equal(o->verbose, 1);
	assert_int_equal(o->config.watch.trace.children, CHILDREN_EXACT);
	assert_int_equal(o->config.watch.pace.interval_ns, 0);
	options_free(o);

	/* Without dashes the first word ends the options, as in env(1) or timeout(1). */
	o = parse_good("-i 1 ls -n 3");
	assert_string_equal(o->config.watch.argv[1], "-n");
	assert_true(o->config.watch.pace.interval_ns == 1000000000);
	assert_int_equal(o->config.watch.pace.count, 0);
	options_free(o);

	o = parse_good("-n 3 ls");
	assert_true(o->config.watch.pace.interval_ns == 10000000000ULL);
	options_free(o);

	o = parse_good("-- doctor");
	assert_string_equal(o->config.watch.argv[0], "doctor");
	assert_ptr_equal(o->command, &cli_commands[0]);
	options_free(o);

	o = parse_good("-- 123");
	assert_string_equal(o->config.watch.argv[0], "123");
	options_free(o);

	o = parse_good("--children late -- ls");
	assert_int_equal(o->config.watch.trace.children, CHILDREN_LATE);
	options_free(o);

	o = parse_good("--no-follow --children none -- ls");
	assert_int_equal(o->config.watch.trace.children, CHILDREN_NONE);
	options_free(o);
}

static void subcommands(void **state)
{
	const struct options *o = parse_good("doctor -p 4 -v");

	(void)state;
	assert_ptr_equal(o->command, command_named("doctor"));
	assert_int_equal(o->config.doctor.pids.pids[0], 4);
	assert_int_equal(o->verbose, 1);
	options_free(o);
	o = parse_good("doctor");
	assert_int_equal(o->config.doctor.pids.count, 0);
	options_free(o);
	o = parse_good("doctor -h");
	assert_int_equal(o->action, ACTION_HELP);
	assert_ptr_equal(o->command, command_named("doctor"));
	options_free(o);
	/* Help and version need nothing else, and come before what would be wrong behind them. */
	o = parse_good("--version -p");
	assert_int_equal(o->action, ACTION_VERSION);
	options_free(o);
	o = parse_good("--help");
	assert_int_equal(o->action, ACTION_HELP);
	assert_int_equal(o->help_page, PAGE_WATCH);
	options_free(o);
	o = parse_good("--help=probes");
	assert_int_equal(o->action, ACTION_HELP);
	assert_int_equal(o->help_page, PAGE_PROBES);
	options_free(o);
}

static void output_dash(void **state)
{
	const struct options *o = parse_good("-p 1 -o x -o -");

	(void)state;
	assert_null(o->config.watch.show.output);
	options_free(o);
}

static void debuginfod_variable(void **state)
{
	const struct options *o;

	(void)state;
	assert_int_equal(setenv("DEBUGINFOD_URLS", "https://debuginfod.example", 1), 0);
	o = parse_good("-p 1");
	assert_true(o->config.watch.symbols.debuginfod);
	options_free(o);
	o = parse_good("-p 1 --no-debuginfod");
	assert_false(o->config.watch.symbols.debuginfod);
	options_free(o);
	o = parse_good("-p 1 --no-debuginfod --debuginfod");
	assert_true(o->config.watch.symbols.debuginfod);
	options_free(o);
	assert_int_equal(setenv("DEBUGINFOD_URLS", "", 1), 0);
	o = parse_good("-p 1");
	assert_false(o->config.watch.symbols.debuginfod);
	options_free(o);
	assert_int_equal(unsetenv("DEBUGINFOD_URLS"), 0);
}

struct bad_case {
	const char *line;
	const char *says; /* must be part of the one line */
};

static const struct bad_case bad_cases[] = {
	{"", "nothing to trace; give -p PID or -- COMMAND"},
	{"-v", "nothing to trace"},
	{"--", "--: a COMMAND must follow"},
	{"-- ''", "empty COMMAND"},
	{"-p 1 -- ls", "-p: excludes running a COMMAND ('ls')"},
	{"-p 12 34", "'34': looks like one more PID; separate them by commas"},
	{"34", "'34': looks like a PID; give -p 34"},
	{"-v doctor", "'doctor': a subcommand comes before all options; give memleakbpf doctor"},
	{"-p", "-p: needs a value; give e.g. 1234"},
	{"--pid", "--pid: needs a value"},
	{"-p 1 -f", "-f: needs a value"},
	{"-p 1abc", "-p: '1abc' is not a PID"},
	{"-p 0", "-p: '0' is not a PID"},
	{"-p -1", "-p: '-1' is not a PID"},
	{"-p 1,,2", "-p: '1,,2' is not a PID"},
	{"-p ''", "-p: '' is not a PID"},
	{"--pid 99999999999", "--pid: '99999999999' is not a PID"},
	{"-p 1 -i abc",
	 "-i: 'abc' is not a duration (10ms to 1 year); give e.g. 10, 500ms, 2s, 5m"},
	{"-p 1 --interval abc", "--interval: 'abc' is not a duration"},
	{"-p 1 -i 0", "-i: '0' is not a duration"},
	{"-p 1 -i -5", "-i: '-5' is not a duration"},
	{"-p 1 -i 1ms", "-i: '1ms' is not a duration"},
	{"-p 1 -i 99999999999999999999", "is not a duration"},
	{"-p 1 -i 9000h", "-i: '9000h' is not a duration"},
	{"-p 1 --older old", "--older: 'old' is not a duration"},
	{"-p 1 --older 0", "--older: '0' is not a duration"},
	{"-p 1 -n 0", "-n: '0' is not a number of snapshots"},
	{"-p 1 -n 1.5", "-n: '1.5' is not a number of snapshots"},
	{"-p 1 -T 0", "-T: '0' is not a number of stacks"},
	{"-p 1 -T many", "-T: 'many' is not a number of stacks"},
	{"-p 1 -z big", "-z: 'big' is not a size"},
	{"-p 1 -z -1", "-z: '-1' is not a size"},
	{"-p 1 -z 99999999999T", "is not a size"},
	{"-p 1 -Z 0", "-Z: '0' is not a size"},
	{"-p 1 -z 64k -Z 4096", "-Z: 4096 is below -z 65536"},
	{"-p 1 -s 0", "-s: '0' is not a sampling rate"},
	{"-p 1 -s 2G", "-s: '2G' is not a sampling rate"},
	{"-p 1 -f xml", "-f: 'xml' is not a format; give one of text, json"},
	{"-p 1 -o ''", "-o: '' is not a file name"},
	{"-p 1 --sort size", "--sort: 'size' is not an order; give one of live, alloc"},
	{"-p 1 --merge --verdict", "--merge: excludes --verdict"},
	{"-p 1 --merge --inspect", "--merge: excludes --inspect"},
	{"-p 1 --inspect -f folded",
	 "--inspect: -f folded has no place for it; give one of text, json"},
	{"-p 1 --inspect --mmap", "--inspect: excludes --mmap"},
	{"-p 1 --merge --check-frees", "--merge: excludes --check-frees"},
	{"-p 1 --merge=yes", "--merge"},
	{"-p 1 --attach fast",
	 "--attach: 'fast' is not a way to attach; give one of auto, session"},
	{"-p 1 --stack lbr", "--stack: 'lbr' is not a way"},
	{"-p 1 --depth 1", "--depth: '1' is not a number of frames; give 2 to 128"},
	{"-p 1 --depth 129", "--depth: '129'"},
	{"-p 1 -O ''", "-O: '' is not an object"},
	{"-p 1 --symbols-prefix ''", "--symbols-prefix: '' is not a prefix"},
	{"-p 1 --alloc-fn foo", "--alloc-fn: 'foo' is not NAME:SIZEARG"},
	{"-p 1 --alloc-fn foo:0", "--alloc-fn: 'foo:0' is not NAME:SIZEARG"},
	{"-p 1 --alloc-fn foo:7", "--alloc-fn: 'foo:7'"},
	{"-p 1 --alloc-fn foo:1:2:3", "--alloc-fn: 'foo:1:2:3'"},
	{"-p 1 --alloc-fn foo:1:2:out=7", "--alloc-fn: 'foo:1:2:out=7' is not NAME:SIZEARG"},
	{"-p 1 --alloc-fn foo:1:out=", "--alloc-fn: 'foo:1:out='"},
	{"-p 1 --alloc-fn foo:1:out=2:ok=x", "--alloc-fn: 'foo:1:out=2:ok=x'"},
	{"-p 1 --alloc-fn foo:1:out=2:ok=4294967296", "--alloc-fn: 'foo:1:out=2:ok=4294967296'"},
	{"-p 1 --alloc-fn foo:1:ok=0", "--alloc-fn: 'foo:1:ok=0'"},
	{"-p 1 --realloc-fn foo:1", "--realloc-fn: 'foo:1' is not NAME:PTRARG:SIZEARG"},
	{"-p 1 --realloc-fn foo:1:2:3:4", "--realloc-fn: 'foo:1:2:3:4'"},
	{"-p 1 --free-fn :1", "--free-fn: ':1' is not NAME:PTRARG"},
	{"-p 1 --free-fn foo:1:2", "--free-fn: 'foo:1:2'"},
	{"-p 1 --children some", "--children: 'some' is not a way to follow children"},
	{"-p 1 --no-follow --children late", "--children: contradicts an earlier"},
	{"-p 1 --children late --no-follow", "--no-follow: contradicts an earlier"},
	{"-p 1 --max-live 0", "--max-live: '0' is not a number of blocks"},
	{"-p 1 --max-live 268435457", "--max-live: '268435457'"},
	{"-p 1 --max-stacks 4294967297", "--max-stacks: '4294967297'"},
	{"-p 1 --error-exitcode 0", "--error-exitcode: '0' is not an exit status; give 1 to 255"},
	{"-p 1 --contents 4097", "--contents: '4097' is not a number of bytes"},
	{"-p 1 --snapshot vfork", "--snapshot: 'vfork' is not a way to take a verdict"},
	{"-p 1 --max-pause 0", "--max-pause: '0' is not a duration"},
	{"-p 1 --leak-check-heuristics newarray,x", "--leak-check-heuristics: 'newarray,x' is not"},
	{"-p 1 --leak-check-heuristics newarray,", "--leak-check-heuristics: 'newarray,' is not"},
	{"-p 1 --leak-check-heuristics ''", "--leak-check-heuristics: '' is not"},
	{"-p 1 --sort liv", "--sort: 'liv' is not an order"},
	{"diff a b --leak-only", "--leak-only: diff shows what changed; give it to report"},
	{"diff a --at 5", "--at: diff compares two times"},
	{"-p 1 --error-exitcode 256", "--error-exitcode: '256'"},
	{"-p 1 --check-frees=0", "--check-frees: '0' is not a number"},
	{"-p 1 --check-frees -s 64k", "--check-frees: needs every block to be known"},
	{"-p 1 --guard=0", "--guard: '0' is not a number of allocations; give 1 to 1000000000"},
	{"-p 1 --guard=1000000001", "--guard: '1000000001' is not"},
	{"-p 1 --guard --guard-slots 4",
	 "--guard-slots: '4' is not a number of pages; give a power"},
	{"-p 1 --guard --guard-slots 100", "--guard-slots: '100' is not a power of two"},
	{"-p 1 --guard-slots 64", "--guard-slots: nothing is guarded; give --guard as well"},
	{"-p 1 --guard --attach usdt", "--guard: does not go with --attach usdt"},
	{"top -p 1 --guard", "--guard"},
	{"--help=me", "--help: 'me' is not a topic; give select, leaks, checks, figures, scopes, "
		      "stacks, probes, keep, serve or options"},
	{"-p 1 --suppressions=", "--suppressions: '' is not a file name"},
	{"-p 1 --gen-suppressions=gcc",
	 "--gen-suppressions: 'gcc' is not a format of suppressions"},
	{"-p 1 --debuginfod", "--debuginfod: DEBUGINFOD_URLS is not set"},
	{"-p 1 --intervall 3", "--intervall: unknown option; did you mean --interval?"},
	{"-p 1 --sorted=live", "--sorted=live: unknown option; did you mean --sort?"},
	{"-p 1 --max",
	 "--max: ambiguous option; did you mean one of --max-size, --max-pause, --max-live, "
	 "--max-stacks?"},
	{"-p 1 --frobnicate", "--frobnicate: unknown option; see memleakbpf --help"},
	{"-p 1 --aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	 "unknown option; see"},
	{"-p 1 -x", "-x: unknown option; see memleakbpf --help"},
	{"-p 1 -vx", "-x: unknown option"},
	{"-p 1 --mmap=yes", "--mmap: takes no value"},
	{"doctor -f folded", "-f: doctor has no format 'folded'; give text or json"},
	{"doctor -f json -p 1", "-f: json says nothing of processes; leave -p out"},
	{"doctor -i 3", "-i: not an option of 'memleakbpf doctor'; see memleakbpf doctor --help"},
	{"doctor foo", "'foo': memleakbpf doctor takes no such argument"},
	{"doctor --intervall 3", "--intervall: unknown option; see memleakbpf doctor"},
};

static void refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad_cases); i++) {
		_cleanup_free_ char *said = parse_bad(bad_cases[i].line);
		const char *newline = strchr(said, '\n');

		if (!strstr(said, bad_cases[i].says))
			fail_msg("'%s' said: %s", bad_cases[i].line, said);
		if (strncmp(said, "memleakbpf: ", 12) || !newline || newline[1])
			fail_msg("'%s' is not one line of ours: %s", bad_cases[i].line, said);
	}
}

static void hostile_words(void **state)
{
	_cleanup_free_ char *said = parse_bad("-p \x1b[31m\x07");

	(void)state;
	assert_null(strchr(said, '\x1b'));
	assert_null(strchr(said, '\x07'));
}

static void help_to_full_disk(void **state)
{
	_cleanup_fclose_ FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(full);
	assert_int_equal(help_print(full, cli_commands, &cli_commands[0], PAGE_WATCH), -ENOSPC);
	/* The longest, which is more than a buffer. */
	assert_int_equal(help_print(full, cli_commands, &cli_commands[0], PAGE_OPTIONS), -ENOSPC);
}

static void version(void **state)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_non_null(out);
	assert_int_equal(help_print_version(out), 0);
	fclose(out);
	assert_string_equal(text, "memleakbpf " MEMLEAKBPF_VERSION "\n");
}

static int forget_environment(void **state)
{
	(void)state;
	return unsetenv("DEBUGINFOD_URLS");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(every_short_option),
		cmocka_unit_test(suppression_options),
		cmocka_unit_test(check_frees),
		cmocka_unit_test(guard),
		cmocka_unit_test(every_long_option),
		cmocka_unit_test(repeated_texts),
		cmocka_unit_test(commands_to_run),
		cmocka_unit_test(subcommands),
		cmocka_unit_test(output_dash),
		cmocka_unit_test(debuginfod_variable),
		cmocka_unit_test(refusals),
		cmocka_unit_test(hostile_words),
		cmocka_unit_test(help_to_full_disk),
		cmocka_unit_test(version),
	};

	return cmocka_run_group_tests(tests, forget_environment, NULL);
}
