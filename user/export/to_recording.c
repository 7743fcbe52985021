// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A recording as an output format: what `memleakbpf record` writes. */
#include "user/recording/recording.h"

#include <stdlib.h>
#include <sys/utsname.h>

#include "user/export/render.h"

struct recording {
	struct exporter base;
	/* NULL until the first snapshot: open() has no way to tell of a failed write */
	struct recording_writer *writer;
};

static struct exporter *recording_open(FILE *out, const struct export_options *options)
{
	struct recording *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->base.out = out;
	r->base.options = *options;
	return &r->base;
}

static int to_recording_begin(struct recording *r)
{
	struct utsname host;
	struct recording_info info = {
		.tool_version = MEMLEAKBPF_VERSION,
		.older_ns = r->base.options.older_ns,
	};

	if (!uname(&host)) {
		info.kernel = host.release;
		info.machine = host.machine;
		info.host = host.nodename;
	}
	return recording_writer_new(r->base.out, &info, &r->writer);
}

static int recording_snapshot(struct exporter *e, const struct report *report,
			      const struct stack *const *shown, size_t shown_count)
{
	struct recording *r = (struct recording *)e;
	int err = r->writer ? 0 : to_recording_begin(r);

	(void)shown;
	(void)shown_count;
	return err ? err : recording_writer_add(r->writer, report);
}

static int recording_survey(struct exporter *e, const struct survey_report *report)
{
	struct recording *r = (struct recording *)e;
	int err = r->writer ? 0 : to_recording_begin(r);

	return err ? err : recording_writer_add_survey(r->writer, report);
}

static int recording_inspection(struct exporter *e, const struct inspection *inspection, size_t top)
{
	struct recording *r = (struct recording *)e;
	int err = r->writer ? 0 : to_recording_begin(r);

	(void)top;
	return err ? err : recording_writer_add_inspection(r->writer, inspection);
}

static int recording_close(struct exporter *e)
{
	struct recording *r = (struct recording *)e;

	if (r)
		recording_writer_free(r->writer);
	free(r);
	return 0;
}

const struct exporter_format export_recording = {
	.name = "recording",
	.help = "what report and diff read",
	.wants_all = true,
	.wants_pss = true,
	.keeps_old = true,
	.history = true,
	.open = recording_open,
	.snapshot = recording_snapshot,
	.survey = recording_survey,
	.inspection = recording_inspection,
	.close = recording_close,
};
