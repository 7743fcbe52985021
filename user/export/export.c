// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/export/render.h"

static const struct exporter_format *const formats[] = {&format_text, &format_json};

const struct exporter_format *export_find_format(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	}
	return NULL;
}

const struct exporter_format *export_format_at(size_t index)
{
	return index < sizeof(formats) / sizeof(formats[0]) ? formats[index] : NULL;
}

struct exporter *exporter_new(FILE *out, const struct export_options *options)
{
	struct exporter *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->out = out;
	e->options = *options;
	return e;
}

static int flush(FILE *out)
{
	errno = 0;
	if (!fflush(out) && !ferror(out))
		return 0;
	return errno ? -errno : -EIO;
}

int exporter_close(struct exporter *e)
{
	int err;

	if (!e)
		return 0;
	err = flush(e->out);
	free(e);
	return err;
}

int exporter_write(struct exporter *e, const char *text, size_t len)
{
	errno = 0;
	if (fwrite(text, 1, len, e->out) != len)
		return errno ? -errno : -EIO;
	return flush(e->out);
}

uint32_t utf8_next(const char **text)
{
	const unsigned char *c = (const unsigned char *)*text;
	uint32_t point, min;
	int more;

	if (*c < 0x80) {
		*text += *c != 0;
		return *c;
	}
	if (*c >= 0xc2 && *c <= 0xdf) {
		more = 1;
		min = 0x80;
		point = *c & 0x1f;
	} else if ((*c & 0xf0) == 0xe0) {
		more = 2;
		min = 0x800;
		point = *c & 0x0f;
	} else if (*c >= 0xf0 && *c <= 0xf4) {
		more = 3;
		min = 0x10000;
		point = *c & 0x07;
	} else {
		(*text)++;
		return UTF8_INVALID;
	}
	for (int i = 1; i <= more; i++) {
		/* Stops at the terminating NUL, too: it is no continuation byte. */
		if ((c[i] & 0xc0) != 0x80) {
			(*text)++;
			return UTF8_INVALID;
		}
		point = point << 6 | (c[i] & 0x3f);
	}
	if (point < min || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
		(*text)++;
		return UTF8_INVALID;
	}
	*text += more + 1;
	return point;
}
