// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/freeze/code_search.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/process/maps.h"

#define CODE_MAX (64 << 20) /* bytes of code to be searched */

/* Searches the file that is mapped there, whatever its name is by now. */
static void code_search_file(pid_t pid, const struct mapping *m, struct call_code *code,
			     size_t *left)
{
	static const size_t piece = 1 << 20, overlap = 16;
	_cleanup_free_ unsigned char *bytes = malloc(piece + overlap);
	_cleanup_close_ int fd = -1;
	uint64_t at = m->start;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	fd = bytes ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	while (fd >= 0 && at < m->end && *left) {
		size_t wanted = m->end - at < piece ? (size_t)(m->end - at) : piece;
		ssize_t n = pread(fd, bytes, wanted, (off_t)(m->offset + (at - m->start)));

		if (n <= (ssize_t)overlap || call_code_find(code, bytes, (size_t)n, at))
			return;
		*left -= (size_t)n < *left ? (size_t)n : *left;
		at += (size_t)n - (n == (ssize_t)piece ? overlap : 0);
	}
}

static void code_search_memory(pid_t pid, const struct mapping *m, struct call_code *code)
{
	unsigned char bytes[8192];
	size_t size =
		m->end - m->start < sizeof(bytes) ? (size_t)(m->end - m->start) : sizeof(bytes);
	struct iovec to = {bytes, size}, from = {(void *)(uintptr_t)m->start, size};
	ssize_t n = process_vm_readv(pid, &to, 1, &from, 1, 0);

	if (n > 0)
		call_code_find(code, bytes, (size_t)n, m->start);
}

int code_search(pid_t pid, struct call_code *out, char reason[static REASON_MAX])
{
	struct maps *maps = NULL;
	size_t left = CODE_MAX;
	int err = 0;

	*out = (struct call_code){0};
	if (maps_read(pid, &maps))
		err = refuse(reason, -ESRCH, "its memory cannot be looked at");
	/* The C library first: it is small, and has the instructions. */
	for (int pass = 0; !err && pass < 2; pass++) {
		for (size_t i = 0; i < maps_count(maps); i++) {
			const struct mapping *m = maps_at(maps, i);
			bool libc = strstr(m->path, "/libc.so") || strstr(m->path, "/ld-musl");

			if (!m->exec || !m->read || (out->call && out->resume))
				continue;
			if (!strcmp(m->path, "[vdso]"))
				code_search_memory(pid, m, out);
			else if (m->ino && !m->shared && libc == !pass)
				code_search_file(pid, m, out, &left);
		}
	}
	maps_free(maps);
	if (!err && (!out->call || !out->resume))
		err = refuse(reason, -ENOENT, "no instructions for it are in its code");
	return err;
}
