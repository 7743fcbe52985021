// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/cli/defaults.h"
#include "user/cli/options_table.h"
#include "user/target/closure.h"

#define LONG_BASE    256 /* getopt_long's values for long options: above every letter */
#define MAX_NAME     32
#define MAX_DISTANCE 2

/* ---- suggestions -------------------------------------------------------------------------- */

static size_t options_min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* Levenshtein distance (insertions, deletions, replacements), of names below MAX_NAME. */
static size_t options_edit_distance(const char *a, const char *b)
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

			row[j + 1] = options_min3(above + 1, row[j] + 1, diagonal + (a[i] != b[j]));
			diagonal = above;
		}
	}
	return row[b_len];
}

/* The word's likely meaning: begins with the farthest distance that counts as near. */
struct nearest {
	const char *word, *name;
	size_t distance;
};

static struct nearest options_nearest_to(const char *word)
{
	size_t limit = MAX_DISTANCE + 1;

	/* For short words nearly everything is near. */
	if (limit > strlen(word) / 3 + 1)
		limit = strlen(word) / 3 + 1;
	return (struct nearest){.word = word, .distance = limit};
}

static void options_try_near(struct nearest *nearest, const char *name)
{
	size_t distance;

	if (strlen(nearest->word) >= MAX_NAME || strlen(name) >= MAX_NAME)
		return;
	distance = options_edit_distance(nearest->word, name);
	if (distance >= nearest->distance)
		return;
	nearest->distance = distance;
	nearest->name = name;
}

/* The likely option, or NULL. `word` has no dashes. */
static const char *options_nearest(const char *word, const struct command *command)
{
	struct nearest nearest = options_nearest_to(word);

	for (size_t i = 0; i < option_row_count; i++) {
		if (option_rows[i].commands & command->page)
			options_try_near(&nearest, option_rows[i].name);
	}
	return nearest.name;
}

/* The likely subcommand, or NULL. */
static const char *options_nearest_command(const char *word, const struct command *commands)
{
	struct nearest nearest = options_nearest_to(word);

	for (const struct command *c = commands; c->run || c->check || c->name; c++) {
		if (c->name)
			options_try_near(&nearest, c->name);
	}
	return nearest.name;
}

/*
 * Lists the options that begin with the word, for a message: "--min-size, --mmap"; empty when there
 * are none.
 */
static void options_list_matching(const char *word, const struct command *command, char *list,
				  size_t size)
{
	size_t used = 0;

	*list = '\0';
	for (size_t i = 0; i < option_row_count && used < size; i++) {
		const struct option_row *row = &option_rows[i];

		if (row->commands & command->page && !strncmp(row->name, word, strlen(word)))
			used += (size_t)snprintf(list + used, size - used, "%s--%s",
						 used ? ", " : "", row->name);
	}
}

/* ---- getopt ------------------------------------------------------------------------------- */

struct options_tables {
	char shorts[2 * OPTION_ROWS_MAX + 3];
	struct option longs[OPTION_ROWS_MAX + 1];
};

static void options_getopt_tables(struct options_tables *tables, const struct command *command)
{
	/*
	 * '+': the first word that is no option ends the options, so that COMMAND keeps its own;
	 * files may stand anywhere. ':': tells a missing value from an unknown option.
	 */
	char *s = stpcpy(tables->shorts, command->words == WORDS_FILES ? ":" : "+:");

	memset(tables->longs, 0, sizeof(tables->longs));
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		tables->longs[i] = (struct option){
			.name = row->name,
			.has_arg = option_needs_value(row)	? required_argument
				   : option_may_have_value(row) ? optional_argument
								: no_argument,
			.val = LONG_BASE + (int)i,
		};
		if (!row->letter)
			continue;
		*s++ = row->letter;
		if (option_needs_value(row))
			*s++ = ':';
	}
	*s = '\0';
}

static const struct option_row *options_row_of(int value)
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
static const char *options_shown_name(const struct option_row *row, int value,
				      char buf[static MAX_NAME])
{
	if (value < LONG_BASE)
		snprintf(buf, MAX_NAME, "-%c", value);
	else
		snprintf(buf, MAX_NAME, "--%s", row->name);
	return buf;
}

static const char *options_program(const struct command *command, char buf[static MAX_NAME])
{
	snprintf(buf, MAX_NAME, "memleakbpf%s%s", command->name ? " " : "",
		 command->name ? command->name : "");
	return buf;
}

static int options_unknown(const struct command *command, const char *word, int letter)
{
	char program[MAX_NAME];
	const char *near;
	char name[MAX_NAME], list[256];

	options_program(command, program);
	if (letter && letter < LONG_BASE) {
		log_error("-%c: unknown option; see %s --help", letter, program);
		return -EINVAL;
	}
	if (letter) { /* a known one with "=value" that takes none */
		log_error("--%s: takes no value ('%s')", options_row_of(letter)->name, word);
		return -EINVAL;
	}
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	options_list_matching(name, command, list, sizeof(list));
	near = options_nearest(name, command);
	if (*list)
		log_error("%s: ambiguous option; did you mean one of %s?", word, list);
	else if (near && strcspn(word + 2, "=") < MAX_NAME)
		log_error("%s: unknown option; did you mean --%s?", word, near);
	else
		log_error("%s: unknown option; see %s --help", word, program);
	return -EINVAL;
}

static int options_apply(const struct command *command, struct options *options, int value)
{
	const struct option_row *row = options_row_of(value);
	char shown[MAX_NAME], program[MAX_NAME];
	int err;

	options_shown_name(row, value, shown);
	if (row->refused_by & command->page) {
		log_error("%s: %s", shown, row->refusal);
		return -EINVAL;
	}
	if (!(row->commands & command->page)) {
		log_error("%s: not an option of '%s'; see %s --help", shown,
			  options_program(command, program), program);
		return -EINVAL;
	}
	err = row->apply(row, options, shown, optarg ? optarg : row->bare);
	if (!err && row->size)
		options->given[row->field] = true;
	return err;
}

static int options_missing_value(int value)
{
	const struct option_row *row = options_row_of(value);
	char shown[MAX_NAME];
	const char *give = row->expected ? strstr(row->expected, "give ") : NULL;

	options_shown_name(row, value, shown);
	log_error("%s: needs a value; %s", shown, give ? give : "see --help");
	return -EINVAL;
}

static int options_read(const struct command *command, int argc, char *argv[],
			struct options *options)
{
	struct options_tables tables;
	int value;

	options_getopt_tables(&tables, command);
	opterr = 0;
	optind = 0; /* glibc: start anew, whatever was read before */
	while ((value = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
		int err;

		if (value == '?')
			err = options_unknown(command, argv[optind - 1], optopt);
		else if (value == ':')
			err = options_missing_value(optopt);
		else
			err = options_apply(command, options, value);
		if (err)
			return err;
		if (options->action != ACTION_RUN)
			return 0;
	}
	return 0;
}

/* ---- the words after the options ---------------------------------------------------------- */

static const struct command *options_find_command(const struct command *commands, const char *word)
{
	for (const struct command *c = commands; c->run || c->check || c->name; c++) {
		if (c->name && !strcmp(c->name, word))
			return c;
	}
	return NULL;
}

static int options_read_words(const struct command *commands, int argc, char *argv[],
			      struct options *options)
{
	const struct command *command = options->command;
	const char *word = optind < argc ? argv[optind] : NULL;
	bool dashes = optind > 1 && !strcmp(argv[optind - 1], "--");
	const char *near;
	char program[MAX_NAME];

	if (command->words == WORDS_FILES) {
		options->values.files = &argv[optind];
		options->values.file_count = (size_t)(argc - optind);
		return 0;
	}
	if (!word) {
		if (!dashes || command->words != WORDS_COMMAND)
			return 0;
		log_error("--: a COMMAND must follow; e.g. memleakbpf -- ls -l");
		return -EINVAL;
	}
	/* "top nginx" can only mean that process. */
	if (command->page & PAGE_TOP && !options->values.pids.count &&
	    !options->values.names.count && optind + 1 == argc)
		return option_apply_targets(options_row_of('p'), options, "-p", word);
	if (command->words != WORDS_COMMAND) {
		log_error("'%s': %s takes no such argument; see %s --help", word,
			  options_program(command, program), program);
		return -EINVAL;
	}
	if (!*word) {
		log_error("'': an empty COMMAND; give the program to run after --");
		return -EINVAL;
	}
	/* Without -- a typing error is likelier than a program of that name. */
	if (!dashes && word[strspn(word, "0123456789,")] == '\0') {
		if (options->values.pids.count)
			log_error("'%s': looks like one more PID; separate them by commas, e.g. "
				  "-p 12,34",
				  word);
		else
			log_error("'%s': looks like a PID; give -p %s (or -- %s to run a program "
				  "of that name)",
				  word, word, word);
		return -EINVAL;
	}
	if (!dashes && options_find_command(commands, word)) {
		log_error("'%s': a subcommand comes before all options; give memleakbpf %s ... (or "
			  "-- %s to run a program of that name)",
			  word, word, word);
		return -EINVAL;
	}
	near = dashes ? NULL : options_nearest_command(word, commands);
	if (near && !closure_command_exists(word)) {
		log_error("'%s': no such subcommand, and no such program either; did you mean "
			  "memleakbpf %s?",
			  word, near);
		return -EINVAL;
	}
	options->values.argv = &argv[optind];
	return 0;
}

/* ---- public ------------------------------------------------------------------------------- */

/* Sets those of all rows: a subcommand's struct may have more members than it has options. */
static int options_set_presets(struct options *options)
{
	int err = 0;

	for (size_t i = 0; !err && i < option_row_count; i++)
		err = option_apply_preset(&option_rows[i], options);
	return err;
}

static void options_free_strings(const struct string_list *list)
{
	free((void *)list->items);
}

void options_free(const struct options *options)
{
	if (!options)
		return;
	for (struct options_text *text = options->texts, *next; text; text = next) {
		next = text->next;
		free(text->text);
		free(text);
	}
	free((void *)options->values.pids.pids);
	for (size_t i = 0; i < options->values.names.count; i++)
		free((void *)options->values.names.items[i]);
	options_free_strings(&options->values.names);
	options_free_strings(&options->values.trace.symbols_prefixes);
	options_free_strings(&options->values.trace.alloc_fns);
	options_free_strings(&options->values.trace.realloc_fns);
	options_free_strings(&options->values.trace.free_fns);
	options_free_strings(&options->values.trace.scopes);
	options_free_strings(&options->values.filter.suppressions);
	options_free_strings(&options->values.show.own);
	options_free_strings(&options->values.show.not_own);
	options_free_strings(&options->values.keep.filters);
	free((void *)options);
}

/* Reads argv; with `defaults`, files first. 0 and *out (options_free). */
static int options_make(const struct command *command, int argc, char *argv[], bool defaults,
			struct options **out)
{
	struct options *options = calloc(1, sizeof(*options));
	int err;

	if (!options)
		return log_errno(ENOMEM, "reading the command line");
	options->command = command;
	err = options_set_presets(options);
	if (!err && defaults)
		err = defaults_read(options);
	if (!err)
		err = options_read(command, argc, argv, options);
	if (err) {
		options_free(options);
		return err;
	}
	*out = options;
	return 0;
}

/*
 * Turns "help" and "version" into options, and drops "run", which is the default. argv is the
 * caller's own.
 */
static void options_rewrite_word(const struct command *commands, int *argc, char *argv[])
{
	static char help[] = "--help", version[] = "--version";
	char *word = *argc > 1 ? argv[1] : NULL;

	if (!word)
		return;
	if (!strcmp(word, "help")) {
		argv[1] = help;
		/* "help record": the subcommand stands first. */
		if (*argc > 2 && options_find_command(commands, argv[2])) {
			argv[1] = argv[2];
			argv[2] = help;
		}
	} else if (!strcmp(word, "version")) {
		argv[1] = version;
	} else if (!strcmp(word, "run")) {
		memmove(&argv[1], &argv[2], (size_t)(*argc - 1) * sizeof(*argv));
		--*argc;
	}
}

int options_parse(const struct command *commands, int argc, char *argv[],
		  const struct options **out)
{
	const struct command *command;
	struct options *options;
	int err;

	options_rewrite_word(commands, &argc, argv);
	command = argc > 1 ? options_find_command(commands, argv[1]) : NULL;
	if (command) {
		argc--;
		argv++;
	} else {
		command = &commands[0];
	}
	/* Only the first reading says whether files are to be read. */
	err = options_make(command, argc, argv, false, &options);
	if (err)
		return err;
	if (options->action == ACTION_RUN && !options->no_config) {
		options_free(options);
		err = options_make(command, argc, argv, true, &options);
		if (err)
			return err;
	}
	if (options->action == ACTION_RUN) {
		err = options_read_words(commands, argc, argv, options);
		options->values.show.verbose = options->verbose > 0;
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
