// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/options_table.h"

#include <errno.h>
#include <pwd.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "user/base/clock.h"
#include "user/base/listen.h"
#include "user/base/log.h"
#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/heap/reach.h"
#include "user/target/allocator.h"

#define NS_PER_YEAR (365 * NS_PER_DAY)

/*
 * Above this a sample says nothing about any process, and the sampler's fixed-point arithmetic
 * ends.
 */
#define MAX_SAMPLE_BYTES (1ULL << 30)

static int option_refuse(const struct option_row *row, const char *shown, const char *value)
{
	log_error("%s: '%s' %s", shown, value, row->expected);
	return -EINVAL;
}

void *option_part(struct options *options, enum option_part part)
{
	size_t at = options->command->layout->at[part];

	return at ? (char *)&options->config + (at - 1) : NULL;
}

/* A command takes no option whose part it does not have (test_options.c). */
static void *field_of(const struct option_row *row, struct options *options)
{
	return (char *)option_part(options, row->part) + row->field;
}

static void set_number(const struct option_row *row, struct options *options, uint64_t number)
{
	if (row->size == sizeof(bool))
		*(bool *)field_of(row, options) = number != 0;
	else if (row->size == sizeof(uint32_t))
		*(uint32_t *)field_of(row, options) = (uint32_t)number;
	else
		*(uint64_t *)field_of(row, options) = number;
}

static int apply_number(const struct option_row *row, struct options *options, const char *shown,
			const char *value, int (*parse)(const char *text, uint64_t *number))
{
	uint64_t number;

	if (parse(value, &number) || number < row->min || number > row->max)
		return option_refuse(row, shown, value);
	set_number(row, options, number);
	return 0;
}

static int apply_duration(const struct option_row *row, struct options *options, const char *shown,
			  const char *value)
{
	return apply_number(row, options, shown, value, parse_duration);
}

static int apply_size(const struct option_row *row, struct options *options, const char *shown,
		      const char *value)
{
	return apply_number(row, options, shown, value, parse_size);
}

static int apply_count(const struct option_row *row, struct options *options, const char *shown,
		       const char *value)
{
	uint64_t number;

	if (parse_count(value, row->min, row->max, &number))
		return option_refuse(row, shown, value);
	set_number(row, options, number);
	return 0;
}

static int apply_choice(const struct option_row *row, struct options *options, const char *shown,
			const char *value)
{
	for (const struct choice *c = row->choices; c->name; c++) {
		if (!strcmp(c->name, value)) {
			set_number(row, options, c->value);
			return 0;
		}
	}
	return option_refuse(row, shown, value);
}

static int apply_text(const struct option_row *row, struct options *options, const char *shown,
		      const char *value)
{
	if (!*value)
		return option_refuse(row, shown, value);
	*(const char **)field_of(row, options) = value;
	return 0;
}

static int apply_true(const struct option_row *row, struct options *options, const char *shown,
		      const char *value)
{
	(void)shown;
	(void)value;
	*(bool *)field_of(row, options) = true;
	return 0;
}

static int apply_false(const struct option_row *row, struct options *options, const char *shown,
		       const char *value)
{
	(void)shown;
	(void)value;
	*(bool *)field_of(row, options) = false;
	return 0;
}

static int add_string(const struct option_row *row, struct options *options, const char *string)
{
	struct string_list *list = field_of(row, options);
	const char **grown =
		reallocarray((void *)list->items, list->count + 2, sizeof(const char *));

	if (!grown)
		return log_errno(ENOMEM, "reading the command line");
	grown[list->count++] = string;
	grown[list->count] = NULL;
	list->items = grown;
	return 0;
}

static int apply_pids(const struct option_row *row, struct options *options, const char *shown,
		      const char *value)
{
	struct pid_list *list = field_of(row, options);
	pid_t *pids = (pid_t *)list->pids;
	int err = parse_pids(value, &pids, &list->count);

	list->pids = pids;
	if (err == -ENOMEM)
		return log_errno(err, "reading the command line");
	return err ? option_refuse(row, shown, value) : 0;
}

static int apply_strings(const struct option_row *row, struct options *options, const char *shown,
			 const char *value)
{
	return *value ? add_string(row, options, value) : option_refuse(row, shown, value);
}

static int apply_alloc_fn(const struct option_row *row, struct options *options, const char *shown,
			  const char *value)
{
	struct alloc_fn fn;

	if (alloc_fn_parse_alloc(value, &fn))
		return option_refuse(row, shown, value);
	alloc_fn_release(&fn);
	return add_string(row, options, value);
}

static int apply_free_fn(const struct option_row *row, struct options *options, const char *shown,
			 const char *value)
{
	struct alloc_fn fn;

	if (alloc_fn_parse_free(value, &fn))
		return option_refuse(row, shown, value);
	alloc_fn_release(&fn);
	return add_string(row, options, value);
}

static int apply_gen_suppressions(const struct option_row *row, struct options *options,
				  const char *shown, const char *value)
{
	return apply_choice(row, options, shown, value ? value : "valgrind");
}

static int apply_check_frees(const struct option_row *row, struct options *options,
			     const char *shown, const char *value)
{
	return apply_count(row, options, shown, value ? value : "65536");
}

static int apply_leak_only(const struct option_row *row, struct options *options, const char *shown,
			   const char *value)
{
	struct verdict_config *verdict = option_part(options, PART_VERDICT);

	/* A recording has its verdicts, or has none. */
	if (verdict)
		verdict->wanted = true;
	return apply_true(row, options, shown, value);
}

/* Both --children and --no-follow: which one came first must not decide silently. */
static int set_children(const struct option_row *row, struct options *options, const char *shown,
			enum trace_children children)
{
	enum trace_children *field = field_of(row, options);

	if (options->children_given && *field != children) {
		log_error("%s: contradicts an earlier --children or --no-follow; give only one",
			  shown);
		return -EINVAL;
	}
	options->children_given = true;
	*field = children;
	return 0;
}

static int apply_children(const struct option_row *row, struct options *options, const char *shown,
			  const char *value)
{
	for (const struct choice *c = row->choices; c->name; c++) {
		if (!strcmp(c->name, value))
			return set_children(row, options, shown, (enum trace_children)c->value);
	}
	return option_refuse(row, shown, value);
}

static int apply_no_follow(const struct option_row *row, struct options *options, const char *shown,
			   const char *value)
{
	(void)value;
	return set_children(row, options, shown, CHILDREN_NONE);
}

static int apply_sort(const struct option_row *row, struct options *options, const char *shown,
		      const char *value)
{
	return rank_parse(value, field_of(row, options)) ? option_refuse(row, shown, value) : 0;
}

static int apply_heuristics(const struct option_row *row, struct options *options,
			    const char *shown, const char *value)
{
	int err = reach_parse_heuristics(value, field_of(row, options));

	return err ? option_refuse(row, shown, value) : 0;
}

static int apply_format(const struct option_row *row, struct options *options, const char *shown,
			const char *value)
{
	const struct exporter_format *format = export_find_format(value);
	const char *why = format && format->unavailable ? format->unavailable() : NULL;
	char known[EXPORT_NAMES_MAX];

	if (why) {
		log_error("%s %s: this memleakbpf was built without it: %s; report can make it "
			  "of a recording elsewhere",
			  shown, value, why);
		return -EINVAL;
	}
	if (format) {
		*(const struct exporter_format **)field_of(row, options) = format;
		return 0;
	}
	log_error("%s: '%s' is not a format; give one of %s", shown, value,
		  export_names(known, EXPORT_ANYTHING, ", "));
	return -EINVAL;
}

static int apply_output(const struct option_row *row, struct options *options, const char *shown,
			const char *value)
{
	if (!strcmp(value, "-")) {
		*(const char **)field_of(row, options) = NULL;
		return 0;
	}
	return apply_text(row, options, shown, value);
}

static const char expected_time[] =
	"is not a time; give one since the recording's beginning (90s, 5m, 0) or a date "
	"(2026-01-02T03:04:05, with Z for UTC)";

static int apply_time(const struct option_row *row, struct options *options, const char *shown,
		      const char *value)
{
	struct replay_time *time = field_of(row, options);

	*time = (struct replay_time){.given = true};
	if (!strcmp(value, "0") || !parse_duration(value, &time->ns))
		return 0;
	time->absolute = true;
	return parse_date(value, &time->ns) ? option_refuse(row, shown, value) : 0;
}

static int apply_debuginfod(const struct option_row *row, struct options *options,
			    const char *shown, const char *value)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (!urls || !*urls) {
		log_error("%s: DEBUGINFOD_URLS is not set, so there is no server to ask; set it "
			  "(sudo drops it: sudo --preserve-env=DEBUGINFOD_URLS ...)",
			  shown);
		return -EINVAL;
	}
	return apply_true(row, options, shown, value);
}

static int apply_verbose(const struct option_row *row, struct options *options, const char *shown,
			 const char *value)
{
	(void)row;
	(void)shown;
	(void)value;
	options->verbose++;
	return 0;
}

/* The first of --help and --version decides. */
static int apply_action(struct options *options, enum options_action action)
{
	if (options->action == ACTION_RUN)
		options->action = action;
	return 0;
}

static int apply_help(const struct option_row *row, struct options *options, const char *shown,
		      const char *value)
{
	const struct choice *c = row->choices;

	while (value && c->name && strcmp(c->name, value) != 0)
		c++;
	if (value && !c->name)
		return option_refuse(row, shown, value);
	options->help_topic = value ? (enum help_topic)c->value : HELP_GENERAL;
	return apply_action(options, ACTION_HELP);
}

static int apply_version(const struct option_row *row, struct options *options, const char *shown,
			 const char *value)
{
	(void)row;
	(void)shown;
	(void)value;
	return apply_action(options, ACTION_VERSION);
}

static int apply_regex(const struct option_row *row, struct options *options, const char *shown,
		       const char *value)
{
	char why[128];
	regex_t regex;
	int err = regcomp(&regex, value, REG_EXTENDED | REG_NOSUB);

	if (err) {
		regerror(err, &regex, why, sizeof(why));
		log_error("%s: '%s' is not a regular expression (%s); give e.g. '^redis'", shown,
			  value, why);
		return -EINVAL;
	}
	regfree(&regex);
	return apply_text(row, options, shown, value);
}

/* A name, or a number that need not have one (those of containers have none here). */
static int apply_user(const struct option_row *row, struct options *options, const char *shown,
		      const char *value)
{
	const struct passwd *user = getpwnam(value);
	uid_t *field = field_of(row, options);
	uint64_t number;

	if (user)
		*field = user->pw_uid;
	else if (!parse_count(value, 0, UINT32_MAX - 1, &number))
		*field = (uid_t)number;
	else
		return option_refuse(row, shown, value);
	return 0;
}

/* Percent, with or without the sign: "2", "0.5%". */
static int apply_budget(const struct option_row *row, struct options *options, const char *shown,
			const char *value)
{
	char *end;
	double percent = strtod(value, &end);

	if (end == value || (*end && strcmp(end, "%") != 0) || !(percent >= 0.1 && percent <= 100))
		return option_refuse(row, shown, value);
	set_number(row, options, (uint64_t)(percent * 10 + 0.5));
	return 0;
}

static int apply_metrics(const struct option_row *row, struct options *options, const char *shown,
			 const char *value)
{
	struct survey_metrics *metrics = field_of(row, options);

	if (listen_parse(value, &metrics->address))
		return option_refuse(row, shown, value);
	metrics->wanted = true;
	return 0;
}

static const struct choice attach_choices[] = {
	{"auto", ATTACH_AUTO},
	{"session", ATTACH_SESSION},
	{"multi", ATTACH_MULTI},
	{"single", ATTACH_SINGLE},
	{NULL, 0},
};

static const struct choice stack_choices[] = {
	{"auto", false},
	{"dwarf", false},
	{"fp", true},
	{NULL, 0},
};

static const struct choice suppression_choices[] = {
	{"valgrind", SUPPRESSION_VALGRIND},
	{"lsan", SUPPRESSION_LEAKSANITIZER},
	{NULL, 0},
};

static const struct choice help_topic_choices[] = {
	{"leaks", HELP_LEAKS},
	{"probes", HELP_PROBES},
	{NULL, 0},
};

static const struct choice snapshot_choices[] = {
	{"stop", false},
	{"fork", true},
	{NULL, 0},
};

static const struct choice children_choices[] = {
	{"late", CHILDREN_LATE},
	{"exact", CHILDREN_EXACT},
	{"none", CHILDREN_NONE},
	{NULL, 0},
};

/* A member of a part: type and name. */
#define FIELD(p, type, f) .part = (p), .field = offsetof(type, f), .size = sizeof(((type *)0)->f)
#define IN_PACE(f)	  FIELD(PART_PACE, struct pace_config, f)
#define IN_TRACE(f)	  FIELD(PART_TRACE, struct trace_config, f)
#define IN_SYMBOLS(f)	  FIELD(PART_SYMBOLS, struct symbolizer_options, f)
#define IN_VERDICT(f)	  FIELD(PART_VERDICT, struct verdict_config, f)
#define IN_FILTER(f)	  FIELD(PART_FILTER, struct filter_config, f)
#define IN_SHOW(f)	  FIELD(PART_SHOW, struct show_config, f)
#define IN_REPLAY(f)	  FIELD(PART_REPLAY, struct replay_config, f)
#define IN_SURVEY(f)	  FIELD(PART_SURVEY, struct survey_config, f)
/* A part that is one value. */
#define IS(p, type) .part = (p), .size = sizeof(type)
#define VALUE(fn)   .apply = (fn), .needs_value = true
#define FLAG(fn)    .apply = (fn)

/* clang-format off */
const struct option_row option_rows[] = {
	{"pid", 'p', .groups = OPTIONS_PID, VALUE(apply_pids), IS(PART_PIDS, struct pid_list),
	 .expected = "is not a PID or a list of PIDs; give e.g. 1234 or 1234,5678"},
	{"interval", 'i', .groups = OPTIONS_INTERVAL, VALUE(apply_duration), IN_PACE(interval_ns),
	 .min = 10 * NS_PER_MS, .max = NS_PER_YEAR,
	 .expected = "is not a duration (10ms to 1 year); give e.g. 10, 500ms, 2s, 5m"},
	{"count", 'n', .groups = OPTIONS_INTERVAL, VALUE(apply_count), IN_PACE(count),
	 .min = 1, .max = 1000000000,
	 .expected = "is not a number of snapshots; give 1 or more"},
	{"top", 'T', .groups = OPTIONS_REPORT | OPTIONS_SURVEY, VALUE(apply_count), IN_SHOW(top), .min = 1, .max = 1000000,
	 .expected = "is not a number of stacks; give 1 to 1000000"},
	{"min-size", 'z', .groups = OPTIONS_TRACE, VALUE(apply_size), IN_TRACE(min_size), .max = UINT64_MAX,
	 .expected = "is not a size in bytes; give e.g. 4096, 64k, 1M"},
	{"max-size", 'Z', .groups = OPTIONS_TRACE, VALUE(apply_size), IN_TRACE(max_size), .min = 1,
	 .max = UINT64_MAX, .expected = "is not a size in bytes above 0; give e.g. 4096, 64k, 1M"},
	{"older", 0, .groups = OPTIONS_TRACE, VALUE(apply_duration), IN_TRACE(older_ns),
	 .min = NS_PER_MS, .max = NS_PER_YEAR,
	 .expected = "is not a duration (1ms to 1 year); give e.g. 10, 500ms, 2s, 5m"},
	{"sample", 's', .groups = OPTIONS_TRACE | OPTIONS_SURVEY, VALUE(apply_size), IS(PART_SAMPLE, uint64_t),
	 .min = 1, .max = MAX_SAMPLE_BYTES,
	 .expected = "is not a sampling rate in bytes (1 to 1G); give e.g. 64k, 512k, or leave it "
		     "out to record every allocation"},
	{"format", 'f', .groups = OPTIONS_REPORT | OPTIONS_SURVEY | OPTIONS_DOCTOR, VALUE(apply_format), IN_SHOW(format), .expected = "is not a format"},
	{"output", 'o', .groups = OPTIONS_OUTPUT, VALUE(apply_output), IN_SHOW(output),
	 .expected = "is not a file name; give a path, or - for standard output"},
	{"sort", 0, .groups = OPTIONS_REPORT, VALUE(apply_sort), IN_SHOW(sort),
	 .expected = "is not an order; give one of live, alloc, growth, count, suspect"},
	{"merge", 0, .groups = OPTIONS_REPORT, FLAG(apply_true), IN_SHOW(merge)},
	{"no-inlines", 0, .groups = OPTIONS_TRACE | OPTIONS_SURVEY, FLAG(apply_false), IN_SYMBOLS(inlines)},
	{"attach", 0, .groups = OPTIONS_TRACE, VALUE(apply_choice), IN_TRACE(attach), .choices = attach_choices,
	 .expected = "is not a way to attach; give one of auto, session, multi, single"},
	{"stack", 0, .groups = OPTIONS_TRACE, VALUE(apply_choice), IN_TRACE(frame_pointers), .choices = stack_choices,
	 .expected = "is not a way to walk the stack; give one of auto, dwarf, fp"},
	{"depth", 0, .groups = OPTIONS_TRACE, VALUE(apply_count), IN_TRACE(depth), .min = 2,
	 .max = ABI_MAX_FRAMES, .expected = "is not a number of frames; give 2 to 128"},
	{"mmap", 0, .groups = OPTIONS_TRACE, FLAG(apply_true), IN_TRACE(mmap)},
	{"object", 'O', .groups = OPTIONS_TRACE, VALUE(apply_text), IN_TRACE(object),
	 .expected = "is not an object; give the path or file name of a library or executable"},
	{"symbols-prefix", 0, .groups = OPTIONS_TRACE, VALUE(apply_strings), IN_TRACE(symbols_prefixes),
	 .expected = "is not a prefix; give e.g. je_ for je_malloc and je_free"},
	{"alloc-fn", 0, .groups = OPTIONS_TRACE, VALUE(apply_alloc_fn), IN_TRACE(alloc_fns),
	 .expected = "is not NAME:SIZEARG[:COUNTARG]; give e.g. pool_alloc:2 when the second "
		     "argument is the size"},
	{"free-fn", 0, .groups = OPTIONS_TRACE, VALUE(apply_free_fn), IN_TRACE(free_fns),
	 .expected = "is not NAME:PTRARG; give e.g. pool_free:1 when the first argument is the "
		     "block"},
	{"children", 0, .groups = OPTIONS_TRACE, VALUE(apply_children), IN_TRACE(children), .choices = children_choices,
	 .expected = "is not a way to follow children; give one of exact, late, none"},
	{"no-follow", 0, .groups = OPTIONS_TRACE, FLAG(apply_no_follow), IN_TRACE(children)},
	{"max-live", 0, .groups = OPTIONS_TRACE, VALUE(apply_count), IN_TRACE(max_live), .min = 1,
	 .max = 1u << 28, .expected = "is not a number of blocks; give 1 to 268435456"},
	{"max-stacks", 0, .groups = OPTIONS_TRACE, VALUE(apply_count), IN_TRACE(max_stacks), .min = 1,
	 .max = 1u << 24, .expected = "is not a number of stacks; give 1 to 16777216"},
	{"debuginfod", 0, .groups = OPTIONS_TRACE | OPTIONS_SURVEY, FLAG(apply_debuginfod), IN_SYMBOLS(debuginfod)},
	{"no-debuginfod", 0, .groups = OPTIONS_TRACE | OPTIONS_SURVEY, FLAG(apply_false), IN_SYMBOLS(debuginfod)},
	{"error-exitcode", 0, .groups = OPTIONS_TRACE, VALUE(apply_count), IS(PART_EXITCODE, int), .min = 1,
	 .max = 255, .expected = "is not an exit status; give 1 to 255"},
	{"verdict", 0, .groups = OPTIONS_TRACE, FLAG(apply_true), IN_VERDICT(wanted)},
	{"max-pause", 0, .groups = OPTIONS_TRACE, VALUE(apply_duration), IN_VERDICT(max_pause_ns),
	 .min = NS_PER_MS, .max = 3600 * NS_PER_S,
	 .expected = "is not a duration (1ms to 1h); give e.g. 100ms, 2s"},
	{"snapshot", 0, .groups = OPTIONS_TRACE, VALUE(apply_choice), IN_VERDICT(by_copy), .choices = snapshot_choices,
	 .expected = "is not a way to take a verdict; give one of stop, fork"},
	{"leak-check-heuristics", 0, .groups = OPTIONS_TRACE, VALUE(apply_heuristics), IN_VERDICT(heuristics),
	 .expected = "is not all, none, or a list of stdstring, length64, newarray, multipleinheritance"},
	{"contents", 0, .groups = OPTIONS_TRACE, VALUE(apply_count), IN_VERDICT(contents), .min = 1, .max = 4096,
	 .expected = "is not a number of bytes; give 1 to 4096"},
	{"tagged", 0, .groups = OPTIONS_TRACE, FLAG(apply_true), IN_VERDICT(tagged)},
	{"check-frees", 0, .groups = OPTIONS_TRACE, FLAG(apply_check_frees), .may_have_value = true,
	 IN_TRACE(check_frees), .min = 1, .max = 1u << 24,
	 .expected = "is not a number of freed blocks to remember; give 1 to 16777216"},
	{"leak-only", 0, .groups = OPTIONS_REPORT, FLAG(apply_leak_only), IN_FILTER(leak_only)},
	{"suppressions", 0, .groups = OPTIONS_REPORT, VALUE(apply_strings), IN_FILTER(suppressions),
	 .expected = "is not a file name; give a file in the format of LeakSanitizer or Valgrind"},
	{"no-default-suppressions", 0, .groups = OPTIONS_REPORT, FLAG(apply_false), IN_FILTER(default_suppressions)},
	{"gen-suppressions", 0, .groups = OPTIONS_REPORT, FLAG(apply_gen_suppressions), .may_have_value = true,
	 IN_SHOW(gen_suppressions), .choices = suppression_choices,
	 .expected = "is not a format of suppressions; give valgrind or lsan"},
	{"at", 0, .groups = OPTIONS_TIMES, VALUE(apply_time), IN_REPLAY(times.at), .expected = expected_time},
	{"from", 0, .groups = OPTIONS_TIMES, VALUE(apply_time), IN_REPLAY(times.from), .expected = expected_time},
	{"to", 0, .groups = OPTIONS_TIMES, VALUE(apply_time), IN_REPLAY(times.to), .expected = expected_time},
	{"suspects", 0, .groups = OPTIONS_SURVEY, VALUE(apply_count), IN_SURVEY(probes.suspects), .min = 1, .max = 64,
	 .expected = "is not a number of processes; give 1 to 64"},
	{"min-growth", 0, .groups = OPTIONS_SURVEY, VALUE(apply_size), IN_SURVEY(probes.min_growth), .max = UINT64_MAX,
	 .expected = "is not a growth in bytes per hour; give e.g. 1M, 64k"},
	{"window", 0, .groups = OPTIONS_SURVEY, VALUE(apply_duration), IN_SURVEY(probes.window_ns),
	 .min = NS_PER_S, .max = NS_PER_YEAR,
	 .expected = "is not a duration (1s to 1 year); give e.g. 10, 30s, 2m"},
	{"budget", 0, .groups = OPTIONS_SURVEY, VALUE(apply_budget), IN_SURVEY(probes.budget),
	 .expected = "is not a share of a CPU in percent (0.1 to 100); give e.g. 2 or 0.5"},
	{"record", 0, .groups = OPTIONS_SURVEY, VALUE(apply_text), IN_SURVEY(record),
	 .expected = "is not a file name; give the path of the recording"},
	{"no-drill", 0, .groups = OPTIONS_SURVEY, FLAG(apply_false), IN_SURVEY(probes.wanted)},
	{"metrics", 0, .groups = OPTIONS_SURVEY, VALUE(apply_metrics), IN_SURVEY(metrics),
	 .expected = "is not an address and a port; give e.g. :9435 (on the loopback), "
		     "192.0.2.1:9435, [2001:db8::1]:9435"},
	{"metrics-processes", 0, .groups = OPTIONS_SURVEY, VALUE(apply_count), IN_SURVEY(metrics.processes),
	 .max = 10000, .expected = "is not a number of processes; give 0 to 10000"},
	{"cgroup", 0, .groups = OPTIONS_SURVEY, VALUE(apply_text), IN_SURVEY(scope.cgroup),
	 .expected = "is not a control group; give its path, e.g. /system.slice/nginx.service"},
	{"container", 0, .groups = OPTIONS_SURVEY, VALUE(apply_text), IN_SURVEY(scope.container),
	 .expected = "is not a container; give its name, or the beginning of its id"},
	{"user", 0, .groups = OPTIONS_SURVEY, VALUE(apply_user), IN_SURVEY(scope.user),
	 .expected = "is not a user; give a name or a number"},
	{"comm", 0, .groups = OPTIONS_SURVEY, VALUE(apply_regex), IN_SURVEY(scope.comm),
	 .expected = "is not a regular expression; give e.g. '^redis'"},
	{"exclude", 0, .groups = OPTIONS_SURVEY, VALUE(apply_regex), IN_SURVEY(scope.exclude),
	 .expected = "is not a regular expression; give e.g. '^(bash|ssh)'"},
	{"verbose", 'v', .groups = 0, FLAG(apply_verbose)},
	{"version", 0, .groups = 0, FLAG(apply_version)},
	{"help", 'h', .groups = 0, FLAG(apply_help), .may_have_value = true,
	 .choices = help_topic_choices, .expected = "is not a topic; give leaks or probes"},
};
/* clang-format on */

_Static_assert(ARRAY_SIZE(option_rows) <= OPTION_ROWS_MAX, "getopt's tables are too small");

const size_t option_row_count = ARRAY_SIZE(option_rows);
