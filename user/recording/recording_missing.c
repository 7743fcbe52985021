// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_missing.h"

#include "user/recording/recording_format.h"

/* A part as it stands in a file: the texts are strings of the table of names. */
struct missing_texts {
	const char *what, *why, *costs;
};

const struct field recording_missing_fields[] = {
	FIELD_STRING(1, struct missing_texts, what),
	FIELD_STRING(2, struct missing_texts, why),
	FIELD_STRING(3, struct missing_texts, costs),
	{0},
};

int recording_put_missing(struct recording_out *out, const struct missing_parts *parts)
{
	int err = 0;

	for (size_t i = 0; !err && i < parts->count; i++) {
		const struct missing_part *part = &parts->parts[i];
		const struct missing_texts texts = {part->what, part->why, part->costs};

		if (missing_add(&out->missing, part->what, part->costs, "%s", part->why))
			err = recording_put_message(out, MESSAGE_MISSING, recording_missing_fields,
						    &texts);
	}
	return err;
}

int recording_take_missing(struct recording_in *in, struct wire_reader message)
{
	static const char unreadable[] = "what was missing cannot be read";
	struct missing_texts texts = {0};
	int err = fields_take(in, recording_missing_fields, message, &texts, unreadable);

	if (err)
		return err;
	if (!texts.what || !texts.why || !texts.costs)
		return recording_refuse(in, unreadable);
	/* The same again, or more than there can be, is no damage. */
	missing_add(&in->missing, texts.what, texts.costs, "%s", texts.why);
	return 0;
}
