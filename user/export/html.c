// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * -f html: one page that shows everything by itself, without a network: totals over time, stacks, a
 * flame graph. What it needs of a recording of any length is kept in bounded memory: of the totals
 * every n-th snapshot, of the stacks every m-th, n and m doubling when there are too many; the
 * latest always. Of a recording that claims any number of targets, stacks or processes it is in
 * proportion to the file: nothing is set aside for what has not come.
 */
#include "user/export/html.h"

#include <errno.h>
#include <stdlib.h>

static struct exporter *html_open(FILE *out, const struct export_options *options)
{
	struct html *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->base.out = out;
	h->base.options = *options;
	h->table = frame_table_new();
	if (h->table)
		return &h->base;
	free(h);
	return NULL;
}

static int html_close(struct exporter *e)
{
	struct html *h = (struct html *)e;
	int err;

	if (!h)
		return 0;
	/* Without a snapshot there is nothing to say: tracing could not begin. */
	err = h->base.options.rewrite || !h->taken ? 0 : html_write(h);
	for (size_t i = 0; i < h->target_count; i++)
		html_target_release(&h->targets[i]);
	free(h->targets);
	id_map_free(&h->target_of);
	html_survey_release(&h->survey);
	frame_table_free(h->table);
	free(h);
	return err;
}

static int html_snapshot(struct exporter *e, const struct report *r,
			 const struct stack *const *shown, size_t shown_count)
{
	struct html *h = (struct html *)e;
	int err = html_take(h, r);

	(void)shown;
	(void)shown_count;
	return !err && e->options.rewrite ? html_write(h) : err;
}

static int html_survey(struct exporter *e, const struct survey_report *report)
{
	struct html *h = (struct html *)e;
	int err = html_take_survey(h, report);

	return !err && e->options.rewrite ? html_write(h) : err;
}

static const char *html_unavailable(void)
{
	return html_page_why_not;
}

const struct exporter_format format_html = {
	.name = "html",
	.help = "a page with charts and a flame graph",
	.wants_all = true,
	.says = true,
	.history = true,
	.unavailable = html_unavailable,
	.open = html_open,
	.snapshot = html_snapshot,
	.survey = html_survey,
	.close = html_close,
};
