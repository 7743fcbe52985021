// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/help.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/cli/options_table.h"

#define HELP_WIDTH    80 /* columns of a screen */
#define HELP_COLUMN   26 /* the options' texts begin here, if there is room */
#define HELP_COMMANDS 44 /* the subcommands' summaries begin here */

/* ---- what is not about options ------------------------------------------------------------ */

struct help_text {
	enum help_page page;
	const char *before, *after;
};

static const char help_options_heading[] =
	"\n"
	"Options (TIME: 10, 500ms, 2s, 5m, 1h; SIZE: 4096, 64k, 1M):\n";

static const struct help_text help_texts[] = {
	{PAGE_WATCH,
	 "Usage: memleakbpf -p PID[,PID...] [OPTION...]       watch running processes\n"
	 "       memleakbpf [OPTION...] -- COMMAND [ARG...]   run it, report at its end\n",
	 "Examples:\n"
	 "  memleakbpf -p nginx -i 10          top unfreed stacks, every 10 s\n"},
	{PAGE_SELECT, "Which processes and blocks are watched (watch, run and record):\n",
	 "Examples:\n"
	 "  memleakbpf --container shop --older 5m\n"},
	{PAGE_LEAKS, "Which blocks are lost (watch, run and record):\n",
	 "Examples:\n"
	 "  memleakbpf -p 1234 --verdict --sort suspect -i 60  lost, growing and old first\n"},
	{PAGE_CHECKS, "What fails a test, and what does not (watch, run and record):\n",
	 "Examples:\n"
	 "  memleakbpf --leak-only --suppressions ci.supp --error-exitcode 9 -- ./test\n"
	 "  memleakbpf --check-frees --guard=100 -- ./test\n"},
	{PAGE_FIGURES,
	 "What else to keep of each stack (watch, run and record; --sort lifetime,\n"
	 "temporary, peak and suspect include what they sort by):\n",
	 "Examples:\n"
	 "  memleakbpf -p 1234 --lifetimes --sort suspect -i 60   what outlives its like\n"},
	{PAGE_SCOPES, "What each call of a function leaves behind (watch, run and record):\n",
	 "Examples:\n"
	 "  memleakbpf -p 1234 --scope 'handle_request#arg2:str'\n"},
	{PAGE_STACKS, "How stacks are walked, named and kept (watch, run and record):\n",
	 "Examples:\n"
	 "  memleakbpf -p 1234 --depth 32 --no-inlines\n"},
	{PAGE_PROBES, "Which functions are traced, and how (watch, run and record):\n",
	 "Examples:\n"
	 "  memleakbpf doctor -p 1234          which functions would be traced, and how\n"
	 "  memleakbpf -p 1234 --alloc-fn pool_get:2 --free-fn pool_put:1\n"},
	{PAGE_RECORD,
	 "Usage: memleakbpf record -p PID[,PID...] -o FILE [OPTION...]\n"
	 "       memleakbpf record -o FILE [OPTION...] -- COMMAND [ARG...]\n"
	 "Writes a snapshot every interval into a file that report and diff read, on any\n"
	 "machine.\n"
	 "\n",
	 "Examples:\n"
	 "  memleakbpf record -p 1234 -i 60 -o shop.mlb     until Ctrl-C\n"
	 "  memleakbpf record -o test.mlb -- ./test\n"},
	{PAGE_REPORT,
	 "Usage: memleakbpf report FILE [OPTION...]\n"
	 "Shows a recording: the last snapshot of each process, or all of them in formats\n"
	 "that hold a history (json, perfetto, html). TIME: 90s, 5m since its beginning,\n"
	 "or 2026-01-02T03:04:05[Z].\n"
	 "\n",
	 "Examples:\n"
	 "  memleakbpf report shop.mlb --at 1h\n"
	 "  memleakbpf report shop.mlb -f html -o shop.html\n"
	 "  memleakbpf report shop.mlb -f folded | flamegraph.pl --countname=bytes >s.svg\n"},
	{PAGE_DIFF,
	 "Usage: memleakbpf diff OLD NEW [OPTION...]\n"
	 "       memleakbpf diff FILE [--from TIME] [--to TIME] [OPTION...]\n"
	 "Says what grew between the last snapshots of two recordings, or between two\n"
	 "times of one. Stacks are matched by their names, so the program may have been\n"
	 "restarted or rebuilt.\n"
	 "\n",
	 "Examples:\n"
	 "  memleakbpf diff shop.mlb --from 5m --to 1h      what grew meanwhile\n"
	 "  memleakbpf diff before.mlb after.mlb            the same program, twice\n"},
	{PAGE_INSPECT,
	 "Usage: memleakbpf inspect -p PID[,PID...] | CORE... [OPTION...]\n"
	 "Says where the memory of a process is, what is lost of it, and what its heap is\n"
	 "made of, by its allocator's books: as it is now, and without tracing anything.\n"
	 "\n",
	 "Examples:\n"
	 "  memleakbpf inspect -p 1234 -i 60 -n 3          it has grown already: why?\n"
	 "  memleakbpf inspect core.1234                   of a crash; needs no root\n"},
	{PAGE_TOP,
	 "Usage: memleakbpf top [-p PID] [OPTION...]\n"
	 "Shows on the terminal what a process has allocated, while it runs; verdicts and\n"
	 "inspections, and what has changed since a mark, at a key. Without -p all\n"
	 "processes; Enter has probes on one for a while. ? has the keys, q leaves.\n"
	 "\n",
	 "Examples:\n"
	 "  memleakbpf top\n"
	 "  memleakbpf top -p 1234 -s 512k --gate --lifetimes\n"},
	{PAGE_SURVEY,
	 "Usage: memleakbpf survey [OPTION...]\n"
	 "Watches the memory of all processes. Says which of them grow, and why it thinks\n"
	 "so. Puts sampled probes on the most suspect for a while to name what they\n"
	 "allocate. Growing: it rises as it has not before, whenever that began. Leaking:\n"
	 "that has lasted for long, measured by what is left. It looks eight times closer\n"
	 "while anybody's memory is full within ten minutes.\n"
	 "\n",
	 "Examples:\n"
	 "  memleakbpf survey                  until Ctrl-C; a report at every look\n"
	 "  memleakbpf survey -i 1 -n 60 --user www-data\n"
	 "  memleakbpf survey --container shop --record shop.mlb\n"},
	{PAGE_KEEP, "Processes that the survey samples all the time (with --gate):\n",
	 "Examples:\n"
	 "  memleakbpf survey --gate --keep unit=nginx --guard=100000\n"},
	{PAGE_SERVE, "What the survey serves over HTTP:\n",
	 "Examples:\n"
	 "  memleakbpf survey --metrics :9435\n"
	 "  memleakbpf survey --gate --keep comm=shop --profiles :9436\n"},
	{PAGE_KERNEL,
	 "Usage: memleakbpf kernel [OPTION...]\n"
	 "Says where the kernel's own memory is, and what of it grows. Then sampled probes\n"
	 "say who allocates what is not freed: by stack, cache, task, control group.\n"
	 "\n",
	 "Examples:\n"
	 "  memleakbpf kernel                  until Ctrl-C; probes when something grows\n"
	 "  memleakbpf kernel -p 1234 -s 1     all that the calls of 1234 leave behind\n"},
	{PAGE_DOCTOR,
	 "Usage: memleakbpf doctor [-p PID[,PID...]] [--try] [-f text|json] [-v]\n"
	 "Says what this kernel and machine allow, and what to do about what they do not.\n"
	 "\n",
	 "Examples:\n"
	 "  memleakbpf doctor                  what is missing here, and the cure\n"
	 "  memleakbpf doctor -p 1234          which probes 1234 would get\n"},
};

/* ---- lines of options --------------------------------------------------------------------- */

/* Words with a blank before each, from this column on; new lines begin at the indent. */
static void help_put_words(FILE *out, const char *text, size_t column, size_t indent)
{
	while (*(text += strspn(text, " "))) {
		size_t len = strcspn(text, " ");

		if (column + 1 + len > HELP_WIDTH) {
			fprintf(out, "\n%*s", (int)indent - 1, "");
			column = indent - 1;
		}
		column += (size_t)fprintf(out, " %.*s", (int)len, text);
		text += len;
	}
}

static size_t help_put_name(FILE *out, const struct option_row *row, const char *argument)
{
	size_t len = 0;

	argument = argument ? argument : "";
	/* "=fork" belongs to the long name. */
	if (row->letter && *argument != '=')
		len += (size_t)fprintf(out, "-%c, ", row->letter);
	return len + (size_t)fprintf(out, "--%s%s%s", row->name,
				     !*argument || *argument == '=' || *argument == '[' ? "" : " ",
				     argument);
}

/* Replaces {default} and {values} in the text. */
static void help_expand(char *buf, size_t size, const struct option_row *row,
			const struct command *command, const char *text)
{
	const char *preset = option_preset(row, command->page);
	char values[OPTION_VALUES_MAX];
	size_t used = 0;

	*buf = '\0';
	while (*text && used < size) {
		size_t len = strcspn(text, "{");

		used += (size_t)snprintf(buf + used, size - used, "%.*s", (int)len, text);
		text += len;
		if (!*text || used >= size)
			break;
		used += (size_t)snprintf(
			buf + used, size - used, "%s",
			!strncmp(text, "{default}", 9)
				? (preset ? preset : row->bare)
				: option_list_values(values, row, command, ", ", " or "));
		text += strcspn(text, "}") + 1;
	}
}

/*
 * Puts it at column 0, or behind an option that shares its line. Returns where it ends: 0: on a new
 * line.
 */
static size_t help_put_option(FILE *out, const struct option_row *row,
			      const struct option_text *text, const struct command *command,
			      size_t column)
{
	const char *argument = text->argument ? text->argument : row->argument;
	char expanded[256];

	if (column)
		column += (size_t)fprintf(out, ", ");
	else
		column += (size_t)fprintf(
			out, "%s",
			row->letter && !(argument && *argument == '=') ? "  " : "      ");
	column += help_put_name(out, row, argument);
	if (text->with_next)
		return column;
	if (text->text) {
		size_t gap = column + 2 < HELP_COLUMN ? HELP_COLUMN - column : 2;

		help_expand(expanded, sizeof(expanded), row, command, text->text);
		column += (size_t)fprintf(out, "%*s", (int)gap - 1, "");
		help_put_words(out, expanded, column, HELP_COLUMN);
	}
	fputc('\n', out);
	return 0;
}

static void help_put_options(FILE *out, const struct command *command, enum help_page page)
{
	size_t column = 0;

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		for (size_t j = 0; j < OPTION_TEXTS_MAX && row->texts[j].pages; j++) {
			if (row->texts[j].pages & page)
				column = help_put_option(out, row, &row->texts[j], command, column);
		}
	}
}

/* The pages with options of the subcommand that its own page lacks. */
static unsigned help_pages_elsewhere(const struct command *command)
{
	unsigned where = 0;

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_text *text = option_text_on(&option_rows[i], command->page);

		if (option_rows[i].commands & command->page && text &&
		    !(text->pages & command->page))
			where |= text->pages & ~PAGE_SURVEY ?: text->pages;
	}
	return where;
}

static void help_put_elsewhere(FILE *out, const struct command *command)
{
	static const struct {
		enum help_page page;
		const char *word;
	} topics[] = {{PAGE_SELECT, "select"},	 {PAGE_LEAKS, "leaks"},	  {PAGE_CHECKS, "checks"},
		      {PAGE_FIGURES, "figures"}, {PAGE_SCOPES, "scopes"}, {PAGE_STACKS, "stacks"},
		      {PAGE_PROBES, "probes"}};
	unsigned where = help_pages_elsewhere(command);
	const char *before = " memleakbpf --help=";
	char line[512];
	int used;

	if (!where)
		return;
	used = snprintf(line, sizeof(line), "More options (all: memleakbpf %s --help=options):%s%s",
			command->name, where & PAGE_WATCH ? " memleakbpf --help," : "",
			where & PAGE_SURVEY ? " memleakbpf survey --help," : "");
	for (size_t i = 0; i < ARRAY_SIZE(topics); i++) {
		if (!(where & topics[i].page))
			continue;
		used += snprintf(line + used, sizeof(line) - (size_t)used, "%s%s,", before,
				 topics[i].word);
		before = " ";
	}
	line[used - 1] = '\0';
	fputc(' ', out);
	help_put_words(out, line, 1, 2);
	fputc('\n', out);
}

/* ---- pages -------------------------------------------------------------------------------- */

/* The row that has the option's text: itself, or a row that shares its line; NULL: none. */
static const struct option_row *help_row_with_text(const struct option_row *row,
						   const struct command *command)
{
	for (; row < option_rows + option_row_count; row++) {
		const struct option_text *text = option_text_on(row, command->page);

		/* The next row that this command has. */
		if (!(row->commands & command->page))
			continue;
		if (!text || !text->with_next)
			return text && text->text ? row : NULL;
	}
	return NULL;
}

/*
 * A line each: "-i, --interval TIME", "--attach auto|session|multi|single|usdt",
 * "--check-frees[=N]". Behind a tab comes its text, if it has one.
 */
static void help_put_list(FILE *out, const struct command *command)
{
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i], *said;
		char values[OPTION_VALUES_MAX], argument[OPTION_VALUES_MAX + 4] = "", text[256];

		if (!(row->commands & command->page))
			continue;
		option_list_values(values, row, command, "|", "|");
		if (row->argument && *values)
			snprintf(argument, sizeof(argument),
				 option_may_have_value(row) ? "[=%s]" : "%s", values);
		help_put_name(out, row, *argument ? argument : row->argument);
		said = help_row_with_text(row, command);
		if (said) {
			help_expand(text, sizeof(text), said, command,
				    option_text_on(said, command->page)->text);
			fprintf(out, "\t%s", text);
		}
		fputc('\n', out);
	}
}

static void help_put_commands(FILE *out, const struct command *commands)
{
	for (const struct command *c = commands; c->run || c->check || c->name; c++) {
		if (c->name)
			fprintf(out, "       memleakbpf %-*s %s\n", HELP_COMMANDS - 11, c->name,
				c->summary);
	}
}

static int help_result(FILE *out)
{
	errno = 0;
	if (!fflush(out) && !ferror(out))
		return 0;
	return errno ? -errno : -EIO;
}

static void help_put_page(FILE *out, const struct command *commands, const struct command *command,
			  enum help_page page)
{
	const struct help_text *text = help_texts;

	if (page == PAGE_OPTIONS) {
		help_put_list(out, command);
		return;
	}
	while (text->page != page)
		text++;
	fputs(text->before, out);
	if (page == PAGE_WATCH) {
		help_put_commands(out, commands);
		fputs(help_options_heading, out);
	}
	help_put_options(out, command, page);
	/* Topics have the other options of memleakbpf itself. */
	if (page == command->page && page != PAGE_WATCH)
		help_put_elsewhere(out, command);
	fprintf(out, "\n%s", text->after);
}

/*
 * Makes the page in memory first: it may be larger than the buffer, and only the last write says
 * why it failed.
 */
int help_print(FILE *out, const struct command *commands, const struct command *command,
	       enum help_page page)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *memory = open_memstream(&text, &len);
	int err;

	if (!memory)
		return -errno;
	help_put_page(memory, commands, command, page);
	err = ferror(memory) ? -ENOMEM : 0;
	if (fclose(memory) || err)
		return -ENOMEM;
	errno = 0;
	if (fwrite(text, 1, len, out) != len)
		return errno ? -errno : -EIO;
	return help_result(out);
}

int help_print_version(FILE *out)
{
	fprintf(out, "memleakbpf %s\n", MEMLEAKBPF_VERSION);
	return help_result(out);
}
