// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The options: each is one row. Pages of --help keep this order. */
#include "user/cli/options_table.h"

#include "bpf/abi.h"
#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/heap/reach.h"

#define NS_PER_YEAR (365 * NS_PER_DAY)

/*
 * Above this a sample says nothing about any process, and the sampler's fixed-point arithmetic
 * ends.
 */
#define MAX_SAMPLE_BYTES (1ULL << 30)

static const char expected_time[] =
	"is not a time; give one since the recording's beginning (90s, 5m, 0) or a date "
	"(2026-01-02T03:04:05, with Z for UTC)";

/* One time has a name. */
static const struct option_choice at_choices[] = {
	{"peak", true},
	{NULL, 0},
};

static const struct option_choice group_choices[] = {
	{"stack", false},
	{"size", true},
	{NULL, 0},
};

static const struct option_choice attach_choices[] = {
	{"auto", ATTACH_AUTO},
	{"session", ATTACH_SESSION},
	{"multi", ATTACH_MULTI},
	{"single", ATTACH_SINGLE},
	{"usdt", ATTACH_USDT},
	{"gate", ATTACH_GATE},
	{NULL, 0},
};

static const struct option_choice stack_choices[] = {
	{"auto", false},
	{"dwarf", false},
	{"fp", true},
	{NULL, 0},
};

static const struct option_choice sort_choices[] = {
	{"live", RANK_LIVE},
	{"alloc", RANK_ALLOC},
	{"growth", RANK_GROWTH},
	{"count", RANK_COUNT},
	{"suspect", RANK_SUSPECT},
	{"lifetime", RANK_LIFETIME},
	{"temporary", RANK_TEMPORARY},
	{"peak", RANK_PEAK},
	{"age", RANK_AGE},
	{"rate", RANK_RATE},
	{NULL, 0},
};

static const struct option_choice heuristics_choices[] = {
	{"all", REACH_ALL},
	{"none", 0},
	{"stdstring", REACH_STDSTRING},
	{"length64", REACH_LENGTH64},
	{"newarray", REACH_NEWARRAY},
	{"multipleinheritance", REACH_MULTIPLE_INHERITANCE},
	{NULL, 0},
};

static const struct option_choice by_choices[] = {
	{"line", BY_LINE},   {"function", BY_FUNCTION}, {"file", BY_FILE}, {"module", BY_MODULE},
	{"scope", BY_SCOPE}, {"stack", BY_STACK},	{NULL, 0},
};

static const struct option_choice suppression_choices[] = {
	{"valgrind", SUPPRESSION_VALGRIND},
	{"lsan", SUPPRESSION_LEAKSANITIZER},
	{NULL, 0},
};

static const struct option_choice topic_choices[] = {
	{"select", PAGE_SELECT},
	{"leaks", PAGE_LEAKS},
	{"checks", PAGE_CHECKS},
	{"figures", PAGE_FIGURES},
	{"scopes", PAGE_SCOPES},
	{"stacks", PAGE_STACKS},
	{"probes", PAGE_PROBES},
	{"keep", PAGE_KEEP},
	{"serve", PAGE_SERVE},
	{"options", PAGE_OPTIONS},
	{NULL, 0},
};

/* Bits of enum kernel_kind. */
static const struct option_choice kind_choices[] = {
	{"slab", 1u << KERNEL_SLAB},
	{"pages", 1u << KERNEL_PAGES},
	{"percpu", 1u << KERNEL_PERCPU},
	{"vmalloc", 1u << KERNEL_VMALLOC},
	{NULL, 0},
};

static const struct option_choice snapshot_choices[] = {
	{"stop", false},
	{"fork", true},
	{NULL, 0},
};

static const struct option_choice children_choices[] = {
	{"late", CHILDREN_LATE},
	{"exact", CHILDREN_EXACT},
	{"exact-systemwide", CHILDREN_SYSTEMWIDE},
	{"none", CHILDREN_NONE},
	{NULL, 0},
};

#define LIVE	 (PAGE_WATCH | PAGE_RECORD)
#define OFFLINE	 (PAGE_REPORT | PAGE_DIFF)
#define SURVEY	 PAGE_SURVEY
#define INSPECT	 PAGE_INSPECT
#define TOP	 PAGE_TOP
#define KERNEL	 PAGE_KERNEL
#define TRACED	 (LIVE | TOP)
#define EVERYONE (TRACED | OFFLINE | SURVEY | INSPECT | KERNEL | PAGE_DOCTOR)

/*
 * The function that applies the value, and the value's member of struct option_values: these
 * compile only for a member of the right type.
 */
#define MEMBER(m) (((struct option_values *)0)->m)
#define VALUE(function, type, m)                     \
	.apply = (function), .size = sizeof(type),   \
	.field = offsetof(struct option_values, m) + \
		 0 * sizeof(char[__builtin_types_compatible_p(typeof(MEMBER(m)), type) ? 1 : -1])
/* An integer of any size: % takes no others. */
#define NUMBER(function, m)                             \
	.apply = (function), .size = sizeof(MEMBER(m)), \
	.field = offsetof(struct option_values, m) + 0 * sizeof(MEMBER(m) % 2)
#define DURATION(m, low, high) \
	VALUE(option_apply_duration, uint64_t, m), .min = (low), .max = (high)
#define SIZE(m, low, high)   VALUE(option_apply_size, uint64_t, m), .min = (low), .max = (high)
#define COUNT(m, low, high)  NUMBER(option_apply_count, m), .min = (low), .max = (high)
#define CHOICE(m, list)	     NUMBER(option_apply_choice, m), .choices = (list)
#define TEXT(m)		     VALUE(option_apply_text, const char *, m)
#define STRINGS(function, m) VALUE(function, struct string_list, m)
#define TIME(m)		     VALUE(option_apply_time, struct replay_time, m)
#define FLAG(m)		     VALUE(option_apply_true, bool, m)
/* A flag that is set unless the option is given. */
#define UNSET(m) VALUE(option_apply_false, bool, m), .initial = true

/* What is said on these pages. */
#define ON(p, ...)                                \
	{                                         \
		.pages = (p), .text = __VA_ARGS__ \
	}

/* clang-format off */
const struct option_row option_rows[] = {
	{"at", 0, "TIME", PAGE_REPORT, TIME(times.at), .expected = expected_time, .choices = at_choices,
	 .refused_by = PAGE_DIFF, .refusal = "diff compares two times; give one FILE with --from and --to",
	 .texts = {ON(PAGE_REPORT, "the snapshot nearest to it; peak: with record --peak")}},
	{"from", 0, "TIME", OFFLINE, TIME(times.from), .expected = expected_time,
	 .texts = {{.pages = OFFLINE, .with_next = true}}},
	{"to", 0, "TIME", OFFLINE, TIME(times.to), .expected = expected_time,
	 .texts = {ON(PAGE_REPORT, "all snapshots between"), ON(PAGE_DIFF, "the two times, of one FILE")}},
	{"pid", 'p', "PID[,PID...]", TRACED | OFFLINE | INSPECT | KERNEL | PAGE_DOCTOR, VALUE(option_apply_targets, struct pid_list, pids),
	 .expected = "is not a PID or a list of PIDs; give e.g. 1234 or 1234,5678",
	 .texts = {ON(PAGE_WATCH, "watch these processes; or by a NAME, later ones too"), ON(TOP, "one process, by number or NAME; without it the survey", .argument = "PID"), ON(OFFLINE, "of these processes only"),
		   ON(INSPECT, "the process, or several"),
		   ON(PAGE_DOCTOR, "also what would be traced in these processes, and how"),
		   ON(KERNEL, "what the calls of these processes leave behind")}},
	{"interval", 'i', "TIME", TRACED | SURVEY | INSPECT | KERNEL, DURATION(pace.interval_ns, 10 * NS_PER_MS, NS_PER_YEAR), .preset = "10",
	 .expected = "is not a duration (10ms to 1 year); give e.g. 10, 500ms, 2s, 5m",
	 .texts = {ON(PAGE_WATCH, "time between snapshots ({default}; a COMMAND: at its end)"),
		   ON(SURVEY, "time between two looks ({default})", .preset = "2"),
		   ON(KERNEL, "time between two looks ({default})"),
		   ON(TOP, "between two snapshots ({default}; the survey: 2)", .preset = "1"),
		   ON(INSPECT, "look again and again, and say what grows ({default})")}},
	{"duration", 0, "TIME", TRACED | SURVEY | INSPECT | KERNEL, DURATION(pace.duration_ns, 10 * NS_PER_MS, NS_PER_YEAR),
	 .expected = "is not a duration (10ms to 1 year); give e.g. 60s, 5m, 1h",
	 .texts = {{.pages = PAGE_WATCH | SURVEY | INSPECT | KERNEL, .with_next = true}, ON(TOP, "end by itself")}},
	{"count", 'n', "N", LIVE | SURVEY | INSPECT | KERNEL, COUNT(pace.count, 1, 1000000000),
	 .expected = "is not a number of snapshots; give 1 or more",
	 .texts = {ON(PAGE_WATCH, "stop after TIME, or N snapshots"), ON(SURVEY | INSPECT | KERNEL, "stop after TIME, or N looks")}},
	{"top", 'T', "N", PAGE_WATCH | OFFLINE | SURVEY | INSPECT | KERNEL, COUNT(show.top, 1, 1000000), .preset = "10",
	 .expected = "is not a number of stacks; give 1 to 1000000",
	 .texts = {ON(PAGE_WATCH | PAGE_DIFF, "stacks to show ({default})"),
		   ON(SURVEY, "processes, and stacks of each, to show ({default})"),
		   ON(INSPECT, "kinds of blocks to show ({default})"), ON(KERNEL, "stacks to show ({default})")}},
	{"sort", 0, "ORDER", PAGE_WATCH | TOP | OFFLINE | INSPECT, CHOICE(show.sort, sort_choices), .preset = "live",
	 .expected = "is not an order; give one of live, alloc, growth, count, suspect, lifetime, "
		     "temporary, peak, age, rate",
	 .texts = {ON(PAGE_WATCH, "live, alloc, growth, count, suspect (--help=figures)"),
		   ON(TOP, "the order to begin with: {values}"), ON(PAGE_DIFF, "by blocks, not bytes", .argument = "count"),
		   ON(INSPECT, "kinds of blocks by live (bytes), count or growth")}},
	{"by", 0, "WHAT", PAGE_WATCH | TOP | OFFLINE, CHOICE(show.by, by_choices), .preset = "line",
	 .expected = "is not what rows can be by; give one of line, function, file, module, scope, stack",
	 .texts = {ON(PAGE_WATCH, "a row for each {values} ({default})"), ON(TOP, "a row for each {values}"),
		   ON(PAGE_DIFF, "a row for each line, function, file, module or ({default}) stack", .preset = "stack")}},
	{"short", 0, NULL, PAGE_WATCH | PAGE_REPORT | SURVEY, FLAG(show.brief),
	 .refused_by = PAGE_DIFF, .refusal = "diff has no such lines; leave it out",
	 .texts = {ON(PAGE_WATCH, "a line for each stack: who allocated"),
		   ON(SURVEY, "the table alone, and who allocated")}},
	{"older", 0, "TIME", LIVE, DURATION(trace.older_ns, NS_PER_MS, NS_PER_YEAR),
	 .expected = "is not a duration (1ms to 1 year); give e.g. 10, 500ms, 2s, 5m",
	 .texts = {ON(PAGE_SELECT, "rank only what is older than TIME")}},
	{"merge", 0, NULL, PAGE_WATCH | PAGE_REPORT, FLAG(show.merge),
	 .refused_by = PAGE_DIFF, .refusal = "diff compares all processes together already; leave it out",
	 .texts = {ON(PAGE_SELECT, "one report for all processes of a program")}},
	{"format", 'f', "FORMAT", PAGE_WATCH | OFFLINE | SURVEY | INSPECT | KERNEL | PAGE_DOCTOR,
	 VALUE(option_apply_format, const struct exporter_format *, show.format), .preset = "text",
	 .expected = "is not a format",
	 .texts = {ON(PAGE_WATCH | SURVEY | INSPECT | KERNEL, "{values}"),
		   ON(PAGE_DIFF, "{values} (\"stack old new\", for difffolded.pl's readers)"),
		   ON(PAGE_DOCTOR, "{values}: one object about the machine, without -p")}},
	{"output", 'o', "FILE", LIVE | OFFLINE | SURVEY | INSPECT | KERNEL, VALUE(option_apply_output, const char *, show.output),
	 .expected = "is not a file name; give a path, or - for standard output",
	 .texts = {ON(PAGE_WATCH | PAGE_DIFF | SURVEY | INSPECT | KERNEL, "instead of standard output"), ON(PAGE_RECORD, "the recording")}},
	{"record", 0, "FILE", SURVEY, TEXT(record), .expected = "is not a file name; give the path of the recording",
	 .texts = {ON(SURVEY, "a recording as well, for report")}},
	{"sample", 's', "SIZE", TRACED | SURVEY | KERNEL, SIZE(sample_bytes, 1, MAX_SAMPLE_BYTES),
	 .expected = "is not a sampling rate in bytes (1 to 1G); give e.g. 64k, 512k, or leave it "
		     "out to record every allocation",
	 .texts = {ON(PAGE_WATCH, "record one in SIZE bytes: cheap, numbers are estimates"),
		   ON(SURVEY, "record one in SIZE bytes ({default})", .preset = "64k"),
		   ON(KERNEL, "record one in SIZE bytes ({default}); 1: every block", .preset = "64k")}},
	{"gate", 0, NULL, TRACED | SURVEY, FLAG(trace.gate),
	 .texts = {ON(PAGE_WATCH, "sample next to free, by patching it (--help=probes)"),
		   ON(PAGE_PROBES, "jumps in the allocator to code mapped into the process, which stays there; probes where that cannot be"),
		   ON(SURVEY, "patch suspects' allocators, not probe them; mmap is not seen then")}},
	{"min-size", 'z', "SIZE", TRACED, SIZE(trace.min_size, 0, UINT64_MAX),
	 .expected = "is not a size in bytes; give e.g. 4096, 64k, 1M",
	 .texts = {{.pages = PAGE_SELECT, .with_next = true}}},
	{"max-size", 'Z', "SIZE", TRACED, SIZE(trace.max_size, 1, UINT64_MAX), .initial = UINT64_MAX,
	 .expected = "is not a size in bytes above 0; give e.g. 4096, 64k, 1M",
	 .texts = {ON(PAGE_SELECT, "trace only blocks of these sizes")}},

	/* What is a leak. */
	{"verdict", 0, NULL, LIVE, FLAG(verdict.wanted),
	 .texts = {ON(PAGE_WATCH, "tell lost from held (stops it for a moment)"),
		   ON(PAGE_LEAKS, "at each snapshot, or SIGUSR2: what nothing points to")}},
	{"inspect", 0, NULL, LIVE, VALUE(option_apply_inspect, bool, verdict.inspect),
	 .texts = {ON(PAGE_LEAKS, "with each verdict: what the whole heap is made of")}},
	{"max-pause", 0, "TIME", TRACED | INSPECT, DURATION(verdict.max_pause_ns, NS_PER_MS, 3600 * NS_PER_S), .preset = "500ms",
	 .expected = "is not a duration (1ms to 1h); give e.g. 100ms, 2s",
	 .texts = {ON(PAGE_LEAKS, "stop the process for no longer than that ({default})")}},
	{"snapshot", 0, "HOW", TRACED | INSPECT, CHOICE(verdict.by_copy, snapshot_choices),
	 .expected = "is not a way to take a verdict; give one of stop, fork",
	 .texts = {ON(PAGE_LEAKS, "by a copy of it: a shorter pause on large heaps", .argument = "=fork"),
		   ON(INSPECT, "fork: by a copy of it, where possible; or stop", .preset = "fork")}},
	{"leak-check-heuristics", 0, "LIST", TRACED | INSPECT, NUMBER(option_apply_choices, verdict.heuristics),
	 .choices = heuristics_choices, .preset = "all",
	 .expected = "is not all, none, or a list of stdstring, length64, newarray, multipleinheritance",
	 .texts = {ON(PAGE_LEAKS, "which pointers into a block hold it: {values}")}},
	{"tagged", 0, NULL, TRACED | INSPECT, FLAG(verdict.tagged), .texts = {ON(PAGE_LEAKS, "pointers may have tags in their top byte")}},
	{"contents", 0, "N", LIVE | INSPECT, COUNT(verdict.contents, 1, 4096),
	 .expected = "is not a number of bytes; give 1 to 4096",
	 .texts = {ON(PAGE_LEAKS, "show so many bytes of lost blocks (may be private)")}},
	{"leak-only", 0, NULL, PAGE_WATCH | PAGE_REPORT, VALUE(option_apply_leak_only, bool, filter.leak_only),
	 .refused_by = PAGE_DIFF, .refusal = "diff shows what changed; give it to report",
	 .texts = {ON(PAGE_LEAKS, "show only lost blocks")}},
	{"error-exitcode", 0, "N", LIVE | INSPECT | KERNEL, COUNT(error_exitcode, 1, 255),
	 .expected = "is not an exit status; give 1 to 255",
	 .texts = {ON(PAGE_WATCH | PAGE_LEAKS | PAGE_CHECKS | INSPECT, "exit status if leaks were found"),
		   ON(KERNEL, "exit status if a stack grows")}},
	{"suppressions", 0, "FILE", PAGE_WATCH | OFFLINE | SURVEY, STRINGS(option_apply_strings, filter.suppressions),
	 .expected = "is not a file name; give a file in the format of LeakSanitizer or Valgrind",
	 .texts = {ON(PAGE_CHECKS, "hide known leaks: a file of LeakSanitizer or Valgrind"),
		   ON(PAGE_DIFF, "leave these stacks out"), ON(PAGE_KEEP, "hide known bad accesses of those that are guarded")}},
	{"gen-suppressions", 0, "[=valgrind|lsan]", PAGE_WATCH | PAGE_REPORT,
	 CHOICE(show.gen_suppressions, suppression_choices), .bare = "valgrind",
	 .expected = "is not a format of suppressions; give valgrind or lsan",
	 .refused_by = PAGE_DIFF, .refusal = "diff shows what changed; give it to report",
	 .texts = {ON(PAGE_CHECKS, "print one for each stack shown")}},
	{"no-default-suppressions", 0, NULL, PAGE_WATCH | OFFLINE | SURVEY, UNSET(filter.default_suppressions),
	 .texts = {ON(PAGE_CHECKS, "show what libraries keep by design, too")}},
	{"lifetimes", 0, NULL, TRACED, FLAG(trace.figures.lifetimes),
	 .texts = {ON(PAGE_FIGURES, "how long blocks live; which have far outlived others")}},
	{"temporary", 0, NULL, TRACED, FLAG(trace.figures.temporary),
	 .texts = {ON(PAGE_FIGURES, "blocks freed before their thread allocates the next")}},
	{"peak", 0, NULL, TRACED, FLAG(trace.figures.peak),
	 .texts = {ON(PAGE_FIGURES, "the most that was live, when, by stack (report --at peak)")}},
	{"sizes", 0, NULL, TRACED, FLAG(trace.figures.sizes),
	 .texts = {ON(PAGE_FIGURES, "sizes of live blocks: up to 8, or by powers of two")}},
	{"group", 0, "WHAT", LIVE, CHOICE(trace.group_sizes, group_choices),
	 .expected = "is not what live blocks can be grouped by; give one of stack, size",
	 .texts = {ON(PAGE_FIGURES, "a row for each size of a stack's live blocks", .argument = "=size")}},
	{"usable", 0, NULL, LIVE, VALUE(option_apply_usable, bool, trace.figures.usable),
	 .texts = {ON(PAGE_FIGURES, "what blocks take beyond what was asked for (verdict)")}},
	{"check-frees", 0, "[=N]", LIVE, COUNT(trace.check_frees, 1, 1u << 24), .bare = "65536",
	 .expected = "is not a number of freed blocks to remember; give 1 to 16777216",
	 .texts = {ON(PAGE_CHECKS, "double, wild, mismatched frees (N remembered: {default})")}},
	{"guard", 0, "[=N]", LIVE | SURVEY, COUNT(trace.guard.period, 1, 1000000000), .bare = "10000",
	 .expected = "is not a number of allocations; give 1 to 1000000000",
	 .texts = {{.pages = PAGE_CHECKS | PAGE_KEEP, .with_next = true}}},
	{"guard-slots", 0, "N", LIVE | SURVEY, COUNT(trace.guard.places, 8, 4096), .preset = "512",
	 .expected = "is not a number of pages; give a power of two from 8 to 4096",
	 .texts = {ON(PAGE_CHECKS, "overruns, use after free: one block in N (10000) in a page with guards, of {default}"),
		   ON(PAGE_KEEP, "guard one block in N (10000) of those that are kept, {default} pages each")}},

	{"scope", 0, "FUNC[#TAG]", LIVE | SURVEY, STRINGS(option_apply_scope, trace.scopes),
	 .expected = "is not [OBJECT:]FUNCTION, or that with #argN, #argN:str, #argN:hex, #+OFFS(argN) or #tid behind "
		     "it; give e.g. handle_request or 'handle_request#arg2:str'",
	 .texts = {ON(PAGE_SCOPES, "for each call of this function (a glob, FILE:LINE) what it keeps (which request leaks?); "
				    "#TAG tells calls apart: argN[:int|:hex|:str], tid"),
		   ON(SURVEY, "what its calls keep, in suspects")},
	 .refused_by = TOP, .refusal = "top shows stacks, not calls of functions; leave top out, or give it to record"},
	{"scope-only", 0, NULL, LIVE, FLAG(trace.scope_only),
	 .texts = {ON(PAGE_SCOPES, "leave out what is allocated in none of them")},
	 .refused_by = TOP, .refusal = "top knows no scopes; leave it out"},

	{"own", 0, "PATTERN", TRACED | OFFLINE | SURVEY, STRINGS(option_apply_strings, show.own),
	 .expected = "is not a pattern; give e.g. 'shop::*', 'libshop.so*' or '*/src/*'",
	 .texts = {{.pages = PAGE_STACKS, .with_next = true}}},
	{"not-own", 0, "PATTERN", TRACED | OFFLINE | SURVEY, STRINGS(option_apply_strings, show.not_own),
	 .expected = "is not a pattern; give e.g. 'json::*', 'libjson.so*' or '*/third_party/*'",
	 .texts = {ON(PAGE_STACKS, "whose line it is: the innermost that is your program's; globs for functions, modules, files")}},
	{"no-inlines", 0, NULL, TRACED | SURVEY, UNSET(symbols.inlines), .texts = {ON(PAGE_STACKS, "leave inlined calls out")}},
	{"native-frames", 0, NULL, TRACED, FLAG(trace.native_frames),
	 .texts = {ON(PAGE_STACKS, "an interpreter's own C functions, too")}},
	{"debuginfod", 0, NULL, TRACED | SURVEY | INSPECT, VALUE(option_apply_debuginfod, bool, symbols.debuginfod),
	 .variable = "DEBUGINFOD_URLS", .texts = {{.pages = PAGE_STACKS, .with_next = true}}},
	{"no-debuginfod", 0, NULL, TRACED | SURVEY | INSPECT, VALUE(option_apply_false, bool, symbols.debuginfod),
	 .texts = {ON(PAGE_STACKS, "symbols from DEBUGINFOD_URLS, or not")}},
	{"sysroot", 0, "DIR", INSPECT, TEXT(sysroot), .texts = {ON(INSPECT, "where the files are that a core names")}},

	/* Which functions are traced, and how. */
	{"children", 0, "HOW", LIVE, VALUE(option_apply_children, enum trace_children, trace.children),
	 .choices = children_choices, .preset = "late",
	 .expected = "is not a way to follow children; give one of exact, late, none, exact-systemwide",
	 .texts = {{.pages = PAGE_SELECT, .with_next = true}}},
	{"no-follow", 0, NULL, LIVE, VALUE(option_apply_children, enum trace_children, trace.children),
	 .choices = children_choices, .bare = "none",
	 .texts = {ON(PAGE_SELECT, "forked children: late (from when they are seen), exact (from their start; a COMMAND's "
				 "default), none, or exact-systemwide (harms others)")}},
	{"mmap", 0, NULL, TRACED, FLAG(trace.mmap), .texts = {ON(PAGE_SELECT, "trace mmap and munmap as well")}},
	{"object", 'O', "FILE", TRACED, TEXT(trace.object),
	 .expected = "is not an object; give the path or file name of a library or executable",
	 .texts = {ON(PAGE_PROBES, "trace this allocator only")}},
	{"symbols-prefix", 0, "PREFIX", TRACED, STRINGS(option_apply_strings, trace.symbols_prefixes),
	 .expected = "is not a prefix; give e.g. je_ for je_malloc and je_free",
	 .texts = {ON(PAGE_PROBES, "trace PREFIXmalloc, PREFIXfree ... too, e.g. je_")}},
	{"alloc-fn", 0, "NAME:SIZEARG...", TRACED, STRINGS(option_apply_alloc_fn, trace.alloc_fns),
	 .expected = "is not NAME:SIZEARG[:COUNTARG][:out=ARG[:ok=RESULT]]; give e.g. pool_alloc:2 when the "
		     "second argument is the size, pool_get:2:out=1 when the first one receives the block",
	 .texts = {ON(PAGE_PROBES, "this function allocates; :out=ARG: it stores the block there")}},
	{"realloc-fn", 0, "NAME:PTRARG:SIZEARG[:COUNTARG]", TRACED,
	 STRINGS(option_apply_realloc_fn, trace.realloc_fns),
	 .expected = "is not NAME:PTRARG:SIZEARG[:COUNTARG]; give e.g. pool_grow:1:2 when the first "
		     "argument is the block and the second its new size",
	 .texts = {ON(PAGE_PROBES, "this one resizes")}},
	{"free-fn", 0, "NAME:PTRARG", TRACED, STRINGS(option_apply_free_fn, trace.free_fns),
	 .expected = "is not NAME:PTRARG; give e.g. pool_free:1 when the first argument is the "
		     "block",
	 .texts = {ON(PAGE_PROBES, "and this one frees; arguments count from 1")}},
	{"attach", 0, "HOW", TRACED, CHOICE(trace.attach, attach_choices), .preset = "auto",
	 .expected = "is not a way to attach; give one of auto, session, multi, single, usdt, gate",
	 .texts = {ON(PAGE_PROBES, "kind of probe: {values}")}},
	{"stack", 0, "HOW", TRACED, CHOICE(trace.frame_pointers, stack_choices), .preset = "auto",
	 .expected = "is not a way to walk the stack; give one of auto, dwarf, fp",
	 .texts = {ON(PAGE_STACKS, "auto, dwarf (unwind tables) or fp (frame pointers)")}},
	{"depth", 0, "N", TRACED, COUNT(trace.depth, 2, ABI_MAX_FRAMES), .preset = "128",
	 .expected = "is not a number of frames; give 2 to 128",
	 .texts = {ON(PAGE_STACKS, "frames of a stack ({default})")}},
	{"ask-runtime", 0, NULL, TRACED, FLAG(trace.ask_runtime),
	 .texts = {ON(PAGE_STACKS, "have JVMs write perf maps, for names (JDK 17 on)")}},
	{"max-live", 0, "N", TRACED, COUNT(trace.max_live, 1, 1u << 28), .preset = "2097152",
	 .expected = "is not a number of blocks; give 1 to 268435456",
	 .texts = {ON(PAGE_STACKS, "blocks that can be live at a time ({default})")}},
	{"max-stacks", 0, "N", TRACED | SURVEY, COUNT(trace.max_stacks, 1, 1u << 24), .preset = "65536",
	 .expected = "is not a number of stacks; give 1 to 16777216",
	 .texts = {ON(PAGE_STACKS, "stacks that can be told apart ({default})"),
		   ON(PAGE_KEEP, "stacks of all that are kept ({default})")}},

	/* The survey. */
	{"cgroup", 0, "PATH", LIVE | SURVEY | TOP | KERNEL, TEXT(scope.cgroup),
	 .expected = "is not a control group; give its path, e.g. /system.slice/nginx.service",
	 .texts = {ON(SURVEY, "only what runs in this control group or below"), {.pages = PAGE_SELECT | KERNEL, .with_next = true}}},
	{"container", 0, "NAME", LIVE | SURVEY | TOP | KERNEL, TEXT(scope.container),
	 .expected = "is not a container; give its name, or the beginning of its id",
	 .texts = {ON(SURVEY, "only this container: a name, or the beginning of an id"), {.pages = PAGE_SELECT | KERNEL, .with_next = true}}},
	{"container-runtime", 0, "SOCKET", SURVEY, TEXT(container_runtime),
	 .expected = "is not a socket; give its path, e.g. /run/docker.sock",
	 .texts = {ON(SURVEY, "ask Docker or Podman there for names")}},
	{"unit", 0, "UNIT", LIVE | SURVEY | TOP | KERNEL, TEXT(scope.unit),
	 .expected = "is not a unit of systemd; give its name, e.g. nginx or nginx.service",
	 .texts = {ON(SURVEY, "only this unit of systemd"), ON(KERNEL, "what is charged to these groups"), ON(PAGE_SELECT, "processes that match, later ones too")}},
	{"user", 0, "USER", SURVEY | TOP, VALUE(option_apply_user, uid_t, scope.user), .initial = (uid_t)-1,
	 .expected = "is not a user; give a name or a number", .texts = {ON(SURVEY, "only this user's processes")}},
	{"comm", 0, "REGEX", SURVEY | TOP, VALUE(option_apply_regex, const char *, scope.comm),
	 .expected = "is not a regular expression; give e.g. '^redis'", .texts = {{.pages = SURVEY, .with_next = true}}},
	{"exclude", 0, "REGEX", SURVEY | TOP, VALUE(option_apply_regex, const char *, scope.exclude),
	 .expected = "is not a regular expression; give e.g. '^(bash|ssh)'",
	 .texts = {ON(SURVEY, "by the name of the command")}},
	{"suspects", 0, "N", SURVEY | TOP, COUNT(probes.suspects, 1, SURVEY_SUSPECTS_MAX), .preset = "3",
	 .expected = "is not a number of processes; give 1 to 64",
	 .texts = {ON(SURVEY, "processes that get probes at a time ({default})")}},
	{"min-growth", 0, "SIZE", SURVEY | TOP, SIZE(probes.min_growth, 0, UINT64_MAX), .preset = "1M",
	 .expected = "is not a growth in bytes per hour; give e.g. 1M, 64k",
	 .texts = {ON(SURVEY, "probes only on what grows by SIZE an hour ({default})")}},
	{"window", 0, "TIME", SURVEY | TOP, DURATION(probes.window_ns, NS_PER_S, NS_PER_YEAR), .preset = "10",
	 .expected = "is not a duration (1s to 1 year); give e.g. 10, 30s, 2m",
	 .texts = {ON(SURVEY, "how long the probes stay ({default})")}},
	{"budget", 0, "PERCENT", SURVEY | TOP | KERNEL, VALUE(option_apply_budget, uint32_t, probes.budget), .preset = "2",
	 .expected = "is not a share of a CPU in percent (0.1 to 100); give e.g. 2 or 0.5",
	 .texts = {ON(SURVEY, "of a CPU that the probes may take, over a minute ({default})"),
		   ON(KERNEL, "of a CPU that the probes may take ({default}; with -s 1 all)", .preset = "1")}},
	{"no-drill", 0, NULL, SURVEY | TOP | KERNEL, UNSET(probes.wanted),
	 .texts = {ON(SURVEY, "no probes at all"), {.pages = KERNEL, .with_next = true}}},
	{"keep", 0, "FILTER", SURVEY, STRINGS(option_apply_keep, keep.filters),
	 .expected = "is not a filter; give one of unit=NAME, container=NAME, cgroup=PATH, comm=REGEX, user=NAME",
	 .texts = {ON(PAGE_KEEP, "with --gate: sample these all the time; unit=NAME, container=, cgroup=, comm=, user=")}},
	{"keep-rate", 0, "N", SURVEY, COUNT(keep.rate, 1, 1000000), .preset = "1000",
	 .expected = "is not a number of samples a second; give 1 to 1000000", .texts = {{.pages = PAGE_KEEP, .with_next = true}}},
	{"keep-processes", 0, "N", SURVEY, COUNT(keep.processes, 1, 16384), .preset = "256",
	 .expected = "is not a number of processes; give 1 to 16384",
	 .texts = {ON(PAGE_KEEP, "samples a second (1000), processes ({default})")}},
	{"keep-live", 0, "N", SURVEY, COUNT(keep.live, 1, 100000), .preset = "32768",
	 .expected = "is not a number of samples; give 1 to 100000", .texts = {{.pages = PAGE_KEEP, .with_next = true}}},
	{"keep-live-all", 0, "N", SURVEY, COUNT(keep.live_all, 1, 1u << 28), .preset = "524288",
	 .expected = "is not a number of samples; give 1 to 268435456", .texts = {{.pages = PAGE_KEEP, .with_next = true}}},
	{"keep-memory", 0, "SIZE", SURVEY, SIZE(keep.memory, 1, UINT64_MAX), .preset = "512M",
	 .expected = "is not a size in bytes; give e.g. 256M, 1G",
	 .texts = {ON(PAGE_KEEP, "live samples of one (32768), of all (524288); memory of memleakbpf ({default})")}},
	{"metrics", 0, "ADDRESS:PORT", SURVEY, VALUE(option_apply_metrics, struct survey_metrics_config, metrics),
	 .expected = "is not an address and a port; give e.g. :9435 (on the loopback), "
		     "192.0.2.1:9435, [2001:db8::1]:9435",
	 .texts = {ON(PAGE_SERVE, "serve metrics for Prometheus; :9435 is on the loopback")}},
	{"metrics-host", 0, "NAME", SURVEY, TEXT(metrics.name), .expected = "is not a host's name; give e.g. web1.example.org",
	 .texts = {ON(PAGE_SERVE, "a name of theirs, beside the address")}},
	{"metrics-processes", 0, "N", SURVEY, COUNT(metrics.processes, 0, 10000), .preset = "50",
	 .expected = "is not a number of processes; give 0 to 10000",
	 .texts = {ON(PAGE_SERVE, "with series of their own ({default}); the others are summed")}},
	{"profiles", 0, "ADDRESS:PORT", SURVEY, VALUE(option_apply_profiles, struct survey_profiles_config, profiles),
	 .expected = "is not an address and a port; give e.g. :9436 (on the loopback), "
		     "192.0.2.1:9436, [2001:db8::1]:9436",
	 .texts = {ON(PAGE_SERVE, "serve heap profiles (pprof) of the processes that are kept")}},
	{"profiles-token", 0, "FILE", SURVEY, TEXT(profiles.token_file),
	 .expected = "is not a file's name", .texts = {ON(PAGE_SERVE, "to who knows the bearer token in FILE")}},

	/* The kernel's memory. */
	{"probe", 0, NULL, KERNEL, FLAG(kernel.at_once),
	 .texts = {ON(KERNEL, "no probes at all; or at once, not only on what grows")}},
	{"kind", 0, "KIND[,...]", KERNEL, VALUE(option_apply_choices, unsigned, kernel.kinds), .choices = kind_choices,
	 .expected = "is not a list of kinds; give slab, pages, percpu, vmalloc, with commas between",
	 .texts = {ON(KERNEL, "probes for these: {values}")}},
	{"cache", 0, "NAME[,...]", KERNEL, STRINGS(option_apply_strings, kernel.caches),
	 .expected = "is not a cache; give a name of /proc/slabinfo, e.g. dentry",
	 .texts = {ON(KERNEL, "of slab objects only those of these caches")}},

	{"try", 0, NULL, PAGE_DOCTOR, FLAG(try_load),
	 .texts = {ON(PAGE_DOCTOR, "also load all programs, as a real trace does")}},

	{"verbose", 'v', NULL, EVERYONE, option_apply_verbose,
	 .texts = {ON(PAGE_WATCH, "more; -vv: all of it"), ON(SURVEY | INSPECT | KERNEL | PAGE_DOCTOR, "more detail"),
		   {.pages = TOP, .with_next = true},
		   {.pages = PAGE_RECORD | OFFLINE, .with_next = true}}},
	{"no-config", 0, NULL, EVERYONE, option_apply_no_config, .texts = {{.pages = EVERYONE, .with_next = true}}},
	{"version", 0, NULL, EVERYONE, option_apply_version, .texts = {{.pages = EVERYONE, .with_next = true}}},
	{"help", 'h', "[=TOPIC]", EVERYONE, option_apply_help, .choices = topic_choices,
	 .expected = "is not a topic; give select, leaks, checks, figures, scopes, stacks, probes, keep, serve or options",
	 .texts = {{EVERYONE, .argument = ""},
		   ON(PAGE_WATCH, "more options: select (which processes and blocks), leaks, checks, figures, scopes, stacks, "
				  "probes; options: all of them, a line each", "=TOPIC"),
		   ON(SURVEY, "more options: keep, serve; options: all, a line each", "=TOPIC")}},
};
/* clang-format on */

_Static_assert(ARRAY_SIZE(option_rows) <= OPTION_ROWS_MAX, "getopt's tables are too small");

const size_t option_row_count = ARRAY_SIZE(option_rows);
