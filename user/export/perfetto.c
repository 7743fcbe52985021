// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * -f perfetto: a Perfetto trace with a heap profile per target, one dump per snapshot, and counter
 * tracks. Written as it goes: what is there is a whole trace at any time. Messages and field
 * numbers: github.com/google/perfetto, protos/perfetto/trace/.
 *
 * What trace_processor asks for: values of a call stack are cumulative and never fall; frames and
 * strings are interned per sequence, which is therefore one per target; the first packet of a
 * sequence clears its state, the later ones need it; a call stack has one number.
 */
#include "user/export/perfetto.h"

#include <errno.h>
#include <stdlib.h>

static struct exporter *perfetto_open(FILE *out, const struct export_options *options)
{
	struct perfetto *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->base.out = out;
	p->base.options = *options;
	p->table = frame_table_new();
	if (p->table)
		return &p->base;
	free(p);
	return NULL;
}

static int perfetto_close(struct exporter *e)
{
	struct perfetto *p = (struct perfetto *)e;

	if (!p)
		return 0;
	for (size_t i = 0; i < p->heap_count; i++)
		perfetto_heap_release(&p->heaps[i]);
	free(p->heaps);
	frame_table_free(p->table);
	id_map_free(&p->tracks);
	id_map_free(&p->scopes);
	id_map_free(&p->process_of);
	id_map_free(&p->windows);
	free(p->processes);
	wire_free(&p->out);
	free(p);
	return 0;
}

static int perfetto_snapshot(struct exporter *e, const struct report *r,
			     const struct stack *const *shown, size_t shown_count)
{
	struct perfetto *p = (struct perfetto *)e;
	int err;

	(void)shown;
	(void)shown_count;
	wire_reset(&p->out);
	err = perfetto_put_snapshot(p, r);
	if (!err && p->out.failed)
		err = -ENOMEM;
	return err ? err : exporter_write(e, (const char *)p->out.data, p->out.len);
}

const struct exporter_format format_perfetto = {
	.name = "perfetto",
	.help = "a trace for ui.perfetto.dev",
	.wants_all = true,
	.binary = true,
	.history = true,
	.open = perfetto_open,
	.snapshot = perfetto_snapshot,
	.survey = perfetto_survey,
	.close = perfetto_close,
};
