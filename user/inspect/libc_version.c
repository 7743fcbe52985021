// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/libc_version.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/util.h"

#define PIECE	 (64 << 10)
#define FILE_MAX (16 << 20)

/* csu/version.c: "GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36." */
static const char libc_version_mark[] = " release version ";

static bool libc_version_is_libc(const struct mapping *m)
{
	const char *slash = strrchr(m->path, '/'), *name = slash ? slash + 1 : m->path;

	return m->ino && (!strcmp(name, "libc.so.6") || !strncmp(name, "libc-2.", 7));
}

/* Digits and dots behind the mark, up to a last dot. */
static bool libc_version_take(const char *text, const char *end, char *out, size_t room)
{
	const char *at = memmem(text, (size_t)(end - text), libc_version_mark,
				sizeof(libc_version_mark) - 1);
	size_t len = 0;

	if (!at)
		return false;
	at += sizeof(libc_version_mark) - 1;
	while (at + len < end && len + 1 < room &&
	       (isdigit((unsigned char)at[len]) || at[len] == '.'))
		len++;
	while (len && at[len - 1] == '.')
		len--;
	memcpy(out, at, len);
	out[len] = '\0';
	return len > 0;
}

/* Pieces overlap by what a version may be long. */
static void libc_version_read(int fd, char *out, size_t room)
{
	_cleanup_free_ char *piece = malloc(PIECE);
	ssize_t n;

	for (off_t at = 0; piece && at < FILE_MAX; at += PIECE - 64) {
		n = pread(fd, piece, PIECE, at);
		if (n <= 0 || libc_version_take(piece, piece + n, out, room))
			return;
	}
}

void libc_version_find(const struct inspect_source *source, const struct maps *maps,
		       struct inventory *inventory)
{
	pid_t pid = source->core ? 0 : source->pid;
	struct inspected_allocator *glibc = NULL;

	for (size_t i = 0; i < inventory->count; i++) {
		struct inspected_allocator *a = &inventory->allocators[i].shown;

		if (!strcmp(a->name, "glibc") && !*a->version)
			glibc = a;
	}
	for (size_t i = 0; glibc && !*glibc->version && maps && i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);
		struct object *object = NULL;

		if (!libc_version_is_libc(m) || object_cache_get(source->objects, pid, m, &object))
			continue;
		libc_version_read(object_fd(object), glibc->version, sizeof(glibc->version));
		object_unref(object);
		return;
	}
}
