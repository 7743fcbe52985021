// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/defaults.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/cli/options_table.h"

#define DEFAULTS_MAX_BYTES (64 * 1024)

static const char defaults_system[] = "/etc/memleakbpf";

/* Is it ours or root's, and may nobody else write to it? */
static bool defaults_trusted(const struct stat *st)
{
	return (st->st_uid == geteuid() || st->st_uid == 0) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* Reads the file's text into a buffer of its own; NULL: there is none, or it is not to be read. */
static char *defaults_load(const char *directory)
{
	_cleanup_close_ int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	struct stat st, above;
	ssize_t len;
	char *text;

	if (dir < 0)
		return NULL;
	fd = openat(dir, "config", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd < 0 || fstat(fd, &st) || fstat(dir, &above) || !S_ISREG(st.st_mode)) {
		log_warn("%s/config: is not read: no file that can be", directory);
		return NULL;
	}
	if (!defaults_trusted(&st) || !defaults_trusted(&above)) {
		log_warn("%s/config: is not read: it, or its directory, belongs to another user or "
			 "may be written by others; chmod go-w both",
			 directory);
		return NULL;
	}
	text = calloc(1, DEFAULTS_MAX_BYTES + 1);
	len = text ? read(fd, text, DEFAULTS_MAX_BYTES) : -1;
	if (len >= 0)
		return text;
	free(text);
	return NULL;
}

static const struct option_row *defaults_row(const char *name)
{
	for (size_t i = 0; i < option_row_count; i++) {
		if (!strcmp(option_rows[i].name, name))
			return &option_rows[i];
	}
	return NULL;
}

/* Options for one call of the tool only. */
static bool defaults_refuses(const struct option_row *row)
{
	return row->apply == option_apply_help || row->apply == option_apply_version ||
	       row->apply == option_apply_no_config;
}

/* Splits "key = value", "key value" or "key", cleaned of blanks and comments; empty: *key is "". */
static void defaults_split(char *line, char **key, char **value)
{
	char *end;

	line[strcspn(line, "#\r")] = '\0';
	*key = line + strspn(line, " \t");
	end = *key + strlen(*key);
	while (end > *key && strchr(" \t", end[-1]))
		*--end = '\0';
	end = *key + strcspn(*key, " \t=");
	*value = end + strspn(end, " \t");
	if (**value == '=')
		*value += 1 + strspn(*value + 1, " \t");
	*end = '\0';
}

static int defaults_apply(struct options *options, const char *where, char *line)
{
	const struct option_row *row;
	char *key, *value, shown[PATH_MAX + 64];

	defaults_split(line, &key, &value);
	if (!*key && !*value)
		return 0;
	row = defaults_row(key);
	if (!row || defaults_refuses(row)) {
		log_error(
			"%s: '%s' is no option that can be set here; give long names, as "
			"memleakbpf --help=options has them, or leave the file out by --no-config",
			where, key);
		return -EINVAL;
	}
	if (!(row->commands & options->command->page))
		return 0;
	snprintf(shown, sizeof(shown), "%s: %s", where, key);
	if (*value && !row->argument) {
		log_error("%s: takes no value ('%s')", shown, value);
		return -EINVAL;
	}
	if (!*value && option_needs_value(row)) {
		log_error("%s: needs a value", shown);
		return -EINVAL;
	}
	return row->apply(row, options, shown, *value ? value : row->bare);
}

static int defaults_read_from(struct options *options, const char *directory)
{
	char *text = defaults_load(directory), *rest, *line, where[PATH_MAX + 32];
	struct options_text *kept;
	unsigned number = 0;
	int err = 0;

	if (!text)
		return 0;
	/* The options' values point into it. */
	kept = calloc(1, sizeof(*kept));
	if (!kept) {
		free(text);
		return log_errno(ENOMEM, "reading defaults");
	}
	*kept = (struct options_text){.next = options->texts, .text = text};
	options->texts = kept;
	rest = text;
	while (!err && (line = strsep(&rest, "\n")) != NULL) {
		snprintf(where, sizeof(where), "%s/config:%u", directory, ++number);
		err = defaults_apply(options, where, line);
	}
	return err;
}

int defaults_read(struct options *options)
{
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char directory[PATH_MAX];
	int err = defaults_read_from(options, defaults_system), len;

	/* If the file has capabilities of its own, the environment is a stranger's. */
	if (err || getauxval(AT_SECURE))
		return err;
	if (base && *base == '/')
		len = snprintf(directory, sizeof(directory), "%s/memleakbpf", base);
	else if (home && *home == '/')
		len = snprintf(directory, sizeof(directory), "%s/.config/memleakbpf", home);
	else
		return 0;
	return (size_t)len < sizeof(directory) ? defaults_read_from(options, directory) : 0;
}
