// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/verdict.h"

static const struct {
	const char *name, *text;
} classes[] = {
	[VERDICT_DEFINITE] = {"definite", "definitely lost"},
	[VERDICT_INDIRECT] = {"indirect", "indirectly lost"},
	[VERDICT_POSSIBLE] = {"possible", "possibly lost"},
	[VERDICT_REACHABLE] = {"reachable", "still reachable"},
};
_Static_assert(sizeof(classes) / sizeof(classes[0]) == VERDICT_CLASSES, "a name for every class");

const char *verdict_class_name(enum verdict_class class)
{
	return (unsigned)class < VERDICT_CLASSES ? classes[class].name : "?";
}

const char *verdict_class_text(enum verdict_class class)
{
	return (unsigned)class < VERDICT_CLASSES ? classes[class].text : "?";
}

bool verdict_has_before(const struct verdict *verdict)
{
	for (int i = 0; i < VERDICT_CLASSES; i++) {
		if (verdict->before[i].count)
			return true;
	}
	return false;
}
