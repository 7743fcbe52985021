// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "user/base/util.h"
#include "user/process/proc.h"

/* More than vm.max_map_count's usual values times a long path; a bound, not an expectation. */
#define MAPS_MAX_BYTES (1ULL << 30)
#define DELETED	       " (deleted)"

struct maps {
	struct mapping *items;
	size_t count, capacity;
	char *text; /* the paths point into it */
};

/*
 * Reads digits of the base up to the character `stop`, which is consumed. False when there is
 * anything else.
 */
static bool take_number(const char **p, const char *end, unsigned base, char stop, uint64_t *out)
{
	uint64_t value = 0;
	const char *c = *p;

	for (; c < end && *c != stop; c++) {
		unsigned digit;

		if (*c >= '0' && *c <= '9')
			digit = (unsigned)(*c - '0');
		else if (*c >= 'a' && *c <= 'f')
			digit = (unsigned)(*c - 'a') + 10;
		else
			return false;
		if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	if (c == *p || c == end)
		return false;
	*p = c + 1;
	*out = value;
	return true;
}

/* The kernel writes a newline in a path as \012 (and nothing else is escaped): undone in place. */
static void unescape_newlines(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		if (!strncmp(from, "\\012", 4)) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static void parse_path(char *path, struct mapping *m)
{
	size_t len = strlen(path);
	size_t suffix = strlen(DELETED);

	if (len > suffix && !strcmp(path + len - suffix, DELETED)) {
		path[len - suffix] = '\0';
		m->deleted = true;
	}
	unescape_newlines(path);
	m->path = path;
}

/* Parses the line [line, end); *end is '\0' already. */
static bool maps_parse_line(char *line, char *end, struct mapping *m)
{
	uint64_t dev_major, dev_minor;
	const char *p = line;
	char *path;

	memset(m, 0, sizeof(*m));
	if (!take_number(&p, end, 16, '-', &m->start) || !take_number(&p, end, 16, ' ', &m->end) ||
	    m->start >= m->end)
		return false;
	if (end - p < 5 || p[4] != ' ')
		return false;
	m->read = p[0] == 'r';
	m->write = p[1] == 'w';
	m->exec = p[2] == 'x';
	m->shared = p[3] == 's';
	p += 5;
	if (!take_number(&p, end, 16, ' ', &m->offset) ||
	    !take_number(&p, end, 16, ':', &dev_major) ||
	    !take_number(&p, end, 16, ' ', &dev_minor))
		return false;
	m->dev = makedev((unsigned)dev_major, (unsigned)dev_minor);
	/* Lines without a path end in a blank on all kernels seen, but nothing promises that. */
	path = line + (p - line);
	path += strspn(path, "0123456789");
	if (*path == ' ') {
		if (!take_number(&p, end, 10, ' ', &m->ino))
			return false;
	} else {
		if (*path != '\0' || path == p)
			return false;
		m->ino = strtoull(p, NULL, 10);
	}
	path += strspn(path, " ");
	parse_path(path, m);
	return true;
}

static int maps_append(struct maps *maps, const struct mapping *m)
{
	if (!RESERVE_ITEM(maps->items, maps->count, maps->capacity, 64))
		return -ENOMEM;
	maps->items[maps->count++] = *m;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Takes over `text`, which has a '\0' at text[len]. */
static int parse_owned(char *text, size_t len, struct maps **out)
{
	struct maps *maps = calloc(1, sizeof(*maps));
	bool sorted = true;

	if (!maps) {
		free(text);
		return -ENOMEM;
	}
	maps->text = text;
	for (char *line = text; line < text + len;) {
		char *end = memchr(line, '\n', (size_t)(text + len - line));
		struct mapping m;

		if (!end)
			end = text + len;
		*end = '\0';
		if (maps_parse_line(line, end, &m)) {
			if (maps->count && maps->items[maps->count - 1].start > m.start)
				sorted = false;
			if (maps_append(maps, &m)) {
				maps_free(maps);
				return -ENOMEM;
			}
		}
		line = end + 1;
	}
	/* A process that maps while we read can make the kernel repeat itself. */
	if (!sorted)
		qsort(maps->items, maps->count, sizeof(*maps->items), by_start);
	*out = maps;
	return 0;
}

int maps_parse(const char *text, size_t len, struct maps **out)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return parse_owned(copy, len, out);
}

int maps_read_watched(pid_t pid, void (*between)(void *ctx), void *ctx, struct maps **out)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	size_t len = 0, capacity = 0;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	for (;;) {
		ssize_t n;

		if (capacity - len < 4097) {
			char *larger;

			if (capacity >= MAPS_MAX_BYTES)
				return -EFBIG;
			capacity = capacity ? 2 * capacity : 64 * 1024;
			larger = realloc(text, capacity);
			if (!larger)
				return -ENOMEM;
			text = larger;
		}
		n = read(fd, text + len, capacity - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
		if (between)
			between(ctx);
	}
	/* Zombies and kernel threads have the file, with nothing in it. */
	if (len == 0) {
		pid_t other = proc_memory_id(pid);

		return other == pid ? -ESRCH : maps_read_watched(other, between, ctx, out);
	}
	text[len] = '\0';
	return parse_owned(TAKE_PTR(text), len, out);
}

int maps_read(pid_t pid, struct maps **out)
{
	return maps_read_watched(pid, NULL, NULL, out);
}

size_t maps_count(const struct maps *maps)
{
	return maps->count;
}

const struct mapping *maps_at(const struct maps *maps, size_t index)
{
	return index < maps->count ? &maps->items[index] : NULL;
}

const struct mapping *maps_find(const struct maps *maps, uint64_t address)
{
	size_t low = BISECT(i, 0, maps->count, maps->items[i].end <= address);

	return low < maps->count && maps->items[low].start <= address ? &maps->items[low] : NULL;
}

int maps_cut(struct maps *maps, const struct maps_cut *cuts, size_t count)
{
	struct mapping *items = calloc(maps->count + count + 1, sizeof(*items));
	size_t n = 0, cut = 0;

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < maps->count; i++) {
		struct mapping m = maps->items[i];

		if (cut < count && cuts[cut].index == i) {
			uint64_t at = cuts[cut++].at;

			if (at > m.start && at < m.end) {
				items[n] = m;
				items[n++].end = at;
				m.start = at;
			}
			m.apart = true;
		}
		items[n++] = m;
	}
	free(maps->items);
	maps->items = items;
	maps->count = maps->capacity = n;
	return 0;
}

void maps_free(struct maps *maps)
{
	if (!maps)
		return;
	free(maps->items);
	free(maps->text);
	free(maps);
}
