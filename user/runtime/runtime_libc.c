// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/runtime_libc.h"

#include <string.h>

/* The file has before 2.34 the version's name. */
static bool libc_is_glibc(const char *name)
{
	return !strcmp(name, "libc.so.6") || !strncmp(name, "libc-2.", 7);
}

/* One file, which is the dynamic linker too; its own name, and what distributions call it. */
static bool libc_is_musl(const char *name)
{
	return !strcmp(name, "libc.so") || !strncmp(name, "ld-musl-", 8) ||
	       !strncmp(name, "libc.musl-", 10);
}

enum runtime_libc runtime_libc_of(const struct image *image)
{
	enum runtime_libc libc = RUNTIME_LIBC_NONE;

	for (size_t i = 0; i < image_range_count(image); i++) {
		struct object *object = image_range_at(image, i)->object;

		if (object && libc_is_glibc(object_name(object)))
			return RUNTIME_LIBC_GLIBC;
		if (object && libc_is_musl(object_name(object)))
			libc = RUNTIME_LIBC_OTHER;
	}
	return libc;
}
