// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

/* Which are left out first: those with the smallest number. */
static const struct finding_kind_row {
	const char *name;
	int weight;
} finding_kinds[] = {
	[FINDING_LOST] = {"lost", 9},	      [FINDING_GROWING] = {"growing", 8},
	[FINDING_MOST] = {"most", 6},	      [FINDING_HOLDS] = {"holds", 6},
	[FINDING_THREADS] = {"threads", 7},   [FINDING_MISUSES] = {"misuses", 8},
	[FINDING_CLEAR] = {"clear", 7},	      [FINDING_NOT_SEEN] = {"not_seen", 9},
	[FINDING_UNTRACED] = {"untraced", 8}, [FINDING_HEAP] = {"heap", 7},
	[FINDING_SPACE] = {"space", 7},	      [FINDING_FREE] = {"free", 5},
	[FINDING_MEMORY] = {"memory", 3},     [FINDING_INCOMPLETE] = {"incomplete", 8},
	[FINDING_NEXT] = {"next", 4},
};

_Static_assert(ARRAY_SIZE(finding_kinds) == FINDING_KINDS, "a row for each kind");

const char *finding_kind_name(enum finding_kind kind)
{
	return (unsigned)kind < FINDING_KINDS ? finding_kinds[kind].name : "?";
}

struct finding *findings_add(struct findings *findings, enum finding_kind kind, uint64_t bytes,
			     const char *format, ...)
{
	struct finding *finding;
	va_list args;
	char *text;
	int len;

	if (findings->count == FINDINGS_ROOM)
		return NULL;
	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0)
		return NULL;
	finding = &findings->items[findings->count++];
	*finding = (struct finding){.kind = kind, .text = text, .bytes = bytes, .share = -1};
	return finding;
}

static void finding_release(struct finding *finding)
{
	free(finding->text);
	free(finding->where.function);
	free(finding->where.file);
	free(finding->where.module);
	free(finding->where.variable);
}

void findings_trim(struct findings *findings, size_t most)
{
	while (findings->count > most) {
		size_t least = 0;

		/* Of two that matter alike the later one goes. */
		for (size_t i = 1; i < findings->count; i++) {
			if (finding_kinds[findings->items[i].kind].weight <=
			    finding_kinds[findings->items[least].kind].weight)
				least = i;
		}
		finding_release(&findings->items[least]);
		findings->count--;
		memmove(&findings->items[least], &findings->items[least + 1],
			(findings->count - least) * sizeof(*findings->items));
	}
}

bool findings_have(const struct findings *findings, enum finding_kind kind)
{
	for (size_t i = 0; findings && i < findings->count; i++) {
		if (findings->items[i].kind == kind)
			return true;
	}
	return false;
}

static char *finding_copy_text(const char *text, bool *failed)
{
	char *copy = text ? strdup(text) : NULL;

	*failed |= text && !copy;
	return copy;
}

struct findings *findings_copy(const struct findings *from)
{
	struct findings *to = from ? calloc(1, sizeof(*to)) : NULL;
	bool failed = false;

	for (size_t i = 0; to && i < from->count; i++) {
		struct finding *copy = &to->items[to->count++];

		*copy = from->items[i];
		copy->text = finding_copy_text(copy->text, &failed);
		copy->where.function = finding_copy_text(copy->where.function, &failed);
		copy->where.file = finding_copy_text(copy->where.file, &failed);
		copy->where.module = finding_copy_text(copy->where.module, &failed);
		copy->where.variable = finding_copy_text(copy->where.variable, &failed);
	}
	if (!failed)
		return to;
	findings_free(to);
	return NULL;
}

void findings_free(struct findings *findings)
{
	for (size_t i = 0; findings && i < findings->count; i++)
		finding_release(&findings->items[i]);
	free(findings);
}
