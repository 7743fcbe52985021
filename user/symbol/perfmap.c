// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/symbol/perfmap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/symbol/ranges.h"

#define FILE_MAX   (256UL << 20) /* bytes read of a map file */
#define ENTRY_MAX  (4UL << 20)	 /* entries kept: 128 MiB of them */
#define HEX_DIGITS 16

struct entry {
	struct range range;
	uint32_t name, name_len; /* in the text */
};

struct perfmap {
	int fd;
	dev_t dev;
	ino_t ino;
	off_t size; /* as of the last look */
	struct timespec changed;
	char *text;
	size_t text_len, parsed;
	struct entry *entries; /* in the file's order */
	size_t count, capacity;
	struct range_index index; /* over the entries from the last to the first */
	bool read, full;
};

struct perfmap *perfmap_new(void)
{
	struct perfmap *map = calloc(1, sizeof(*map));

	if (map)
		map->fd = -1;
	return map;
}

static void perfmap_forget(struct perfmap *map)
{
	free(map->text);
	free(map->entries);
	range_index_release(&map->index);
	map->text = NULL;
	map->text_len = map->parsed = 0;
	map->entries = NULL;
	map->count = map->capacity = 0;
	map->read = map->full = false;
}

void perfmap_free(struct perfmap *map)
{
	if (!map)
		return;
	perfmap_forget(map);
	cleanup_close(&map->fd);
	free(map);
}

void perfmap_set_file(struct perfmap *map, int fd)
{
	struct stat status;

	if (fstat(fd, &status) ||
	    (map->fd >= 0 && status.st_dev == map->dev && status.st_ino == map->ino)) {
		close(fd);
		return;
	}
	perfmap_forget(map);
	cleanup_close(&map->fd);
	map->fd = fd;
	map->dev = status.st_dev;
	map->ino = status.st_ino;
}

/* Reads a number of at most 16 hexadecimal digits, "0x" before it or not, up to a space. */
static bool parse_hex(const char **at, const char *end, uint64_t *value)
{
	const char *p = *at;
	int digits = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	*value = 0;
	for (; p < end && *p != ' ' && *p != '\t'; p++, digits++) {
		int digit;

		if (*p >= '0' && *p <= '9')
			digit = *p - '0';
		else if ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'f')
			digit = (*p | 0x20) - 'a' + 10;
		else
			return false;
		if (digits == HEX_DIGITS)
			return false;
		*value = (*value << 4) | (uint64_t)digit;
	}
	if (!digits || p == end)
		return false;
	*at = p + 1;
	return true;
}

static int add_line(struct perfmap *map, const char *line, const char *end)
{
	struct entry entry;
	uint64_t size;

	if (!parse_hex(&line, end, &entry.range.start) || !parse_hex(&line, end, &size))
		return 0;
	if (line == end || !size)
		return 0;
	if (size > UINT64_MAX - entry.range.start)
		size = UINT64_MAX - entry.range.start;
	entry.range.end = entry.range.start + size;
	entry.name = (uint32_t)(line - map->text);
	entry.name_len = (uint32_t)(end - line);
	if (map->count == map->capacity) {
		size_t capacity = map->capacity ? 2 * map->capacity : 1024;
		struct entry *grown;

		if (capacity > ENTRY_MAX)
			return -E2BIG;
		grown = reallocarray(map->entries, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		map->entries = grown;
		map->capacity = capacity;
	}
	map->entries[map->count++] = entry;
	return 0;
}

/* Parses the whole lines; the writer may be in the middle of the last one. */
static int parse_lines(struct perfmap *map)
{
	while (map->parsed < map->text_len) {
		const char *line = map->text + map->parsed;
		const char *end = memchr(line, '\n', map->text_len - map->parsed);
		int err;

		if (!end)
			break;
		map->parsed += (size_t)(end - line) + 1;
		err = add_line(map, line, end);
		if (err)
			return err;
	}
	return 0;
}

static int build_index(struct perfmap *map)
{
	_cleanup_free_ struct range *ranges = malloc((map->count + 1) * sizeof(*ranges));

	if (!ranges)
		return -ENOMEM;
	for (size_t i = 0; i < map->count; i++)
		ranges[i] = map->entries[map->count - 1 - i].range;
	range_index_release(&map->index);
	return range_index_build(&map->index, ranges, map->count);
}

/* Reads what was appended since the last time. */
static int read_more(struct perfmap *map, size_t size)
{
	char *grown;

	if (size <= map->text_len)
		return 0;
	grown = realloc(map->text, size);
	if (!grown)
		return -ENOMEM;
	map->text = grown;
	while (map->text_len < size) {
		ssize_t n = pread(map->fd, map->text + map->text_len, size - map->text_len,
				  (off_t)map->text_len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		map->text_len += (size_t)n;
	}
	return parse_lines(map);
}

/* Looks whether the file has changed and reads it if so. True when there is something new. */
static bool perfmap_refresh(struct perfmap *map)
{
	struct stat status;
	bool same_time;
	size_t size;
	int err;

	if (map->fd < 0 || fstat(map->fd, &status))
		return false;
	same_time = status.st_mtim.tv_sec == map->changed.tv_sec &&
		    status.st_mtim.tv_nsec == map->changed.tv_nsec;
	if (map->read && same_time && status.st_size == map->size)
		return false;
	/*
	 * Shorter than before, or as long but written to: a new map. Otherwise lines have been
	 * appended.
	 */
	if (map->read && status.st_size <= map->size)
		perfmap_forget(map);
	map->read = true;
	map->size = status.st_size;
	map->changed = status.st_mtim;
	if (map->full)
		return false;
	size = (uint64_t)status.st_size < FILE_MAX ? (size_t)status.st_size : FILE_MAX;
	err = read_more(map, size);
	map->full = err != 0 || size == FILE_MAX;
	if (map->full)
		log_warn("a perf map of %lld MiB is used in part only",
			 (long long)(status.st_size >> 20));
	return build_index(map) == 0;
}

static const char *find_entry(const struct perfmap *map, uint64_t address, size_t *len,
			      uint64_t *start)
{
	uint32_t at = range_index_find(&map->index, address);
	const struct entry *entry;

	if (at == RANGE_NONE)
		return NULL;
	entry = &map->entries[map->count - 1 - at];
	*len = entry->name_len;
	*start = entry->range.start;
	return map->text + entry->name;
}

const char *perfmap_find(struct perfmap *map, uint64_t address, size_t *len, uint64_t *start)
{
	const char *name = find_entry(map, address, len, start);

	if (!name && perfmap_refresh(map))
		name = find_entry(map, address, len, start);
	return name;
}
