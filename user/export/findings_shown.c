// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Findings as text, a line each, and as JSON. */
#include "user/export/json_parts.h"
#include "user/export/text_parts.h"

void text_put_findings(FILE *out, const struct export_options *options,
		       const struct findings *findings)
{
	if (!findings || !findings->count)
		return;
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->items[i];
		bool bad = finding->kind == FINDING_LOST || finding->kind == FINDING_MISUSES;

		fputs("* ", out);
		if (bad)
			text_set_style(out, options, TEXT_BAD);
		/* The sentence has names that the target has chosen. */
		text_put_folded(out, options, finding->text);
		if (bad)
			text_set_style(out, options, TEXT_NONE);
		fputc('\n', out);
	}
}

static void json_put_finding(struct json *to, const struct finding *finding)
{
	const struct finding_place *where = &finding->where;

	json_object(to, NULL);
	json_text(to, "kind", finding_kind_name(finding->kind));
	if (finding->bytes)
		json_number(to, "bytes", finding->bytes);
	if (finding->share >= 0)
		json_fixed(to, "share", finding->share, 4);
	json_text(to, "text", finding->text);
	if (where->function || where->file || where->module || where->variable) {
		json_object(to, "where");
		json_text(to, "function", where->function);
		json_text(to, "file", where->file);
		if (where->line)
			json_number(to, "line", where->line);
		json_text(to, "module", where->module);
		json_text(to, "variable", where->variable);
		json_end(to);
	}
	json_end(to);
}

void json_put_findings(struct json *to, const struct findings *findings)
{
	if (!findings)
		return;
	json_array(to, "findings");
	for (size_t i = 0; i < findings->count; i++)
		json_put_finding(to, &findings->items[i]);
	json_end(to);
}
