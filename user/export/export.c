// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The formats: the one place that knows them all. */
#include "user/export/export.h"

#include <string.h>

#include "user/base/util.h"
#include "user/export/render.h"

static const struct exporter_format *const formats[] = {
	&format_text, &format_json,    &format_folded, &format_perfetto,    &format_pprof,
	&format_otlp, &format_android, &format_html,   &format_folded_kept, &format_folded_retained,
};

const struct exporter_format *export_find_format(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	}
	return NULL;
}

const struct exporter_format *export_format_at(size_t index)
{
	return index < ARRAY_SIZE(formats) ? formats[index] : NULL;
}

bool export_can(const struct exporter_format *format, enum export_use use)
{
	switch (use) {
	case EXPORT_SURVEYS:
		return format->survey != NULL;
	case EXPORT_COMPARISONS:
		return format->compare != NULL;
	case EXPORT_FINDINGS:
		return format->findings != EXPORT_NO_FINDINGS;
	case EXPORT_INSPECTIONS:
		return format->inspection != NULL;
	case EXPORT_KERNEL:
		return format->kernel != NULL;
	case EXPORT_PROFILES:
		return format->inspection != NULL || format->profiles;
	case EXPORT_ANYTHING:
		break;
	}
	return !format->only_inspections;
}

char *export_names(char buf[static EXPORT_NAMES_MAX], enum export_use use, const char *between)
{
	size_t used = 0;

	*buf = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(formats) && used < EXPORT_NAMES_MAX; i++) {
		if (export_can(formats[i], use))
			used += (size_t)snprintf(buf + used, EXPORT_NAMES_MAX - used, "%s%s",
						 used ? between : "", formats[i]->name);
	}
	return buf;
}
