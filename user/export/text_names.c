// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Frames that are shown by numbers: what would name them. */
#include <string.h>

#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/text_parts.h"

#define UNNAMED_MODULES 4 /* so many are named */

struct unnamed {
	const char *modules[UNNAMED_MODULES];
	size_t module_count;
	bool more, generated; /* more modules; code that is in none */
};

static void unnamed_take(struct unnamed *u, const struct frame *frame)
{
	if (frame->function || !frame_is_code(frame))
		return;
	if (!frame->module) {
		u->generated = true;
		return;
	}
	/* "[vdso]", "[anon]" and the like have no package. */
	if (*frame->module == '[')
		return;
	for (size_t i = 0; i < u->module_count; i++) {
		if (!strcmp(u->modules[i], frame->module))
			return;
	}
	if (u->module_count < UNNAMED_MODULES)
		u->modules[u->module_count++] = frame->module;
	else
		u->more = true;
}

void text_put_unnamed(FILE *out, const struct report *r, const struct stack *const *shown,
		      size_t shown_count)
{
	struct unnamed u = {0};

	for (size_t i = 0; i < shown_count; i++) {
		const struct stack_notes *notes = report_notes(r, shown[i]);

		for (size_t j = 0; notes->frames && j < notes->frame_count; j++)
			unnamed_take(&u, notes->frames[j]);
	}
	if (u.module_count) {
		fputs("names  no symbols here for ", out);
		for (size_t i = 0; i < u.module_count; i++) {
			fputs(i ? ", " : "", out);
			text_put_name(out, u.modules[i]);
		}
		fputs(u.more ? " and others" : "", out);
		fputs(" (a debug package, or DEBUGINFOD_URLS)\n", out);
	}
	if (u.generated)
		fputs("names  code that is in no file was made at run time: a perf map has its "
		      "names\n"
		      "       (node --perf-basic-prof, python3 -X perf, a JVM by --ask-runtime)\n",
		      out);
}
