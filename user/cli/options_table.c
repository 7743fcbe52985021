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

static void *field_of(const struct option_row *row, struct options_storage *storage)
{
	return (char *)&storage->options + row->field;
}

static void set_number(const struct option_row *row, struct options_storage *storage,
		       uint64_t number)
{
	if (row->size == sizeof(uint32_t))
		*(uint32_t *)field_of(row, storage) = (uint32_t)number;
	else
		*(uint64_t *)field_of(row, storage) = number;
}

static int apply_number(const struct option_row *row, struct options_storage *storage,
			const char *shown, const char *value,
			int (*parse)(const char *text, uint64_t *number))
{
	uint64_t number;

	if (parse(value, &number) || number < row->min || number > row->max)
		return option_refuse(row, shown, value);
	set_number(row, storage, number);
	return 0;
}

static int apply_duration(const struct option_row *row, struct options_storage *storage,
			  const char *shown, const char *value)
{
	return apply_number(row, storage, shown, value, parse_duration);
}

static int apply_size(const struct option_row *row, struct options_storage *storage,
		      const char *shown, const char *value)
{
	return apply_number(row, storage, shown, value, parse_size);
}

static int apply_count(const struct option_row *row, struct options_storage *storage,
		       const char *shown, const char *value)
{
	uint64_t number;

	if (parse_count(value, row->min, row->max, &number))
		return option_refuse(row, shown, value);
	set_number(row, storage, number);
	return 0;
}

static int apply_choice(const struct option_row *row, struct options_storage *storage,
			const char *shown, const char *value)
{
	for (const struct choice *c = row->choices; c->name; c++) {
		if (!strcmp(c->name, value)) {
			set_number(row, storage, c->value);
			return 0;
		}
	}
	return option_refuse(row, shown, value);
}

static int apply_text(const struct option_row *row, struct options_storage *storage,
		      const char *shown, const char *value)
{
	if (!*value)
		return option_refuse(row, shown, value);
	*(const char **)field_of(row, storage) = value;
	return 0;
}

static int apply_true(const struct option_row *row, struct options_storage *storage,
		      const char *shown, const char *value)
{
	(void)shown;
	(void)value;
	*(bool *)field_of(row, storage) = true;
	return 0;
}

static int apply_false(const struct option_row *row, struct options_storage *storage,
		       const char *shown, const char *value)
{
	(void)shown;
	(void)value;
	*(bool *)field_of(row, storage) = false;
	return 0;
}

static int add_string(struct string_list *list, const char *string)
{
	const char **grown = reallocarray(list->items, list->count + 2, sizeof(*grown));

	if (!grown)
		return log_errno(ENOMEM, "reading the command line");
	grown[list->count++] = string;
	grown[list->count] = NULL;
	list->items = grown;
	return 0;
}

static int apply_pids(const struct option_row *row, struct options_storage *storage,
		      const char *shown, const char *value)
{
	struct options *options = &storage->options;
	int err = parse_pids(value, &storage->pids, &options->pid_count);

	options->pids = storage->pids;
	if (err == -ENOMEM)
		return log_errno(err, "reading the command line");
	return err ? option_refuse(row, shown, value) : 0;
}

static int apply_symbols_prefix(const struct option_row *row, struct options_storage *storage,
				const char *shown, const char *value)
{
	struct string_list *list = &storage->symbols_prefixes;
	int err;

	if (!*value)
		return option_refuse(row, shown, value);
	err = add_string(list, value);
	storage->options.symbols_prefixes = list->items;
	storage->options.symbols_prefix_count = list->count;
	return err;
}

static int apply_alloc_fn(const struct option_row *row, struct options_storage *storage,
			  const char *shown, const char *value)
{
	struct string_list *list = &storage->alloc_fns;
	struct alloc_fn fn;
	int err;

	if (alloc_fn_parse_alloc(value, &fn))
		return option_refuse(row, shown, value);
	alloc_fn_release(&fn);
	err = add_string(list, value);
	storage->options.alloc_fns = list->items;
	storage->options.alloc_fn_count = list->count;
	return err;
}

static int apply_free_fn(const struct option_row *row, struct options_storage *storage,
			 const char *shown, const char *value)
{
	struct string_list *list = &storage->free_fns;
	struct alloc_fn fn;
	int err;

	if (alloc_fn_parse_free(value, &fn))
		return option_refuse(row, shown, value);
	alloc_fn_release(&fn);
	err = add_string(list, value);
	storage->options.free_fns = list->items;
	storage->options.free_fn_count = list->count;
	return err;
}

static int apply_suppressions(const struct option_row *row, struct options_storage *storage,
			      const char *shown, const char *value)
{
	struct string_list *list = &storage->suppressions;
	int err;

	if (!*value)
		return option_refuse(row, shown, value);
	err = add_string(list, value);
	storage->options.suppressions = list->items;
	storage->options.suppression_count = list->count;
	return err;
}

static int apply_gen_suppressions(const struct option_row *row, struct options_storage *storage,
				  const char *shown, const char *value)
{
	return apply_choice(row, storage, shown, value ? value : "valgrind");
}

static int apply_check_frees(const struct option_row *row, struct options_storage *storage,
			     const char *shown, const char *value)
{
	return apply_count(row, storage, shown, value ? value : "65536");
}

static int apply_leak_only(const struct option_row *row, struct options_storage *storage,
			   const char *shown, const char *value)
{
	(void)row;
	(void)shown;
	(void)value;
	storage->options.leak_only = storage->options.verdict = true;
	return 0;
}

/* Both --children and --no-follow: which one came first must not decide silently. */
static int set_children(struct options_storage *storage, const char *shown,
			enum option_children children)
{
	struct options *options = &storage->options;

	if (options->children != OPTION_CHILDREN_DEFAULT && options->children != children) {
		log_error("%s: contradicts an earlier --children or --no-follow; give only one",
			  shown);
		return -EINVAL;
	}
	options->children = children;
	return 0;
}

static int apply_children(const struct option_row *row, struct options_storage *storage,
			  const char *shown, const char *value)
{
	for (const struct choice *c = row->choices; c->name; c++) {
		if (!strcmp(c->name, value))
			return set_children(storage, shown, (enum option_children)c->value);
	}
	return option_refuse(row, shown, value);
}

static int apply_no_follow(const struct option_row *row, struct options_storage *storage,
			   const char *shown, const char *value)
{
	(void)row;
	(void)value;
	return set_children(storage, shown, OPTION_CHILDREN_NONE);
}

static int apply_sort(const struct option_row *row, struct options_storage *storage,
		      const char *shown, const char *value)
{
	return rank_parse(value, &storage->options.sort) ? option_refuse(row, shown, value) : 0;
}

static int apply_heuristics(const struct option_row *row, struct options_storage *storage,
			    const char *shown, const char *value)
{
	int err = reach_parse_heuristics(value, &storage->options.heuristics);

	return err ? option_refuse(row, shown, value) : 0;
}

static int apply_format(const struct option_row *row, struct options_storage *storage,
			const char *shown, const char *value)
{
	const struct exporter_format *format = export_find_format(value);
	const char *why = format && format->unavailable ? format->unavailable() : NULL;
	char known[256] = "";

	(void)row;
	if (why) {
		log_error("%s %s: this memleakbpf was built without it: %s; report can make it "
			  "of a recording elsewhere",
			  shown, value, why);
		return -EINVAL;
	}
	if (format) {
		storage->options.format = format;
		return 0;
	}
	for (size_t i = 0; (format = export_format_at(i)) != NULL; i++) {
		size_t used = strlen(known);

		snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", format->name);
	}
	log_error("%s: '%s' is not a format; give one of %s", shown, value, known);
	return -EINVAL;
}

static int apply_output(const struct option_row *row, struct options_storage *storage,
			const char *shown, const char *value)
{
	if (!strcmp(value, "-")) {
		storage->options.output = NULL;
		return 0;
	}
	return apply_text(row, storage, shown, value);
}

static const char expected_time[] =
	"is not a time; give one since the recording's beginning (90s, 5m, 0) or a date "
	"(2026-01-02T03:04:05, with Z for UTC)";

static int apply_time(const struct option_row *row, struct options_storage *storage,
		      const char *shown, const char *value)
{
	struct option_time *time = field_of(row, storage);

	*time = (struct option_time){.given = true};
	if (!strcmp(value, "0") || !parse_duration(value, &time->ns))
		return 0;
	time->absolute = true;
	return parse_date(value, &time->ns) ? option_refuse(row, shown, value) : 0;
}

static int apply_debuginfod(const struct option_row *row, struct options_storage *storage,
			    const char *shown, const char *value)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	(void)row;
	(void)value;
	if (!urls || !*urls) {
		log_error("%s: DEBUGINFOD_URLS is not set, so there is no server to ask; set it "
			  "(sudo drops it: sudo --preserve-env=DEBUGINFOD_URLS ...)",
			  shown);
		return -EINVAL;
	}
	storage->options.debuginfod = true;
	return 0;
}

static int apply_verbose(const struct option_row *row, struct options_storage *storage,
			 const char *shown, const char *value)
{
	(void)row;
	(void)shown;
	(void)value;
	storage->options.verbose++;
	return 0;
}

/* The first of --help and --version decides. */
static int apply_action(struct options_storage *storage, enum options_action action)
{
	if (storage->options.action == ACTION_RUN)
		storage->options.action = action;
	return 0;
}

static int apply_help(const struct option_row *row, struct options_storage *storage,
		      const char *shown, const char *value)
{
	int err = value ? apply_choice(row, storage, shown, value) : 0;

	return err ? err : apply_action(storage, ACTION_HELP);
}

static int apply_version(const struct option_row *row, struct options_storage *storage,
			 const char *shown, const char *value)
{
	(void)row;
	(void)shown;
	(void)value;
	return apply_action(storage, ACTION_VERSION);
}

static int apply_regex(const struct option_row *row, struct options_storage *storage,
		       const char *shown, const char *value)
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
	return apply_text(row, storage, shown, value);
}

/* A name, or a number that need not have one (those of containers have none here). */
static int apply_user(const struct option_row *row, struct options_storage *storage,
		      const char *shown, const char *value)
{
	const struct passwd *user = getpwnam(value);
	uint64_t number;

	if (user)
		storage->options.user = user->pw_uid;
	else if (!parse_count(value, 0, UINT32_MAX - 1, &number))
		storage->options.user = (uid_t)number;
	else
		return option_refuse(row, shown, value);
	return 0;
}

/* Percent, with or without the sign: "2", "0.5%". */
static int apply_budget(const struct option_row *row, struct options_storage *storage,
			const char *shown, const char *value)
{
	char *end;
	double percent = strtod(value, &end);

	if (end == value || (*end && strcmp(end, "%") != 0) || !(percent >= 0.1 && percent <= 100))
		return option_refuse(row, shown, value);
	storage->options.budget = (uint32_t)(percent * 10 + 0.5);
	return 0;
}

static int apply_metrics(const struct option_row *row, struct options_storage *storage,
			 const char *shown, const char *value)
{
	if (listen_parse(value, &storage->options.metrics_address))
		return option_refuse(row, shown, value);
	storage->options.metrics = true;
	return 0;
}

static const struct choice attach_choices[] = {
	{"auto", OPTION_ATTACH_AUTO},
	{"session", OPTION_ATTACH_SESSION},
	{"multi", OPTION_ATTACH_MULTI},
	{"single", OPTION_ATTACH_SINGLE},
	{NULL, 0},
};

static const struct choice stack_choices[] = {
	{"auto", OPTION_STACK_AUTO},
	{"dwarf", OPTION_STACK_DWARF},
	{"fp", OPTION_STACK_FP},
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
	{"stop", OPTION_SNAPSHOT_STOP},
	{"fork", OPTION_SNAPSHOT_FORK},
	{NULL, 0},
};

static const struct choice children_choices[] = {
	{"late", OPTION_CHILDREN_LATE},
	{"exact", OPTION_CHILDREN_EXACT},
	{"none", OPTION_CHILDREN_NONE},
	{NULL, 0},
};

#define FIELD(f)  .field = offsetof(struct options, f), .size = sizeof(((struct options *)0)->f)
#define VALUE(fn) .apply = (fn), .needs_value = true
#define FLAG(fn)  .apply = (fn)

/* clang-format off */
const struct option_row option_rows[] = {
	{"pid", 'p', .groups = OPTIONS_PID, VALUE(apply_pids),
	 .expected = "is not a PID or a list of PIDs; give e.g. 1234 or 1234,5678"},
	{"interval", 'i', .groups = OPTIONS_INTERVAL, VALUE(apply_duration), FIELD(interval_ns),
	 .min = 10 * NS_PER_MS, .max = NS_PER_YEAR,
	 .expected = "is not a duration (10ms to 1 year); give e.g. 10, 500ms, 2s, 5m"},
	{"count", 'n', .groups = OPTIONS_INTERVAL, VALUE(apply_count), FIELD(count),
	 .min = 1, .max = 1000000000,
	 .expected = "is not a number of snapshots; give 1 or more"},
	{"top", 'T', .groups = OPTIONS_REPORT | OPTIONS_SURVEY, VALUE(apply_count), FIELD(top), .min = 1, .max = 1000000,
	 .expected = "is not a number of stacks; give 1 to 1000000"},
	{"min-size", 'z', .groups = OPTIONS_TRACE, VALUE(apply_size), FIELD(min_size), .max = UINT64_MAX,
	 .expected = "is not a size in bytes; give e.g. 4096, 64k, 1M"},
	{"max-size", 'Z', .groups = OPTIONS_TRACE, VALUE(apply_size), FIELD(max_size), .min = 1,
	 .max = UINT64_MAX, .expected = "is not a size in bytes above 0; give e.g. 4096, 64k, 1M"},
	{"older", 0, .groups = OPTIONS_TRACE, VALUE(apply_duration), FIELD(older_ns),
	 .min = NS_PER_MS, .max = NS_PER_YEAR,
	 .expected = "is not a duration (1ms to 1 year); give e.g. 10, 500ms, 2s, 5m"},
	{"sample", 's', .groups = OPTIONS_TRACE | OPTIONS_SURVEY, VALUE(apply_size), FIELD(sample_bytes),
	 .min = 1, .max = MAX_SAMPLE_BYTES,
	 .expected = "is not a sampling rate in bytes (1 to 1G); give e.g. 64k, 512k, or leave it "
		     "out to record every allocation"},
	{"format", 'f', .groups = OPTIONS_REPORT | OPTIONS_SURVEY | OPTIONS_DOCTOR, VALUE(apply_format), .expected = "is not a format"},
	{"output", 'o', .groups = OPTIONS_OUTPUT, VALUE(apply_output), FIELD(output),
	 .expected = "is not a file name; give a path, or - for standard output"},
	{"sort", 0, .groups = OPTIONS_REPORT, VALUE(apply_sort),
	 .expected = "is not an order; give one of live, alloc, growth, count, suspect"},
	{"merge", 0, .groups = OPTIONS_REPORT, FLAG(apply_true), FIELD(merge)},
	{"no-inlines", 0, .groups = OPTIONS_TRACE | OPTIONS_SURVEY, FLAG(apply_false), FIELD(inlines)},
	{"attach", 0, .groups = OPTIONS_TRACE, VALUE(apply_choice), FIELD(attach), .choices = attach_choices,
	 .expected = "is not a way to attach; give one of auto, session, multi, single"},
	{"stack", 0, .groups = OPTIONS_TRACE, VALUE(apply_choice), FIELD(stack), .choices = stack_choices,
	 .expected = "is not a way to walk the stack; give one of auto, dwarf, fp"},
	{"depth", 0, .groups = OPTIONS_TRACE, VALUE(apply_count), FIELD(depth), .min = 2,
	 .max = ABI_MAX_FRAMES, .expected = "is not a number of frames; give 2 to 128"},
	{"mmap", 0, .groups = OPTIONS_TRACE, FLAG(apply_true), FIELD(mmap)},
	{"object", 'O', .groups = OPTIONS_TRACE, VALUE(apply_text), FIELD(object),
	 .expected = "is not an object; give the path or file name of a library or executable"},
	{"symbols-prefix", 0, .groups = OPTIONS_TRACE, VALUE(apply_symbols_prefix),
	 .expected = "is not a prefix; give e.g. je_ for je_malloc and je_free"},
	{"alloc-fn", 0, .groups = OPTIONS_TRACE, VALUE(apply_alloc_fn),
	 .expected = "is not NAME:SIZEARG[:COUNTARG]; give e.g. pool_alloc:2 when the second "
		     "argument is the size"},
	{"free-fn", 0, .groups = OPTIONS_TRACE, VALUE(apply_free_fn),
	 .expected = "is not NAME:PTRARG; give e.g. pool_free:1 when the first argument is the "
		     "block"},
	{"children", 0, .groups = OPTIONS_TRACE, VALUE(apply_children), .choices = children_choices,
	 .expected = "is not a way to follow children; give one of exact, late, none"},
	{"no-follow", 0, .groups = OPTIONS_TRACE, FLAG(apply_no_follow)},
	{"max-live", 0, .groups = OPTIONS_TRACE, VALUE(apply_count), FIELD(max_live), .min = 1,
	 .max = 1u << 28, .expected = "is not a number of blocks; give 1 to 268435456"},
	{"max-stacks", 0, .groups = OPTIONS_TRACE, VALUE(apply_count), FIELD(max_stacks), .min = 1,
	 .max = 1u << 24, .expected = "is not a number of stacks; give 1 to 16777216"},
	{"debuginfod", 0, .groups = OPTIONS_TRACE | OPTIONS_SURVEY, FLAG(apply_debuginfod)},
	{"no-debuginfod", 0, .groups = OPTIONS_TRACE | OPTIONS_SURVEY, FLAG(apply_false), FIELD(debuginfod)},
	{"error-exitcode", 0, .groups = OPTIONS_TRACE, VALUE(apply_count), FIELD(error_exitcode), .min = 1,
	 .max = 255, .expected = "is not an exit status; give 1 to 255"},
	{"verdict", 0, .groups = OPTIONS_TRACE, FLAG(apply_true), FIELD(verdict)},
	{"max-pause", 0, .groups = OPTIONS_TRACE, VALUE(apply_duration), FIELD(max_pause_ns),
	 .min = NS_PER_MS, .max = 3600 * NS_PER_S,
	 .expected = "is not a duration (1ms to 1h); give e.g. 100ms, 2s"},
	{"snapshot", 0, .groups = OPTIONS_TRACE, VALUE(apply_choice), FIELD(snapshot), .choices = snapshot_choices,
	 .expected = "is not a way to take a verdict; give one of stop, fork"},
	{"leak-check-heuristics", 0, .groups = OPTIONS_TRACE, VALUE(apply_heuristics),
	 .expected = "is not all, none, or a list of stdstring, length64, newarray, multipleinheritance"},
	{"contents", 0, .groups = OPTIONS_TRACE, VALUE(apply_count), FIELD(contents), .min = 1, .max = 4096,
	 .expected = "is not a number of bytes; give 1 to 4096"},
	{"tagged", 0, .groups = OPTIONS_TRACE, FLAG(apply_true), FIELD(tagged)},
	{"check-frees", 0, .groups = OPTIONS_TRACE, FLAG(apply_check_frees), .may_have_value = true,
	 FIELD(check_frees), .min = 1, .max = 1u << 24,
	 .expected = "is not a number of freed blocks to remember; give 1 to 16777216"},
	{"leak-only", 0, .groups = OPTIONS_REPORT, FLAG(apply_leak_only)},
	{"suppressions", 0, .groups = OPTIONS_REPORT, VALUE(apply_suppressions),
	 .expected = "is not a file name; give a file in the format of LeakSanitizer or Valgrind"},
	{"no-default-suppressions", 0, .groups = OPTIONS_REPORT, FLAG(apply_false), FIELD(default_suppressions)},
	{"gen-suppressions", 0, .groups = OPTIONS_REPORT, FLAG(apply_gen_suppressions), .may_have_value = true,
	 FIELD(gen_suppressions), .choices = suppression_choices,
	 .expected = "is not a format of suppressions; give valgrind or lsan"},
	{"at", 0, .groups = OPTIONS_TIMES, VALUE(apply_time), FIELD(at), .expected = expected_time},
	{"from", 0, .groups = OPTIONS_TIMES, VALUE(apply_time), FIELD(from), .expected = expected_time},
	{"to", 0, .groups = OPTIONS_TIMES, VALUE(apply_time), FIELD(to), .expected = expected_time},
	{"suspects", 0, .groups = OPTIONS_SURVEY, VALUE(apply_count), FIELD(suspects), .min = 1, .max = 64,
	 .expected = "is not a number of processes; give 1 to 64"},
	{"min-growth", 0, .groups = OPTIONS_SURVEY, VALUE(apply_size), FIELD(min_growth), .max = UINT64_MAX,
	 .expected = "is not a growth in bytes per hour; give e.g. 1M, 64k"},
	{"window", 0, .groups = OPTIONS_SURVEY, VALUE(apply_duration), FIELD(window_ns),
	 .min = NS_PER_S, .max = NS_PER_YEAR,
	 .expected = "is not a duration (1s to 1 year); give e.g. 10, 30s, 2m"},
	{"budget", 0, .groups = OPTIONS_SURVEY, VALUE(apply_budget),
	 .expected = "is not a share of a CPU in percent (0.1 to 100); give e.g. 2 or 0.5"},
	{"record", 0, .groups = OPTIONS_SURVEY, VALUE(apply_text), FIELD(record),
	 .expected = "is not a file name; give the path of the recording"},
	{"no-drill", 0, .groups = OPTIONS_SURVEY, FLAG(apply_false), FIELD(drill)},
	{"metrics", 0, .groups = OPTIONS_SURVEY, VALUE(apply_metrics),
	 .expected = "is not an address and a port; give e.g. :9435 (on the loopback), "
		     "192.0.2.1:9435, [2001:db8::1]:9435"},
	{"metrics-processes", 0, .groups = OPTIONS_SURVEY, VALUE(apply_count), FIELD(metrics_processes),
	 .max = 10000, .expected = "is not a number of processes; give 0 to 10000"},
	{"cgroup", 0, .groups = OPTIONS_SURVEY, VALUE(apply_text), FIELD(cgroup),
	 .expected = "is not a control group; give its path, e.g. /system.slice/nginx.service"},
	{"container", 0, .groups = OPTIONS_SURVEY, VALUE(apply_text), FIELD(container),
	 .expected = "is not a container; give its name, or the beginning of its id"},
	{"user", 0, .groups = OPTIONS_SURVEY, VALUE(apply_user),
	 .expected = "is not a user; give a name or a number"},
	{"comm", 0, .groups = OPTIONS_SURVEY, VALUE(apply_regex), FIELD(comm),
	 .expected = "is not a regular expression; give e.g. '^redis'"},
	{"exclude", 0, .groups = OPTIONS_SURVEY, VALUE(apply_regex), FIELD(exclude),
	 .expected = "is not a regular expression; give e.g. '^(bash|ssh)'"},
	{"verbose", 'v', .groups = 0, FLAG(apply_verbose)},
	{"version", 0, .groups = 0, FLAG(apply_version)},
	{"help", 'h', .groups = 0, FLAG(apply_help), .may_have_value = true, FIELD(help_topic),
	 .choices = help_topic_choices, .expected = "is not a topic; give leaks or probes"},
};
/* clang-format on */

const size_t option_row_count = ARRAY_SIZE(option_rows);
