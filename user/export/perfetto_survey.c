// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A survey as a Perfetto trace: every process a counter track, the drilled ones heap profiles, a
 * dump at the end of each window.
 */
#include <errno.h>

#include "user/export/perfetto.h"

static int perfetto_put_drill(struct perfetto *p, const struct survey_drill *drill)
{
	const struct snapshot *s = drill ? drill->snapshot : NULL;
	uint32_t known;

	if (!s || id_map_get(&p->windows, s->target_id, &known))
		return 0;
	if (id_map_put(&p->windows, s->target_id, 1))
		return -ENOMEM;
	return perfetto_put_snapshot(p, drill->report);
}

int perfetto_survey(struct exporter *e, const struct survey_report *report)
{
	struct perfetto *p = (struct perfetto *)e;
	int err = 0;

	wire_reset(&p->out);
	p->survey = true;
	perfetto_put_clocks(p, report->time_ns - report->elapsed_ns);
	for (size_t i = 0; i < report->row_count && !err; i++) {
		const struct survey_row *row = &report->rows[i];

		if (!row->ended)
			err = perfetto_put_memory(p, &row->process, report->time_ns);
		err = err ? err : perfetto_put_drill(p, row->drill);
	}
	if (!err && p->out.failed)
		err = -ENOMEM;
	return err ? err : exporter_write(e, (const char *)p->out.data, p->out.len);
}
