// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * docs/memleakbpf.1 has each option of each subcommand, with its argument and its default, and no
 * other.
 */
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
#include "user/cli/options_table.h"

#define ITEMS_MAX 320

/* The sections of these have all their options as headings; others mention theirs. */
#define PAGES_WITH_LIST (PAGE_WATCH | PAGE_SURVEY)

/* An option in a list's heading (.It), or, without, in running text (.Fl). */
struct manual_item {
	enum help_page page; /* of the subcommand that the section is about */
	bool heading;
	char name[40];	   /* "p" or "-pid" */
	char argument[80]; /* without brackets, blanks and the first = */
	size_t line, end;  /* of its text, end excluded */
};

struct manual {
	char *lines[4000];
	size_t line_count;
	struct manual_item items[ITEMS_MAX];
	size_t item_count;
};

/* Without what the page's language quotes. */
static void read_lines(struct manual *m)
{
	_cleanup_fclose_ FILE *file = fopen("docs/memleakbpf.1", "re");
	char *line = NULL;
	size_t size = 0;

	assert_non_null(file);
	while (getline(&line, &size, file) > 0) {
		char *to = line;

		for (const char *from = line; *from && *from != '\n'; from++) {
			if (*from != '\\')
				*to++ = *from;
		}
		*to = '\0';
		assert_true(m->line_count < ARRAY_SIZE(m->lines));
		m->lines[m->line_count++] = line;
		line = NULL;
	}
	free(line);
}

static void add_name(struct manual *m, enum help_page page, bool heading, const char *name,
		     size_t line)
{
	struct manual_item *item = &m->items[m->item_count++];

	assert_true(m->item_count < ITEMS_MAX);
	item->page = page;
	item->heading = heading;
	item->line = line;
	snprintf(item->name, sizeof(item->name), "%s", name);
}

static void add_argument(struct manual_item *item, const char *word)
{
	size_t len = strlen(item->argument);

	if (!len && *word == '=')
		word++;
	snprintf(item->argument + len, sizeof(item->argument) - len, "%s", word);
}

/* ".It Fl p , Fl -pid Ar PID Ns Op , Ns Ar PID ...", ".Fl f , T , -sort". */
static void read_names(struct manual *m, enum help_page page, size_t at)
{
	static const char *const macros[] = {"Ar", "Cm", "Ns", "Op", "It", NULL};
	_cleanup_free_ char *copy = strdup(m->lines[at] + 1);
	bool heading = !strncmp(copy, "It", 2), name = !strncmp(copy, "Fl", 2);
	size_t before = m->item_count;
	char *rest = copy;

	for (char *word; (word = strsep(&rest, " ")) != NULL;) {
		size_t i = 0;

		while (macros[i] && strcmp(macros[i], word) != 0)
			i++;
		if (!strcmp(word, "Fl") || (!heading && !strcmp(word, ","))) {
			name = true;
		} else if (!strcmp(word, "Ar") || !strcmp(word, "Cm")) {
			name = false;
		} else if (name && word[strspn(word, ",.)")]) {
			add_name(m, page, heading, word, at);
			name = false;
		} else if (!macros[i] && m->item_count > before) {
			add_argument(&m->items[m->item_count - 1], word);
		}
	}
	for (size_t i = before; i < m->item_count; i++) {
		char *argument = m->items[i].argument;
		size_t len = strlen(argument);

		if (len && argument[len - 1] == ',')
			argument[len - 1] = '\0';
	}
}

/* The text of a heading's options goes to the next heading, or to the list's end. */
static void end_items(struct manual *m, size_t at)
{
	for (size_t i = 0; i < m->item_count; i++) {
		if (m->items[i].heading && !m->items[i].end && m->items[i].line != at)
			m->items[i].end = at;
	}
}

static enum help_page section_at(const char *line, enum help_page now)
{
	if (!strcmp(line, ".Sh OPTIONS"))
		return PAGE_WATCH;
	if (!strcmp(line, ".Ss Survey"))
		return PAGE_SURVEY;
	if (!strncmp(line, ".Sh", 3) || (!strncmp(line, ".Ss", 3) && now != PAGE_WATCH))
		return 0;
	if (!strncmp(line, ".It Cm ", 7)) {
		for (const struct command *c = cli_commands + 1; c->name; c++) {
			if (!strncmp(line + 7, c->name, strlen(c->name)))
				return c->page;
		}
	}
	return now;
}

static int open_manual(void **state)
{
	struct manual *m = calloc(1, sizeof(*m));
	enum help_page page = 0;

	assert_non_null(m);
	read_lines(m);
	for (size_t i = 0; i < m->line_count; i++) {
		const char *line = m->lines[i];

		page = section_at(line, page);
		if (!strncmp(line, ".It", 3) || !strncmp(line, ".El", 3))
			end_items(m, i);
		if (page && (!strncmp(line, ".It Fl", 6) || !strncmp(line, ".Fl", 3)))
			read_names(m, page, i);
	}
	*state = m;
	return 0;
}

static int close_manual(void **state)
{
	struct manual *m = *state;

	for (size_t i = 0; i < m->line_count; i++)
		free(m->lines[i]);
	free(m);
	return 0;
}

static bool names_row(const struct manual_item *item, const struct option_row *row)
{
	if (*item->name == '-')
		return !strcmp(item->name + 1, row->name);
	return item->name[0] == row->letter && !item->name[1];
}

/* The last one: behind the letter comes the name, and behind the name the argument. */
static const struct manual_item *find_row(const struct manual *m, enum help_page page,
					  const struct option_row *row, bool heading)
{
	const struct manual_item *found = NULL;

	for (size_t i = 0; i < m->item_count; i++) {
		const struct manual_item *item = &m->items[i];

		if (item->page == page && (item->heading || !heading) && names_row(item, row))
			found = item;
	}
	return found;
}

static const struct option_row *row_of(const struct manual_item *item)
{
	for (size_t i = 0; i < option_row_count; i++) {
		if (names_row(item, &option_rows[i]))
			return &option_rows[i];
	}
	fail_msg("docs/memleakbpf.1:%zu: there is no option '%s'", item->line + 1, item->name);
	return NULL;
}

/* As it is in the manual: by its name, or as the values that it can have. */
static void check_argument(const struct manual_item *item, const struct option_row *row,
			   const struct command *command)
{
	char values[OPTION_VALUES_MAX], bare[OPTION_VALUES_MAX] = "", *to = bare;

	for (const char *from = row->argument ? row->argument : ""; *from; from++) {
		if (!strchr("[]=", *from))
			*to++ = *from;
	}
	if (!strcmp(item->argument, bare))
		return;
	option_list_values(values, row, command, "|", "|");
	if (!row->argument || strcmp(item->argument, values) != 0)
		fail_msg("docs/memleakbpf.1:%zu: --%s has '%s', not '%s'", item->line + 1,
			 row->name, bare, item->argument);
}

static bool says(const char *line, const char *value)
{
	static const char in_word[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	size_t len = strlen(value);

	for (const char *at = line; (at = strstr(at, value)) != NULL; at++) {
		if (!at[len] || !strchr(in_word, at[len]))
			return true;
	}
	return false;
}

static void check_default(const struct manual *m, const struct manual_item *item,
			  const struct option_row *row)
{
	const char *preset = option_preset(row, item->page);
	const char *elsewhere = option_preset(row, PAGE_WATCH);
	size_t line = item->line;

	preset = preset ? preset : row->bare;
	if (!preset || !row->argument)
		return;
	/* "As above." */
	if (item->page != PAGE_WATCH && row->commands & PAGE_WATCH && elsewhere &&
	    !strcmp(preset, elsewhere))
		return;
	while (line < item->end && !says(m->lines[line], preset))
		line++;
	if (line == item->end)
		fail_msg("docs/memleakbpf.1:%zu: the default of --%s is %s", item->line + 1,
			 row->name, preset);
}

/* --help and the like are said once. */
static bool is_everybodys(const struct option_row *row)
{
	for (const struct command *c = cli_commands; c->run; c++) {
		if (!(row->commands & c->page))
			return false;
	}
	return true;
}

/* The subcommand of this page takes the option, and has to say so. */
static bool is_due(const struct option_row *row, const struct command *command)
{
	return row->commands & command->page &&
	       (command->page == PAGE_WATCH || !is_everybodys(row));
}

static void lists_are_complete(void **state)
{
	const struct manual *m = *state;

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		for (const struct command *c = cli_commands; c->run; c++) {
			const struct manual_item *item = find_row(m, c->page, row, true);

			if (!(c->page & PAGES_WITH_LIST) || !is_due(row, c))
				continue;
			if (!item)
				fail_msg("docs/memleakbpf.1: --%s is missing in the list of '%s'",
					 row->name, c->name ? c->name : "memleakbpf");
			check_argument(item, row, c);
			check_default(m, item, row);
		}
	}
}

static void others_are_mentioned(void **state)
{
	const struct manual *m = *state;

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		for (const struct command *c = cli_commands; c->run; c++) {
			if (c->page & PAGES_WITH_LIST || !is_due(row, c))
				continue;
			/* Of record and top it says that what says what is traced is as above. */
			if ((c->page == PAGE_RECORD || c->page == PAGE_TOP) &&
			    !(option_text_on(row, c->page)->pages & c->page))
				continue;
			if (!find_row(m, c->page, row, false))
				fail_msg("docs/memleakbpf.1: --%s is missing in what it says of %s",
					 row->name, c->name);
		}
	}
}

static void nothing_more(void **state)
{
	const struct manual *m = *state;

	assert_true(m->item_count > option_row_count);
	for (size_t i = 0; i < m->item_count; i++) {
		const struct manual_item *item = &m->items[i];
		const struct option_row *row = row_of(item);

		if (item->heading && !(row->commands & item->page))
			fail_msg("docs/memleakbpf.1:%zu: --%s is not taken there", item->line + 1,
				 row->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_complete),
		cmocka_unit_test(others_are_mentioned),
		cmocka_unit_test(nothing_more),
	};

	return cmocka_run_group_tests(tests, open_manual, close_manual);
}
