// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/runtime_doctor.h"

#include <stdio.h>

#include "user/runtime/runtime_ops.h"

bool runtime_doctor(const struct image *image, struct object *object, size_t *at,
		    char text[static RUNTIME_DOCTOR_TEXT])
{
	const char *language, *instead;
	enum runtime runtime = runtime_of(object);

	while (*at < runtime_language_count) {
		const struct runtime_ops *ops = runtime_languages[(*at)++];

		if (ops->doctor && ops->doctor(image, object, runtime, text))
			return true;
	}
	/* Behind the last one, once. */
	if ((*at)++ != runtime_language_count)
		return false;
	language = runtime_not_followed(runtime, &instead);
	if (!language)
		return false;
	snprintf(text, RUNTIME_DOCTOR_TEXT, "%s: no frames of it: %s", language, instead);
	return true;
}
