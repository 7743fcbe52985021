// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/missing.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct missing_part *missing_add(struct missing_parts *list, const char *what,
				       const char *costs, const char *format, ...)
{
	struct missing_part *part;
	va_list args;

	for (size_t i = 0; i < list->count; i++) {
		if (!strcmp(list->parts[i].what, what))
			return NULL;
	}
	if (list->count == MISSING_MAX)
		return NULL;
	part = &list->parts[list->count++];
	*part = (struct missing_part){.what = what, .costs = costs};
	va_start(args, format);
	vsnprintf(part->why, sizeof(part->why), format, args);
	va_end(args);
	return part;
}
