// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/cli/options_table.h"
#include "user/heap/reach.h"

#define DEFAULT_INTERVAL_NS (10 * NS_PER_S)
#define DEFAULT_TOP	    10
#define DEFAULT_MAX_LIVE    2097152
#define DEFAULT_MAX_STACKS  65536
#define SURVEY_INTERVAL_NS  (2 * NS_PER_S)
#define SURVEY_SAMPLE_BYTES (64 * 1024)
#define DEFAULT_SUSPECTS    3
#define DEFAULT_MIN_GROWTH  (1024 * 1024)
#define DEFAULT_WINDOW_NS   (10 * NS_PER_S)
#define DEFAULT_BUDGET	    20 /* thousandths of a CPU */
#define DEFAULT_METRICS	    50 /* processes */

#define DEFAULT_MAX_PAUSE_NS (500 * NS_PER_MS)

#define LONG_BASE    256 /* getopt_long's values for long options: above every letter */
#define MAX_NAME     32
#define MAX_DISTANCE 2

/* ---- suggestions -------------------------------------------------------------------------- */

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* Levenshtein distance (insertions, deletions, replacements), of names below MAX_NAME. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[MAX_NAME + 1];
	size_t b_len = strlen(b);

	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < b_len; j++) {
			size_t above = row[j + 1];

			row[j + 1] = min3(above + 1, row[j] + 1, diagonal + (a[i] != b[j]));
			diagonal = above;
		}
	}
	return row[b_len];
}

/* The option that was probably meant, or NULL. `word` has no dashes. */
static const char *nearest_option(const char *word, unsigned groups)
{
	size_t best = MAX_DISTANCE + 1;
	const char *name = NULL;

	if (strlen(word) >= MAX_NAME)
		return NULL;
	/* To short words nearly everything is near. */
	if (best > strlen(word) / 3 + 1)
		best = strlen(word) / 3 + 1;
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		size_t distance;

		if ((row->groups && !(row->groups & groups)) || strlen(row->name) >= MAX_NAME)
			continue;
		distance = edit_distance(word, row->name);
		if (distance < best) {
			best = distance;
			name = row->name;
		}
	}
	return name;
}

/*
 * The options that begin with the word, for a message: "--min-size, --mmap"; empty when there are
 * none.
 */
static void list_completions(const char *word, unsigned groups, char *list, size_t size)
{
	size_t used = 0;

	*list = '\0';
	for (size_t i = 0; i < option_row_count && used < size; i++) {
		const struct option_row *row = &option_rows[i];

		if ((!row->groups || (row->groups & groups)) &&
		    !strncmp(row->name, word, strlen(word)))
			used += (size_t)snprintf(list + used, size - used, "%s--%s",
						 used ? ", " : "", row->name);
	}
}

/* ---- getopt ------------------------------------------------------------------------------- */

struct getopt_tables {
	char shorts[2 * OPTION_ROWS_MAX + 3];
	struct option longs[OPTION_ROWS_MAX + 1];
};

static void build_tables(struct getopt_tables *tables, unsigned groups)
{
	/* '+': the first word that is no option ends them, so that COMMAND keeps its own; files may
	 * stand anywhere. ':': a missing value is told apart from an unknown option. */
	char *s = stpcpy(tables->shorts, groups & OPTIONS_FILES ? ":" : "+:");

	memset(tables->longs, 0, sizeof(tables->longs));
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		tables->longs[i] = (struct option){
			.name = row->name,
			.has_arg = row->needs_value	 ? required_argument
				   : row->may_have_value ? optional_argument
							 : no_argument,
			.val = LONG_BASE + (int)i,
		};
		if (!row->letter)
			continue;
		*s++ = row->letter;
		if (row->needs_value)
			*s++ = ':';
	}
	*s = '\0';
}

static const struct option_row *row_of(int value)
{
	if (value >= LONG_BASE && (size_t)(value - LONG_BASE) < option_row_count)
		return &option_rows[value - LONG_BASE];
	for (size_t i = 0; i < option_row_count; i++) {
		if (value && option_rows[i].letter == value)
			return &option_rows[i];
	}
	return NULL;
}

/* "-i" or "--interval", as the user wrote it. */
static const char *shown_name(const struct option_row *row, int value, char buf[static MAX_NAME])
{
	if (value < LONG_BASE)
		snprintf(buf, MAX_NAME, "-%c", value);
	else
		snprintf(buf, MAX_NAME, "--%s", row->name);
	return buf;
}

static const char *program_of(const struct command *command, char buf[static MAX_NAME])
{
	snprintf(buf, MAX_NAME, "memleakbpf%s%s", command->name ? " " : "",
		 command->name ? command->name : "");
	return buf;
}

static int unknown_option(const struct command *command, const char *word, int letter)
{
	char program[MAX_NAME];
	const char *near;
	char name[MAX_NAME], list[256];

	program_of(command, program);
	if (letter && letter < LONG_BASE) {
		log_error("-%c: unknown option; see %s --help", letter, program);
		return -EINVAL;
	}
	if (letter) { /* a known one with "=value" that takes none */
		log_error("--%s: takes no value ('%s')", row_of(letter)->name, word);
		return -EINVAL;
	}
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	list_completions(name, command->groups, list, sizeof(list));
	near = nearest_option(name, command->groups);
	if (*list)
		log_error("%s: ambiguous option; did you mean one of %s?", word, list);
	else if (near && strcspn(word + 2, "=") < MAX_NAME)
		log_error("%s: unknown option; did you mean --%s?", word, near);
	else
		log_error("%s: unknown option; see %s --help", word, program);
	return -EINVAL;
}

static int apply_option(const struct command *command, struct options *options, int value)
{
	const struct option_row *row = row_of(value);
	char shown[MAX_NAME], program[MAX_NAME];

	shown_name(row, value, shown);
	if (row->groups && !(row->groups & command->groups)) {
		log_error("%s: not an option of '%s'; see %s --help", shown,
			  program_of(command, program), program);
		return -EINVAL;
	}
	return row->apply(row, options, shown, optarg);
}

static int missing_value(int value)
{
	const struct option_row *row = row_of(value);
	char shown[MAX_NAME];
	const char *give = row->expected ? strstr(row->expected, "give ") : NULL;

	shown_name(row, value, shown);
	log_error("%s: needs a value; %s", shown, give ? give : "see --help");
	return -EINVAL;
}

static int read_options(const struct command *command, int argc, char *argv[],
			struct options *options)
{
	struct getopt_tables tables;
	int value;

	build_tables(&tables, command->groups);
	opterr = 0;
	optind = 0; /* glibc: start anew, whatever was read before */
	while ((value = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
		int err;

		if (value == '?')
			err = unknown_option(command, argv[optind - 1], optopt);
		else if (value == ':')
			err = missing_value(optopt);
		else
			err = apply_option(command, options, value);
		if (err)
			return err;
		if (options->action != ACTION_RUN)
			return 0;
	}
	return 0;
}

/* ---- the words after the options ---------------------------------------------------------- */

static const struct command *find_command(const struct command *commands, const char *word)
{
	for (const struct command *c = commands; c->run || c->check || c->name; c++) {
		if (c->name && !strcmp(c->name, word))
			return c;
	}
	return NULL;
}

static int read_words(const struct command *commands, int argc, char *argv[],
		      struct options *options)
{
	const struct command *command = options->command;
	const char *word = optind < argc ? argv[optind] : NULL;
	bool dashes = optind > 1 && !strcmp(argv[optind - 1], "--");
	char program[MAX_NAME];

	if (command->groups & OPTIONS_FILES) {
		struct replay_config *replay = option_part(options, PART_REPLAY);

		replay->files = &argv[optind];
		replay->file_count = (size_t)(argc - optind);
		return 0;
	}
	if (!word) {
		if (!dashes || !(command->groups & OPTIONS_COMMAND))
			return 0;
		log_error("--: a COMMAND must follow; e.g. memleakbpf -- ls -l");
		return -EINVAL;
	}
	if (!(command->groups & OPTIONS_COMMAND)) {
		log_error("'%s': %s takes no such argument; see %s --help", word,
			  program_of(command, program), program);
		return -EINVAL;
	}
	if (!*word) {
		log_error("'': an empty COMMAND; give the program to run after --");
		return -EINVAL;
	}
	/* Without -- a slip is likelier than a program of that name. */
	if (!dashes && word[strspn(word, "0123456789,")] == '\0') {
		if (((struct pid_list *)option_part(options, PART_PIDS))->count)
			log_error("'%s': looks like one more PID; separate them by commas, e.g. "
				  "-p 12,34",
				  word);
		else
			log_error("'%s': looks like a PID; give -p %s (or -- %s to run a program "
				  "of that name)",
				  word, word, word);
		return -EINVAL;
	}
	if (!dashes && find_command(commands, word)) {
		log_error("'%s': a subcommand comes before all options; give memleakbpf %s ... (or "
			  "-- %s to run a program of that name)",
			  word, word, word);
		return -EINVAL;
	}
	*(char *const **)option_part(options, PART_ARGV) = &argv[optind];
	return 0;
}

/* ---- public ------------------------------------------------------------------------------- */

#define AT(config, member) (offsetof(union command_config, config.member) + 1)

const struct config_layout watch_layout = {{
	[PART_PIDS] = AT(watch, pids),
	[PART_ARGV] = AT(watch, argv),
	[PART_PACE] = AT(watch, pace),
	[PART_TRACE] = AT(watch, trace),
	[PART_SAMPLE] = AT(watch, sample_bytes),
	[PART_SYMBOLS] = AT(watch, symbols),
	[PART_VERDICT] = AT(watch, verdict),
	[PART_EXITCODE] = AT(watch, error_exitcode),
	[PART_FILTER] = AT(watch, filter),
	[PART_SHOW] = AT(watch, show),
}};

const struct config_layout replay_layout = {{
	[PART_PIDS] = AT(replay, pids),
	[PART_FILTER] = AT(replay, filter),
	[PART_SHOW] = AT(replay, show),
	[PART_REPLAY] = offsetof(union command_config, replay) + 1,
}};

const struct config_layout survey_layout = {{
	[PART_PACE] = AT(survey, pace),
	[PART_SAMPLE] = AT(survey, sample_bytes),
	[PART_SYMBOLS] = AT(survey, symbols),
	[PART_SHOW] = AT(survey, show),
	[PART_SURVEY] = offsetof(union command_config, survey) + 1,
}};

const struct config_layout doctor_layout = {{
	[PART_PIDS] = AT(doctor, pids),
	[PART_SHOW] = AT(doctor, show),
}};

static void set_default(struct options *options, enum option_part part, const void *value,
			size_t size)
{
	void *place = option_part(options, part);

	if (place)
		memcpy(place, value, size);
}

static void set_defaults(struct options *options)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	const struct trace_config trace = {
		.max_size = UINT64_MAX,
		.attach = ATTACH_AUTO,
		.depth = ABI_MAX_FRAMES,
		.max_live = DEFAULT_MAX_LIVE,
		.max_stacks = DEFAULT_MAX_STACKS,
		.children = CHILDREN_LATE,
	};
	const struct symbolizer_options symbols = {.inlines = true, .debuginfod = urls && *urls};
	const struct verdict_config verdict = {.max_pause_ns = DEFAULT_MAX_PAUSE_NS,
					       .heuristics = REACH_ALL};
	const struct filter_config filter = {.default_suppressions = true};
	const struct show_config show = {
		.format = export_find_format("text"), .top = DEFAULT_TOP, .sort = RANK_LIVE};
	const struct survey_config survey = {
		.scope = {.user = (uid_t)-1},
		.probes = {.wanted = true,
			   .suspects = DEFAULT_SUSPECTS,
			   .min_growth = DEFAULT_MIN_GROWTH,
			   .window_ns = DEFAULT_WINDOW_NS,
			   .budget = DEFAULT_BUDGET},
		.metrics = {.processes = DEFAULT_METRICS},
	};

	/* The survey's own first: parts that others have, too, are within it. */
	set_default(options, PART_SURVEY, &survey, sizeof(survey));
	set_default(options, PART_TRACE, &trace, sizeof(trace));
	set_default(options, PART_SYMBOLS, &symbols, sizeof(symbols));
	set_default(options, PART_VERDICT, &verdict, sizeof(verdict));
	set_default(options, PART_FILTER, &filter, sizeof(filter));
	set_default(options, PART_SHOW, &show, sizeof(show));
}

static void free_strings(const struct string_list *list)
{
	free((void *)list->items);
}

void options_free(const struct options *options)
{
	/* Const to its users only. */
	struct options *o = (struct options *)options;
	const struct trace_config *trace;
	const struct filter_config *filter;
	const struct pid_list *pids;

	if (!o)
		return;
	pids = option_part(o, PART_PIDS);
	trace = option_part(o, PART_TRACE);
	filter = option_part(o, PART_FILTER);
	if (pids)
		free((void *)pids->pids);
	if (trace) {
		free_strings(&trace->symbols_prefixes);
		free_strings(&trace->alloc_fns);
		free_strings(&trace->free_fns);
	}
	if (filter)
		free_strings(&filter->suppressions);
	free(o);
}

int options_parse(const struct command *commands, int argc, char *argv[],
		  const struct options **out)
{
	const struct command *command = argc > 1 ? find_command(commands, argv[1]) : NULL;
	struct show_config *show;
	struct options *options;
	int err;

	if (command) {
		argc--;
		argv++;
	} else {
		command = &commands[0];
	}
	options = calloc(1, sizeof(*options));
	if (!options)
		return log_errno(ENOMEM, "reading the command line");
	options->command = command;
	set_defaults(options);
	err = read_options(command, argc, argv, options);
	if (!err && options->action == ACTION_RUN) {
		err = read_words(commands, argc, argv, options);
		show = option_part(options, PART_SHOW);
		show->verbose = options->verbose > 0;
		if (!err && command->check)
			err = command->check(options);
	}
	if (err) {
		options_free(options);
		return err;
	}
	*out = options;
	return 0;
}

static int check_target(const struct watch_config *config)
{
	if (config->pids.count && config->argv) {
		log_error("-p: excludes running a COMMAND ('%s'); give only one of them",
			  config->argv[0]);
		return -EINVAL;
	}
	if (!config->pids.count && !config->argv) {
		log_error("nothing to trace; give -p PID or -- COMMAND, or see memleakbpf --help");
		return -EINVAL;
	}
	return 0;
}

int options_check_watch(struct options *options)
{
	struct watch_config *config = &options->config.watch;
	struct trace_config *trace = &config->trace;
	int err = check_target(config);

	if (err)
		return err;
	if (trace->max_size < trace->min_size) {
		log_error("-Z: %" PRIu64 " is below -z %" PRIu64 ", so nothing would be traced; "
			  "give -Z at least as much as -z",
			  trace->max_size, trace->min_size);
		return -EINVAL;
	}
	if (config->show.merge && config->verdict.wanted) {
		log_error("--merge: excludes --verdict, which is about one process's memory; give "
			  "only one of them");
		return -EINVAL;
	}
	if (config->show.merge && trace->check_frees) {
		log_error("--merge: excludes --check-frees, which is about one process's blocks; "
			  "give only one of them");
		return -EINVAL;
	}
	if (trace->check_frees &&
	    (config->sample_bytes || trace->min_size || trace->max_size != UINT64_MAX)) {
		log_error("--check-frees: needs every block to be known; leave -s, -z and -Z out");
		return -EINVAL;
	}
	/* A command that is run is reported at its end; -n asks for snapshots before that. */
	if (!config->pace.interval_ns && (config->pids.count || config->pace.count))
		config->pace.interval_ns = DEFAULT_INTERVAL_NS;
	if (!options->children_given)
		trace->children = config->argv ? CHILDREN_EXACT : CHILDREN_LATE;
	return 0;
}

int options_check_doctor(struct options *options)
{
	const struct doctor_config *config = &options->config.doctor;
	const struct exporter_format *format = config->show.format;
	char names[EXPORT_NAMES_MAX];

	if (!export_can(format, EXPORT_FINDINGS)) {
		log_error("-f: doctor has no format '%s'; give %s", format->name,
			  export_names(names, EXPORT_FINDINGS, " or "));
		return -EINVAL;
	}
	if (format->findings == EXPORT_OBJECT && config->pids.count) {
		log_error("-f: %s says nothing of processes; leave -p out", format->name);
		return -EINVAL;
	}
	return 0;
}

int options_check_record(struct options *options)
{
	struct watch_config *config = &options->config.watch;
	int err = options_check_watch(options);

	if (err)
		return err;
	if (!config->show.output) {
		log_error("-o: record needs a file; give e.g. -o leaks.mlb");
		return -EINVAL;
	}
	if (config->show.merge) {
		log_error("--merge: a recording keeps every process as it is; leave it out");
		return -EINVAL;
	}
	config->show.format = &export_recording;
	/* A recording is about time, also that of a command. */
	if (!config->pace.interval_ns)
		config->pace.interval_ns = DEFAULT_INTERVAL_NS;
	return 0;
}

static int check_times(const struct replay_config *config)
{
	const struct replay_time *from = &config->times.from, *to = &config->times.to;

	if (config->times.at.given && (from->given || to->given)) {
		log_error(
			"--at: one point of time excludes --from and --to; give only one of them");
		return -EINVAL;
	}
	if (from->given && to->given && from->absolute == to->absolute && from->ns > to->ns) {
		log_error("--to: is before --from; give a later time");
		return -EINVAL;
	}
	return 0;
}

int options_check_report(struct options *options)
{
	const struct replay_config *config = &options->config.replay;

	if (config->file_count != 1) {
		log_error("report needs one recording; give memleakbpf report FILE");
		return -EINVAL;
	}
	return check_times(config);
}

int options_check_diff(struct options *options)
{
	const struct replay_config *config = &options->config.replay;
	const struct exporter_format *format = config->show.format;
	char names[EXPORT_NAMES_MAX];

	if (config->file_count < 1 || config->file_count > 2) {
		log_error(
			"diff needs two recordings, or two times of one; give memleakbpf diff OLD "
			"NEW");
		return -EINVAL;
	}
	if (config->times.at.given ||
	    (config->file_count == 2 && (config->times.from.given || config->times.to.given))) {
		log_error(
			"--at, --from, --to: diff of two files compares their last snapshots; give "
			"one FILE with --from and --to");
		return -EINVAL;
	}
	if (!export_can(format, EXPORT_COMPARISONS)) {
		log_error("-f: diff has no format '%s'; give one of %s", format->name,
			  export_names(names, EXPORT_COMPARISONS, ", "));
		return -EINVAL;
	}
	if (config->show.merge) {
		log_error("--merge: diff compares all processes together already; leave it out");
		return -EINVAL;
	}
	if (config->filter.leak_only || config->show.gen_suppressions) {
		log_error("%s: diff shows what changed; give it to report",
			  config->filter.leak_only ? "--leak-only" : "--gen-suppressions");
		return -EINVAL;
	}
	return check_times(config);
}

int options_check_survey(struct options *options)
{
	struct survey_config *config = &options->config.survey;
	const struct exporter_format *format = config->show.format;
	char names[EXPORT_NAMES_MAX];

	if (!export_can(format, EXPORT_SURVEYS)) {
		log_error("-f: '%s' is not a format of the survey; give one of %s", format->name,
			  export_names(names, EXPORT_SURVEYS, ", "));
		return -EINVAL;
	}
	if (!config->pace.interval_ns)
		config->pace.interval_ns = SURVEY_INTERVAL_NS;
	if (!config->sample_bytes)
		config->sample_bytes = SURVEY_SAMPLE_BYTES;
	return 0;
}
