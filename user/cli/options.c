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

#define MAX_ROWS     64	 /* of the option table; see build_tables() */
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
	char shorts[2 * MAX_ROWS + 3];
	struct option longs[MAX_ROWS + 1];
};

static void build_tables(struct getopt_tables *tables, unsigned groups)
{
	/* '+': the first word that is no option ends them, so that COMMAND keeps its own; files may
	 * stand anywhere. ':': a missing value is told apart from an unknown option. */
	char *s = stpcpy(tables->shorts, groups & OPTIONS_FILES ? ":" : "+:");

	memset(tables->longs, 0, sizeof(tables->longs));
	for (size_t i = 0; i < option_row_count && i < MAX_ROWS; i++) {
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

static int apply_option(const struct command *command, struct options_storage *storage, int value)
{
	const struct option_row *row = row_of(value);
	char shown[MAX_NAME], program[MAX_NAME];

	shown_name(row, value, shown);
	if (row->groups && !(row->groups & command->groups)) {
		log_error("%s: not an option of '%s'; see %s --help", shown,
			  program_of(command, program), program);
		return -EINVAL;
	}
	return row->apply(row, storage, shown, optarg);
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
			struct options_storage *storage)
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
			err = apply_option(command, storage, value);
		if (err)
			return err;
		if (storage->options.action != ACTION_RUN)
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
		      struct options_storage *storage)
{
	const struct command *command = storage->options.command;
	const char *word = optind < argc ? argv[optind] : NULL;
	bool dashes = optind > 1 && !strcmp(argv[optind - 1], "--");
	char program[MAX_NAME];

	if (command->groups & OPTIONS_FILES) {
		storage->options.files = &argv[optind];
		storage->options.file_count = (size_t)(argc - optind);
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
		if (storage->options.pid_count)
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
	storage->options.argv = &argv[optind];
	return 0;
}

/* ---- public ------------------------------------------------------------------------------- */

static struct options_storage *storage_new(const struct command *command)
{
	struct options_storage *storage = calloc(1, sizeof(*storage));
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (!storage)
		return NULL;
	storage->options = (struct options){
		.command = command,
		.action = ACTION_RUN,
		.max_size = UINT64_MAX,
		.depth = ABI_MAX_FRAMES,
		.max_live = DEFAULT_MAX_LIVE,
		.max_stacks = DEFAULT_MAX_STACKS,
		.top = DEFAULT_TOP,
		.sort = RANK_LIVE,
		.format = export_find_format("text"),
		.inlines = true,
		.default_suppressions = true,
		.debuginfod = urls && *urls,
		.user = (uid_t)-1,
		.suspects = DEFAULT_SUSPECTS,
		.min_growth = DEFAULT_MIN_GROWTH,
		.window_ns = DEFAULT_WINDOW_NS,
		.budget = DEFAULT_BUDGET,
		.drill = true,
		.metrics_processes = DEFAULT_METRICS,
		.max_pause_ns = DEFAULT_MAX_PAUSE_NS,
		.heuristics = REACH_ALL,
	};
	return storage;
}

void options_free(const struct options *options)
{
	/*
	 * The struct is const to its users only; it is the first member of what storage_new() made.
	 */
	struct options_storage *storage = (struct options_storage *)options;

	if (!storage)
		return;
	free(storage->pids);
	free(storage->symbols_prefixes.items);
	free(storage->alloc_fns.items);
	free(storage->free_fns.items);
	free(storage->suppressions.items);
	free(storage);
}

int options_parse(const struct command *commands, int argc, char *argv[],
		  const struct options **out)
{
	const struct command *command = argc > 1 ? find_command(commands, argv[1]) : NULL;
	struct options_storage *storage;
	int err;

	if (command) {
		argc--;
		argv++;
	} else {
		command = &commands[0];
	}
	storage = storage_new(command);
	if (!storage)
		return log_errno(ENOMEM, "reading the command line");
	err = read_options(command, argc, argv, storage);
	if (!err && storage->options.action == ACTION_RUN) {
		err = read_words(commands, argc, argv, storage);
		if (!err && command->check)
			err = command->check(&storage->options);
	}
	if (err) {
		options_free(&storage->options);
		return err;
	}
	*out = &storage->options;
	return 0;
}

static int check_target(const struct options *options)
{
	if (options->pid_count && options->argv) {
		log_error("-p: excludes running a COMMAND ('%s'); give only one of them",
			  options->argv[0]);
		return -EINVAL;
	}
	if (!options->pid_count && !options->argv) {
		log_error("nothing to trace; give -p PID or -- COMMAND, or see memleakbpf --help");
		return -EINVAL;
	}
	return 0;
}

int options_check_watch(struct options *options)
{
	int err = check_target(options);

	if (err)
		return err;
	if (options->max_size < options->min_size) {
		log_error("-Z: %" PRIu64 " is below -z %" PRIu64 ", so nothing would be traced; "
			  "give -Z at least as much as -z",
			  options->max_size, options->min_size);
		return -EINVAL;
	}
	if (options->merge && options->verdict) {
		log_error("--merge: excludes --verdict, which is about one process's memory; give "
			  "only one of them");
		return -EINVAL;
	}
	if (options->merge && options->check_frees) {
		log_error("--merge: excludes --check-frees, which is about one process's blocks; "
			  "give only one of them");
		return -EINVAL;
	}
	if (options->check_frees &&
	    (options->sample_bytes || options->min_size || options->max_size != UINT64_MAX)) {
		log_error("--check-frees: needs every block to be known; leave -s, -z and -Z out");
		return -EINVAL;
	}
	/* A command that is run is reported at its end; -n asks for snapshots before that. */
	if (!options->interval_ns && (options->pid_count || options->count))
		options->interval_ns = DEFAULT_INTERVAL_NS;
	if (options->children == OPTION_CHILDREN_DEFAULT)
		options->children = options->argv ? OPTION_CHILDREN_EXACT : OPTION_CHILDREN_LATE;
	return 0;
}

int options_check_doctor(struct options *options)
{
	const char *format = options->format->name;

	if (strcmp(format, "text") && strcmp(format, "json")) {
		log_error("-f: doctor has no format '%s'; give text or json", format);
		return -EINVAL;
	}
	if (!strcmp(format, "json") && options->pid_count) {
		log_error("-f: json says nothing of processes; leave -p out");
		return -EINVAL;
	}
	if (options->children == OPTION_CHILDREN_DEFAULT)
		options->children = OPTION_CHILDREN_LATE;
	return 0;
}

int options_check_record(struct options *options)
{
	int err = options_check_watch(options);

	if (err)
		return err;
	if (!options->output) {
		log_error("-o: record needs a file; give e.g. -o leaks.mlb");
		return -EINVAL;
	}
	if (options->merge) {
		log_error("--merge: a recording keeps every process as it is; leave it out");
		return -EINVAL;
	}
	options->format = &export_recording;
	/* A recording is about time, also that of a command. */
	if (!options->interval_ns)
		options->interval_ns = DEFAULT_INTERVAL_NS;
	return 0;
}

static int check_times(const struct options *options)
{
	const struct option_time *from = &options->from, *to = &options->to;

	if (options->at.given && (from->given || to->given)) {
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
	if (options->file_count != 1) {
		log_error("report needs one recording; give memleakbpf report FILE");
		return -EINVAL;
	}
	return check_times(options);
}

int options_check_diff(struct options *options)
{
	if (options->file_count < 1 || options->file_count > 2) {
		log_error(
			"diff needs two recordings, or two times of one; give memleakbpf diff OLD "
			"NEW");
		return -EINVAL;
	}
	if (options->at.given ||
	    (options->file_count == 2 && (options->from.given || options->to.given))) {
		log_error(
			"--at, --from, --to: diff of two files compares their last snapshots; give "
			"one FILE with --from and --to");
		return -EINVAL;
	}
	if (strcmp(options->format->name, "text") && strcmp(options->format->name, "json") &&
	    strcmp(options->format->name, "folded")) {
		log_error("-f: diff has no format '%s'; give one of text, json, folded",
			  options->format->name);
		return -EINVAL;
	}
	if (options->merge) {
		log_error("--merge: diff compares all processes together already; leave it out");
		return -EINVAL;
	}
	if (options->leak_only || options->gen_suppressions) {
		log_error("%s: diff shows what changed; give it to report",
			  options->leak_only ? "--leak-only" : "--gen-suppressions");
		return -EINVAL;
	}
	return check_times(options);
}

int options_check_survey(struct options *options)
{
	const char *format = options->format->name;

	if (strcmp(format, "text") != 0 && strcmp(format, "json") != 0 &&
	    !options->format->survey) {
		log_error("-f: '%s' is not a format of the survey; give one of text, json, "
			  "perfetto, html",
			  format);
		return -EINVAL;
	}
	if (!options->interval_ns)
		options->interval_ns = SURVEY_INTERVAL_NS;
	if (!options->sample_bytes)
		options->sample_bytes = SURVEY_SAMPLE_BYTES;
	return 0;
}
