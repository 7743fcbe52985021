// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/runtime_object.h"

#include <stdlib.h>

#include "user/runtime/runtime_ops.h"

struct runtime_object *runtime_object_new(struct object *object)
{
	struct runtime_object *out = calloc(1, sizeof(*out));

	if (!out)
		return NULL;
	out->runtime = runtime_of(object);
	for (size_t i = 0; i < runtime_language_count; i++) {
		const struct runtime_ops *language = runtime_languages[i];

		if (language->know)
			out->known[language->runtime] = language->know(object);
	}
	return out;
}

void runtime_object_free(struct runtime_object *object)
{
	if (!object)
		return;
	for (size_t i = 0; i < RUNTIMES_FOLLOWED; i++)
		free(object->known[i]);
	free(object);
}

bool runtime_object_has_frames(const struct runtime_object *object)
{
	/* A Python that was not told by its symbols is known all the same. */
	return runtime_language(object->runtime) || object->known[RUNTIME_PYTHON];
}
