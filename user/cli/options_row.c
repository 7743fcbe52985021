// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reads the rows. */
#include <stdio.h>
#include <stdlib.h>

#include "user/base/util.h"
#include "user/cli/options_table.h"

bool option_may_have_value(const struct option_row *row)
{
	return row->argument && row->argument[0] == '[';
}

bool option_needs_value(const struct option_row *row)
{
	return row->argument && row->argument[0] != '[';
}

const struct option_text *option_text_on(const struct option_row *row, enum help_page page)
{
	const unsigned pages[] = {page, PAGE_WATCH | PAGES_WATCH_TOPICS,
				  PAGE_SURVEY | PAGES_SURVEY_TOPICS};

	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		for (size_t j = 0; j < OPTION_TEXTS_MAX; j++) {
			if (row->texts[j].pages & pages[i])
				return &row->texts[j];
		}
	}
	return NULL;
}

const char *option_preset(const struct option_row *row, enum help_page page)
{
	const struct option_text *text = option_text_on(row, page);

	return text && text->preset ? text->preset : row->preset;
}

/* NULL past the last. */
static const char *option_value_at(const struct option_row *row, const struct command *command,
				   size_t at)
{
	const struct exporter_format *format;

	if (row->choices)
		return row->choices[at].name;
	if (row->apply != option_apply_format)
		return NULL;
	for (size_t i = 0; (format = export_format_at(i)) != NULL; i++) {
		if (export_can(format, command->formats) && !at--)
			return format->name;
	}
	return NULL;
}

char *option_list_values(char buf[static OPTION_VALUES_MAX], const struct option_row *row,
			 const struct command *command, const char *between, const char *last)
{
	const char *name = option_value_at(row, command, 0), *next;
	size_t used = 0;

	*buf = '\0';
	for (size_t i = 1; name && used < OPTION_VALUES_MAX; i++, name = next) {
		const char *before = between;

		next = option_value_at(row, command, i);
		if (!used)
			before = "";
		else if (!next)
			before = last;
		used += (size_t)snprintf(buf + used, OPTION_VALUES_MAX - used, "%s%s", before,
					 name);
	}
	return buf;
}

int option_apply_preset(const struct option_row *row, struct options *options)
{
	const char *preset = option_preset(row, options->command->page);
	const char *variable = row->variable ? getenv(row->variable) : NULL;

	if (row->initial)
		option_set_number(row, options, row->initial);
	if (variable && *variable)
		option_set_number(row, options, true);
	return preset ? row->apply(row, options, row->name, preset) : 0;
}
