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
#include "user/kernel/caller_file.h"
#include "user/session/interruptible.h"
#include "user/session/profile_stacks.h"

struct output {
	const struct exporter_format *format;
	const char *path; /* NULL: standard output */
	FILE *file;
	bool secret, viewed;
	bool begun;
	bool in_round; /* output_round() */
	/* path's old contents are at path.old; NULL: they are not */
	struct caller_file_kept *kept_old;
	struct exporter *exporter; /* NULL: nothing has been written yet */
	struct export_options options;
	char *kept; /* for output_kept(); NULL: nothing */
	size_t kept_len;
	int error;
};

/* Encloses writes for which a slow reader may make us wait. */
static void output_wait_begins(const struct output *output)
{
	if (!output->viewed)
		interruptible_begin();
}

static void output_wait_ends(const struct output *output)
{
	if (!output->viewed)
		interruptible_end();
}

static enum export_value output_value_of(enum rank_by sort)
{
	static const enum export_value values[] = {
		[RANK_LIVE] = EXPORT_LIVE_BYTES,    [RANK_ALLOC] = EXPORT_ALLOC_BYTES,
		[RANK_GROWTH] = EXPORT_GROWTH,	    [RANK_COUNT] = EXPORT_LIVE_COUNT,
		[RANK_SUSPECT] = EXPORT_LOST_BYTES, [RANK_AGE] = EXPORT_LIVE_BYTES,
		[RANK_RATE] = EXPORT_ALLOC_BYTES,
	};

	return values[sort];
}

static bool output_utf8_wanted(void)
{
	const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

/* Escapes mean nothing to a dumb terminal (terminfo's "dumb"), as inside editors and logs. */
static bool output_terminal_dumb(void)
{
	const char *term = getenv("TERM");

	return term && !strcmp(term, "dumb");
}

size_t output_width(FILE *file)
{
	struct winsize size;

	return isatty(fileno(file)) && !ioctl(fileno(file), TIOCGWINSZ, &size) ? size.ws_col : 0;
}

static void output_choose_options(struct output *output, const struct show_config *o,
				  bool leak_only, uint64_t older_ns, bool live)
{
	struct export_options e = {
		.show_older = older_ns != 0,
		.older_ns = older_ns,
		.verbose = o->verbose,
		.brief = o->brief,
		.leak_only = leak_only,
		.suppressions = o->gen_suppressions,
		.value = output_value_of(o->sort),
		.sites = show_sites(o),
		.by = o->by,
		.utf8 = output_utf8_wanted(),
	};
	int fd = fileno(output->file);
	struct stat st;

	e.rewrite = live && output->path && !fstat(fd, &st) && S_ISREG(st.st_mode);
	if (isatty(fd)) {
		const char *no_color = getenv("NO_COLOR");

		e.redraw = live && !output_terminal_dumb();
		e.color = (!no_color || !*no_color) && !output_terminal_dumb();
		e.width = output_width(output->file);
	}
	output->options = e;
}

static FILE *output_create(const struct output *output)
{
	if (!output->path)
		return stdout;
	return output->viewed
		       ? caller_file_create_new(output->path, output->secret)
		       : interruptible_create(output->path, output->secret, output->kept_old);
}

int output_open(const struct show_config *config, bool leak_only, uint64_t older_ns, bool live,
		bool secret, struct output **out)
{
	struct output *output;

	if (config->format->binary && !config->output && isatty(STDOUT_FILENO)) {
		log_error("-f %s is binary, and of no use on a terminal: give -o FILE, or a pipe",
			  config->format->name);
		return -EINVAL;
	}
	output = calloc(1, sizeof(*output));
	if (!output)
		return log_errno(ENOMEM, "no memory for the output");
	output->format = config->format;
	output->path = config->output;
	output->secret = secret;
	output->viewed = config->viewed;
	if (config->format->keeps_old && output->path && !output->viewed)
		output->kept_old = caller_file_keep(output->path);
	output->file = output_create(output);
	if (!output->file) {
		int err = -errno;

		output_close(output);
		return err;
	}
	output_choose_options(output, config, leak_only, older_ns, live);
	*out = output;
	return 0;
}

int output_fail(struct output *output, int err)
{
	/* The first failure says why: the stream stays in error after it. */
	if (output->error)
		return err;
	output->error = err;
	/* A reader that has had enough (`| head`) is no error: we stop, quietly. */
	if (err != -EPIPE)
		log_errno(err, "cannot write to %s",
			  output->path ? output->path : "standard output");
	return err;
}

/*
 * Drops the old contents of the file of -o only now: a run that cannot begin leaves them as they
 * were. Writing another file and renaming it would not do. Reports are read while they grow, and by
 * then we may have given up the right to rename (user/kernel/privilege.h).
 */
int output_begin(struct output *output)
{
	int err = output->error;

	if (err || output->exporter)
		return err;
	output->begun = true;
	if (output->path)
		err = caller_file_empty(output->file, output->secret);
	if (err)
		return output_fail(output, err);
	if (output->kept_old)
		log_info("what %s held is kept as %s.old", output->path, output->path);
	output->exporter = output->format->open(output->file, &output->options);
	if (!output->exporter)
		return output_fail(output, -ENOMEM);
	if (output->in_round && output->format->round)
		err = output->format->round(output->exporter, true);
	return err ? output_fail(output, err) : 0;
}

/* A round that shows nothing begins no output. */
int output_round(struct output *output, bool begins)
{
	int err = output->error;

	output->in_round = begins;
	if (err || !output->exporter || !output->format->round)
		return err;
	output_wait_begins(output);
	err = output->format->round(output->exporter, begins);
	output_wait_ends(output);
	return err ? output_fail(output, err) : 0;
}

int output_error(const struct output *output)
{
	return output->error;
}

int output_report(struct output *output, const struct report *report,
		  const struct stack *const *shown, size_t shown_count)
{
	int err = output_begin(output);

	if (err)
		return err;
	output_wait_begins(output);
	err = output->format->snapshot(output->exporter, report, shown, shown_count);
	output_wait_ends(output);
	return err ? output_fail(output, err) : 0;
}

int output_survey(struct output *output, const struct survey_report *report)
{
	int err = output_begin(output);

	if (err)
		return err;
	output_wait_begins(output);
	err = output->format->survey(output->exporter, report);
	output_wait_ends(output);
	return err ? output_fail(output, err) : 0;
}

/* Of a format that has stacks alone. */
static int output_profile(struct output *output, const struct inspection *inspection)
{
	struct profile_stacks *stacks;
	struct report *report;
	int err = profile_stacks_new(inspection, &stacks, &report);

	if (err)
		return output_fail(output, err);
	if (!report->snapshot->stack_count)
		log_warn("process %d has no runtime that keeps a profile of its own: -f %s has "
			 "nothing to show of it",
			 (int)inspection->pid, output->format->name);
	err = output_report(output, report, NULL, 0);
	report_free(report);
	profile_stacks_free(stacks);
	return err;
}

int output_inspection(struct output *output, const struct inspection *inspection, size_t top)
{
	int err = output_begin(output);

	if (err)
		return err;
	if (!output->format->inspection)
		return output_profile(output, inspection);
	output_wait_begins(output);
	err = output->format->inspection(output->exporter, inspection, top);
	output_wait_ends(output);
	return err ? output_fail(output, err) : 0;
}

int output_kernel(struct output *output, const struct kernel_report *report)
{
	int err = output_begin(output);

	if (err)
		return err;
	output_wait_begins(output);
	err = output->format->kernel(output->exporter, report);
	output_wait_ends(output);
	return err ? output_fail(output, err) : 0;
}

/* Renders one report, with nothing of the one before. */
static int output_render(struct output *output, const struct survey_report *report, char **text,
			 size_t *len)
{
	FILE *out = open_memstream(text, len);
	struct exporter *e = out ? output->format->open(out, &output->options) : NULL;
	int err = e ? output->format->survey(e, report) : -ENOMEM, close_err = 0;

	if (e)
		close_err = output->format->close(e);
	if (out && close_memstream(out))
		err = -ENOMEM;
	return err ? err : close_err;
}

int output_keep_survey(struct output *output, const struct survey_report *report)
{
	char *text = NULL;
	size_t len = 0;
	int err = output->error;

	if (err)
		return err;
	err = output_render(output, report, &text, &len);
	if (err) {
		free(text);
		return output_fail(output, err);
	}
	free(output->kept);
	output->kept = text;
	output->kept_len = len;
	return 0;
}

int output_kept(struct output *output)
{
	int err = output->kept ? output_begin(output) : output->error;

	if (err || !output->kept)
		return err;
	output_wait_begins(output);
	errno = 0;
	if (fwrite(output->kept, 1, output->kept_len, output->file) != output->kept_len ||
	    fflush(output->file))
		err = errno ? -errno : -EIO;
	output_wait_ends(output);
	return err ? output_fail(output, err) : 0;
}

int output_close(struct output *output)
{
	int err;

	if (!output)
		return 0;
	output_wait_begins(output);
	if (output->exporter) {
		err = output->format->close(output->exporter);
		if (err)
			output_fail(output, err);
	}
	if (output->kept_old && !output->begun)
		caller_file_put_back(output->path, output->kept_old, output->file);
	if (output->path && output->file && fclose(output->file))
		output_fail(output, -errno);
	output_wait_ends(output);
	err = output->error;
	caller_file_kept_free(output->kept_old);
	free(output->kept);
	free(output);
	return err;
}
