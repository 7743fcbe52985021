// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/session/interruptible.h"

struct output {
	const struct exporter_format *format;
	const char *path; /* NULL: standard output */
	FILE *file;
	struct exporter *exporter;
	int error;
};

static enum export_value export_value_of(enum rank_by sort)
{
	static const enum export_value values[] = {
		[RANK_LIVE] = EXPORT_LIVE_BYTES,    [RANK_ALLOC] = EXPORT_ALLOC_BYTES,
		[RANK_GROWTH] = EXPORT_GROWTH,	    [RANK_COUNT] = EXPORT_LIVE_COUNT,
		[RANK_SUSPECT] = EXPORT_LOST_BYTES,
	};

	return values[sort];
}

static int open_exporter(struct output *output, const struct show_config *o, bool leak_only,
			 uint64_t older_ns, bool live)
{
	struct export_options e = {
		.show_older = older_ns != 0,
		.older_ns = older_ns,
		.verbose = o->verbose,
		.leak_only = leak_only,
		.suppressions = o->gen_suppressions,
		.value = export_value_of(o->sort),
	};
	int fd = fileno(output->file);
	struct winsize size;
	struct stat st;

	e.rewrite = live && output->path && !fstat(fd, &st) && S_ISREG(st.st_mode);
	if (isatty(fd)) {
		const char *no_color = getenv("NO_COLOR");

		e.color = !no_color || !*no_color;
		if (ioctl(fd, TIOCGWINSZ, &size) == 0)
			e.width = size.ws_col;
	}
	output->exporter = output->format->open(output->file, &e);
	return output->exporter ? 0 : log_errno(ENOMEM, "no memory for the output");
}

int output_open(const struct show_config *config, bool leak_only, uint64_t older_ns, bool live,
		struct output **out)
{
	struct output *output = calloc(1, sizeof(*output));
	int err = 0;

	if (!output)
		return log_errno(ENOMEM, "no memory for the output");
	output->format = config->format;
	output->path = config->output;
	output->file = output->path ? interruptible_open(output->path) : stdout;
	if (!output->file)
		err = log_errno(errno, "cannot open %s for writing", output->path);
	if (!err)
		err = open_exporter(output, config, leak_only, older_ns, live);
	if (err) {
		output_close(output);
		return err;
	}
	*out = output;
	return 0;
}

int output_fail(struct output *output, int err)
{
	/* The first failure is the one that says why: the stream stays in error after it. */
	if (output->error)
		return err;
	output->error = err;
	/* A reader that has had enough (`| head`) is no error: we stop, quietly. */
	if (err != -EPIPE)
		log_errno(err, "cannot write to %s",
			  output->path ? output->path : "standard output");
	return err;
}

int output_error(const struct output *output)
{
	return output->error;
}

int output_snapshot(struct output *output, const struct snapshot *s,
		    const struct stack *const *shown, size_t shown_count)
{
	int err = output->error;

	if (err)
		return err;
	interruptible_begin();
	err = output->format->snapshot(output->exporter, s, shown, shown_count);
	interruptible_end();
	return err ? output_fail(output, err) : 0;
}

int output_survey(struct output *output, const struct survey_report *report)
{
	int err = output->error;

	if (err)
		return err;
	interruptible_begin();
	err = output->format->survey(output->exporter, report);
	interruptible_end();
	return err ? output_fail(output, err) : 0;
}

FILE *output_stream(struct output *output)
{
	return output->file;
}

int output_close(struct output *output)
{
	int err;

	if (!output)
		return 0;
	interruptible_begin();
	if (output->exporter) {
		err = output->format->close(output->exporter);
		if (err)
			output_fail(output, err);
	}
	if (output->path && output->file && fclose(output->file))
		output_fail(output, -errno);
	interruptible_end();
	err = output->error;
	free(output);
	return err;
}

static bool utf8_wanted(void)
{
	const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

void output_survey_options(const struct show_config *o, struct survey_output *out)
{
	const char *no_color = getenv("NO_COLOR");
	struct winsize size;

	out->utf8 = utf8_wanted();
	out->options.verbose = o->verbose;
	if (isatty(fileno(out->out))) {
		out->redraw = true;
		out->options.color = !no_color || !*no_color;
		if (ioctl(fileno(out->out), TIOCGWINSZ, &size) == 0)
			out->options.width = size.ws_col;
	}
}
