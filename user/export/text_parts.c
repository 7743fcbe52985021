// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/text_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/base/clock.h"
#include "user/base/parse.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/render.h"
#include "user/export/text_fit.h"
#include "user/model/function_name.h"

void text_set_style(FILE *out, const struct export_options *options, enum text_style style)
{
	static const char *const codes[] = {
		[TEXT_NONE] = "\033[0m",  [TEXT_BOLD] = "\033[1m", [TEXT_DIM] = "\033[2m",
		[TEXT_WARN] = "\033[33m", [TEXT_BAD] = "\033[31m",
	};

	if (options->color)
		fputs(codes[style], out);
}

const char *text_time(char out[static TEXT_TIME_MAX], uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / NS_PER_S);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(out, TEXT_TIME_MAX, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(out, TEXT_TIME_MAX, "?");
	return out;
}

const char *text_plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

size_t text_put_folded(FILE *out, const struct export_options *options, const char *line)
{
	char folded[FUNCTION_NAME_MAX];

	return text_put_name(out,
			     options->verbose ? line : function_name_fold_within(folded, line));
}

void text_put_live(FILE *out, const struct amount *live)
{
	char human[FORMAT_BYTES_MAX], exact[FORMAT_GROUPED_MAX], count[FORMAT_GROUPED_MAX];

	fputs(format_bytes(human, live->bytes), out);
	if (live->bytes >= 1024) /* below, the first figure is exact already */
		fprintf(out, " (%s B)", format_grouped(exact, live->bytes));
	fprintf(out, " in %s %s", format_grouped(count, live->count),
		text_plural(live->count, "block", "blocks"));
}

int text_page_write(struct exporter *e, const char *text, size_t len)
{
	char *wrapped = NULL;
	size_t wrapped_len = 0;
	FILE *out;
	int err;

	if (!e->options.width)
		return exporter_write(e, text, len);
	out = open_memstream(&wrapped, &wrapped_len);
	if (!out)
		return -ENOMEM;
	text_wrap(out, text, e->options.width);
	err = close_memstream(out) ?: exporter_write(e, wrapped, wrapped_len);
	free(wrapped);
	return err;
}

void text_put_lines(FILE *out, const char *before, const char *text)
{
	char *copy = strdup(text), *rest = copy;
	const char *line;

	while (rest && (line = strsep(&rest, "\n")) != NULL) {
		fputs(before, out);
		text_put_name(out, line);
		fputc('\n', out);
	}
	free(copy);
}
