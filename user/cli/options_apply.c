// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Applies options to their values. */
#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/linkage.h"
#include "user/base/listen.h"
#include "user/base/log.h"
#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/cli/options_table.h"
#include "user/keep/keep_filter.h"
#include "user/target/allocator.h"
#include "user/target/scope_spec.h"

static int option_refuse(const struct option_row *row, const char *shown, const char *value)
{
	log_error("%s: '%s' %s", shown, value, row->expected);
	return -EINVAL;
}

/* The row's macro in options_table.c has checked its type. */
static void *option_field(const struct option_row *row, struct options *options)
{
	return (char *)&options->values + row->field;
}

void option_set_number(const struct option_row *row, struct options *options, uint64_t number)
{
	void *field = option_field(row, options);

	if (row->size == sizeof(bool))
		*(bool *)field = number != 0;
	else if (row->size == sizeof(uint32_t))
		*(uint32_t *)field = (uint32_t)number;
	else
		*(uint64_t *)field = number;
}

/* ---- numbers and texts -------------------------------------------------------------------- */

static int option_apply_number(const struct option_row *row, struct options *options,
			       const char *shown, const char *value,
			       int (*parse)(const char *text, uint64_t *number))
{
	uint64_t number;

	if (parse(value, &number) || number < row->min || number > row->max)
		return option_refuse(row, shown, value);
	option_set_number(row, options, number);
	return 0;
}

int option_apply_duration(const struct option_row *row, struct options *options, const char *shown,
			  const char *value)
{
	return option_apply_number(row, options, shown, value, parse_duration);
}

int option_apply_size(const struct option_row *row, struct options *options, const char *shown,
		      const char *value)
{
	return option_apply_number(row, options, shown, value, parse_size);
}

int option_apply_count(const struct option_row *row, struct options *options, const char *shown,
		       const char *value)
{
	uint64_t number;

	if (parse_count(value, row->min, row->max, &number))
		return option_refuse(row, shown, value);
	option_set_number(row, options, number);
	return 0;
}

/* Finds the choice with the first `len` characters of `name`. NULL: there is none. */
static const struct option_choice *option_choice_named(const struct option_row *row,
						       const char *name, size_t len)
{
	for (const struct option_choice *c = row->choices; c->name; c++) {
		if (strlen(c->name) == len && !strncmp(c->name, name, len))
			return c;
	}
	return NULL;
}

int option_apply_choice(const struct option_row *row, struct options *options, const char *shown,
			const char *value)
{
	const struct option_choice *choice = option_choice_named(row, value, strlen(value));

	if (!choice)
		return option_refuse(row, shown, value);
	option_set_number(row, options, choice->value);
	return 0;
}

/* Takes several choices, as bits: "a,b". */
int option_apply_choices(const struct option_row *row, struct options *options, const char *shown,
			 const char *value)
{
	unsigned bits = 0;

	for (const char *name = value;; name++) {
		size_t len = strcspn(name, ",");
		const struct option_choice *choice = option_choice_named(row, name, len);

		if (!choice)
			return option_refuse(row, shown, value);
		bits |= choice->value;
		name += len;
		if (!*name)
			break;
	}
	option_set_number(row, options, bits);
	return 0;
}

int option_apply_text(const struct option_row *row, struct options *options, const char *shown,
		      const char *value)
{
	if (!*value)
		return option_refuse(row, shown, value);
	*(const char **)option_field(row, options) = value;
	return 0;
}

int option_apply_true(const struct option_row *row, struct options *options, const char *shown,
		      const char *value)
{
	(void)shown;
	(void)value;
	option_set_number(row, options, true);
	return 0;
}

int option_apply_false(const struct option_row *row, struct options *options, const char *shown,
		       const char *value)
{
	(void)shown;
	(void)value;
	option_set_number(row, options, false);
	return 0;
}

/* ---- lists -------------------------------------------------------------------------------- */

static int option_append(struct string_list *list, const char *string)
{
	const char **grown =
		reallocarray((void *)list->items, list->count + 2, sizeof(const char *));

	if (!grown)
		return log_errno(ENOMEM, "reading the command line");
	grown[list->count++] = string;
	grown[list->count] = NULL;
	list->items = grown;
	return 0;
}

static int option_add_string(const struct option_row *row, struct options *options,
			     const char *string)
{
	return option_append(option_field(row, options), string);
}

int option_apply_strings(const struct option_row *row, struct options *options, const char *shown,
			 const char *value)
{
	return *value ? option_add_string(row, options, value) : option_refuse(row, shown, value);
}

int option_apply_pids(const struct option_row *row, struct options *options, const char *shown,
		      const char *value)
{
	struct pid_list *list = option_field(row, options);
	pid_t *pids = (pid_t *)list->pids;
	int err = parse_pids(value, &pids, &list->count);

	list->pids = pids;
	if (err == -ENOMEM)
		return log_errno(err, "reading the command line");
	return err ? option_refuse(row, shown, value) : 0;
}

static bool option_all_pids(const char *word, size_t len)
{
	_cleanup_free_ char *copy = strndup(word, len);
	pid_t *pids = NULL;
	size_t count = 0;
	int err = copy ? parse_pids(copy, &pids, &count) : -ENOMEM;

	free(pids);
	return !err;
}

/* Is it a name? A PID has digits alone; a name may hold some, but not begin with one. */
static bool option_is_name(const char *word, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (word[i] < ' ' || word[i] > '~')
			return false;
	}
	return len && (isalpha((unsigned char)*word) || *word == '_');
}

static int option_apply_target(const struct option_row *row, struct options *options,
			       const char *shown, const char *value, size_t len)
{
	_cleanup_free_ char *word = strndup(value, len);
	int err;

	if (!word)
		return log_errno(ENOMEM, "reading the command line");
	if (!option_is_name(word, len))
		return option_apply_pids(row, options, shown, word) ? -EINVAL : 0;
	err = option_append(&options->values.names, word);
	if (!err)
		word = NULL; /* the list owns it */
	return err;
}

int option_apply_targets(const struct option_row *row, struct options *options, const char *shown,
			 const char *value)
{
	const char *word = value;
	int err = 0;

	/* Recordings know processes by number. */
	if (!(options->command->page & (PAGE_WATCH | PAGE_RECORD | PAGE_TOP | PAGE_INSPECT)))
		return option_apply_pids(row, options, shown, value);
	/* A wrong one is reported with the whole list. */
	for (; !err; word++) {
		size_t len = strcspn(word, ",");

		if (!len || (!option_is_name(word, len) && !option_all_pids(word, len)))
			return option_refuse(row, shown, value);
		err = option_apply_target(row, options, shown, word, len);
		word += len;
		if (!*word)
			break;
	}
	return err;
}

static int option_apply_function(const struct option_row *row, struct options *options,
				 const char *shown, const char *value,
				 int (*parse)(const char *text, struct alloc_fn *fn))
{
	struct alloc_fn fn;

	if (parse(value, &fn))
		return option_refuse(row, shown, value);
	alloc_fn_release(&fn);
	return option_add_string(row, options, value);
}

int option_apply_alloc_fn(const struct option_row *row, struct options *options, const char *shown,
			  const char *value)
{
	return option_apply_function(row, options, shown, value, alloc_fn_parse_alloc);
}

int option_apply_realloc_fn(const struct option_row *row, struct options *options,
			    const char *shown, const char *value)
{
	return option_apply_function(row, options, shown, value, alloc_fn_parse_realloc);
}

int option_apply_free_fn(const struct option_row *row, struct options *options, const char *shown,
			 const char *value)
{
	return option_apply_function(row, options, shown, value, alloc_fn_parse_free);
}

int option_apply_scope(const struct option_row *row, struct options *options, const char *shown,
		       const char *value)
{
	struct scope_spec spec;
	int err = scope_spec_parse(value, &spec);

	if (err == -ENOMEM)
		return log_errno(err, "reading the command line");
	if (err)
		return option_refuse(row, shown, value);
	scope_spec_release(&spec);
	return option_add_string(row, options, value);
}

/* Kept as written: keep_filter_parse(). */
int option_apply_keep(const struct option_row *row, struct options *options, const char *shown,
		      const char *value)
{
	struct survey_scope_config filter;

	if (!keep_filter_parse(value, &filter))
		return option_add_string(row, options, value);
	log_error("%s: '%s' %s%s", shown, value, row->expected,
		  strncmp(value, "user=", 5) ? "" : linkage_user_note());
	return -EINVAL;
}

/* ---- single options ----------------------------------------------------------------------- */

/* Both --children and --no-follow: which one came first must not decide silently. */
int option_apply_children(const struct option_row *row, struct options *options, const char *shown,
			  const char *value)
{
	const struct option_choice *choice = option_choice_named(row, value, strlen(value));
	enum trace_children *children = option_field(row, options);

	if (!choice)
		return option_refuse(row, shown, value);
	if (OPTION_GIVEN(options, trace.children) && *children != choice->value) {
		log_error("%s: contradicts an earlier --children or --no-follow; give only one",
			  shown);
		return -EINVAL;
	}
	*children = (enum trace_children)choice->value;
	return 0;
}

int option_apply_leak_only(const struct option_row *row, struct options *options, const char *shown,
			   const char *value)
{
	/* Not for readers of recordings: a recording has its verdicts, or has none. */
	options->values.verdict.wanted = true;
	return option_apply_true(row, options, shown, value);
}

int option_apply_usable(const struct option_row *row, struct options *options, const char *shown,
			const char *value)
{
	/* We read the allocators' books in the copy of memory that a verdict takes. */
	options->values.verdict.wanted = true;
	return option_apply_true(row, options, shown, value);
}

int option_apply_inspect(const struct option_row *row, struct options *options, const char *shown,
			 const char *value)
{
	/* One copy serves both. */
	options->values.verdict.wanted = true;
	return option_apply_true(row, options, shown, value);
}

int option_apply_format(const struct option_row *row, struct options *options, const char *shown,
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
		*(const struct exporter_format **)option_field(row, options) = format;
		return 0;
	}
	log_error("%s: '%s' is not a format; give one of %s", shown, value,
		  export_names(known, EXPORT_ANYTHING, ", "));
	return -EINVAL;
}

int option_apply_output(const struct option_row *row, struct options *options, const char *shown,
			const char *value)
{
	if (!strcmp(value, "-")) {
		*(const char **)option_field(row, options) = NULL;
		return 0;
	}
	return option_apply_text(row, options, shown, value);
}

int option_apply_time(const struct option_row *row, struct options *options, const char *shown,
		      const char *value)
{
	struct replay_time *time = option_field(row, options);

	*time = (struct replay_time){.given = true};
	if (row->choices && option_choice_named(row, value, strlen(value))) {
		/* Any snapshot may have it. */
		*time = (struct replay_time){
			.given = true, .peak = true, .absolute = true, .ns = UINT64_MAX};
		return 0;
	}
	if (!strcmp(value, "0") || !parse_duration(value, &time->ns))
		return 0;
	time->absolute = true;
	return parse_date(value, &time->ns) ? option_refuse(row, shown, value) : 0;
}

int option_apply_debuginfod(const struct option_row *row, struct options *options,
			    const char *shown, const char *value)
{
	const char *urls = getenv(row->variable);

	if (linkage_static()) {
		log_error("%s: this static program has no debuginfod; install debug files, or use "
			  "a program that your distribution built",
			  shown);
		return -EINVAL;
	}
	if (!urls || !*urls) {
		log_error("%s: %s is not set, so there is no server to ask; set it (sudo drops "
			  "it: sudo --preserve-env=%s ...)",
			  shown, row->variable, row->variable);
		return -EINVAL;
	}
	return option_apply_true(row, options, shown, value);
}

int option_apply_regex(const struct option_row *row, struct options *options, const char *shown,
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
	return option_apply_text(row, options, shown, value);
}

/* Takes a name, or a number that need not have a name (containers' users have none here). */
int option_apply_user(const struct option_row *row, struct options *options, const char *shown,
		      const char *value)
{
	if (!linkage_user(value, option_field(row, options)))
		return 0;
	log_error("%s: '%s' %s%s", shown, value, row->expected, linkage_user_note());
	return -EINVAL;
}

/* Percent, with or without the sign ("2", "0.5%"), to thousandths. */
int option_apply_budget(const struct option_row *row, struct options *options, const char *shown,
			const char *value)
{
	char *end;
	double percent = strtod(value, &end);

	if (end == value || (*end && strcmp(end, "%") != 0) || !(percent >= 0.1 && percent <= 100))
		return option_refuse(row, shown, value);
	option_set_number(row, options, (uint64_t)(percent * 10 + 0.5));
	return 0;
}

int option_apply_metrics(const struct option_row *row, struct options *options, const char *shown,
			 const char *value)
{
	struct survey_metrics_config *metrics = option_field(row, options);

	if (listen_parse(value, &metrics->address))
		return option_refuse(row, shown, value);
	metrics->wanted = true;
	return 0;
}

int option_apply_profiles(const struct option_row *row, struct options *options, const char *shown,
			  const char *value)
{
	struct survey_profiles_config *profiles = option_field(row, options);

	if (listen_parse(value, &profiles->address))
		return option_refuse(row, shown, value);
	profiles->wanted = true;
	return 0;
}

/* ---- options of every subcommand ---------------------------------------------------------- */

int option_apply_verbose(const struct option_row *row, struct options *options, const char *shown,
			 const char *value)
{
	(void)row;
	(void)shown;
	(void)value;
	options->verbose++;
	return 0;
}

int option_apply_help(const struct option_row *row, struct options *options, const char *shown,
		      const char *value)
{
	const struct option_choice *topic =
		value ? option_choice_named(row, value, strlen(value)) : NULL;

	if (value && !topic)
		return option_refuse(row, shown, value);
	options->help_page = topic ? (enum help_page)topic->value : options->command->page;
	options->action = ACTION_HELP;
	return 0;
}

int option_apply_no_config(const struct option_row *row, struct options *options, const char *shown,
			   const char *value)
{
	(void)row;
	(void)shown;
	(void)value;
	options->no_config = true;
	return 0;
}

int option_apply_version(const struct option_row *row, struct options *options, const char *shown,
			 const char *value)
{
	(void)row;
	(void)shown;
	(void)value;
	options->action = ACTION_VERSION;
	return 0;
}
