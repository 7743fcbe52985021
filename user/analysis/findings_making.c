// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/findings_making.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

const struct frame *findings_site(const struct findings_making *m, const struct stack *row)
{
	const struct stack_notes *notes = report_notes(m->lines, row);
	size_t site = frames_site(notes->frames, notes->frame_count, m->rules);

	return notes->frames && site && site < notes->frame_count ? notes->frames[site] : NULL;
}

static void findings_cut_end(char *name, const char *end)
{
	size_t len = strlen(name), more = strlen(end);

	if (len > more && !strcmp(name + len - more, end))
		name[len - more] = '\0';
}

/* As people say it: without what it takes, what compilers have made of it, and namespaces without a name. */
static void findings_short_name(char name[static FUNCTION_NAME_MAX], const char *function)
{
	static const char *const nameless[] = {"(anonymous namespace)::", "(anonymous)::"};
	static const char *const clones[] = {" [clone ", ".isra.", ".constprop.",
					     ".part.",	 ".cold",  ".lto_priv."};
	char *at;

	function_name_cut(name, function);
	for (size_t i = 0; i < ARRAY_SIZE(clones); i++) {
		at = strstr(name, clones[i]);
		if (at && at > name)
			*at = '\0';
	}
	findings_cut_end(name, "(..)");
	/* "subscribe::(anonymous)::<lambda>" takes nothing. */
	if (strlen(name) > 2 && !strcmp(name + strlen(name) - 2, "::"))
		snprintf(name, FUNCTION_NAME_MAX, "%s", function);
	if (!strstr(name, "operator()"))
		findings_cut_end(name, "()");
	for (size_t i = 0; i < ARRAY_SIZE(nameless); i++) {
		size_t len = strlen(nameless[i]);

		while ((at = strstr(name, nameless[i])) != NULL)
			memmove(at, at + len, strlen(at + len) + 1);
	}
}

char *findings_where(char buf[static FINDINGS_WHERE_MAX], const struct frame *frame)
{
	const char *slash = frame && frame->file ? strrchr(frame->file, '/') : NULL;
	char name[FUNCTION_NAME_MAX];

	if (!frame)
		return memcpy(buf, "code that is not known", sizeof("code that is not known"));
	if (!frame->function) {
		snprintf(buf, FINDINGS_WHERE_MAX, "%s%s0x%" PRIx64, frame->module ?: "code",
			 frame->module ? "+" : " at ", frame->offset);
		return buf;
	}
	if (frame->kind == FRAME_KIND_NATIVE)
		findings_short_name(name, frame->function);
	else
		snprintf(name, sizeof(name), "%s", frame->function);
	if (frame->file && frame->line)
		snprintf(buf, FINDINGS_WHERE_MAX, "%s (%s%s:%" PRIu32 ")", name,
			 frame->line_begins ? "from " : "", slash ? slash + 1 : frame->file,
			 frame->line);
	else if (frame->module)
		snprintf(buf, FINDINGS_WHERE_MAX, "%s (%s)", name, frame->module);
	else
		snprintf(buf, FINDINGS_WHERE_MAX, "%s", name);
	return buf;
}

static char *findings_copy_text(struct findings_making *m, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	m->failed |= text && !copy;
	return copy;
}

void findings_set_where(struct findings_making *m, struct finding *finding,
			const struct frame *frame)
{
	if (!finding) {
		m->failed = true;
		return;
	}
	if (!frame)
		return;
	finding->where.function = findings_copy_text(m, frame->function);
	finding->where.file = findings_copy_text(m, frame->file);
	finding->where.module = findings_copy_text(m, frame->module);
	finding->where.line = frame->line;
}
