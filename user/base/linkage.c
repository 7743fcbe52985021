// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/base/linkage.h"

#include <errno.h>
#include <pwd.h>
#include <stdint.h>

#include "user/base/parse.h"

static int linkage_number(const char *text, uid_t *out)
{
	uint64_t number;

	if (parse_count(text, 0, UINT32_MAX - 1, &number))
		return -ENOENT;
	*out = (uid_t)number;
	return 0;
}

#ifndef MEMLEAKBPF_STATIC

bool linkage_static(void)
{
	return false;
}

const char *const *linkage_lacks(void)
{
	static const char *const nothing[] = {NULL};

	return nothing;
}

int linkage_user(const char *name, uid_t *out)
{
	const struct passwd *user = getpwnam(name);

	if (!user)
		return linkage_number(name, out);
	*out = user->pw_uid;
	return 0;
}

const char *linkage_user_note(void)
{
	return "";
}

bool linkage_terminal(const char *name)
{
	(void)name;
	return false;
}

bool linkage_utf8(void)
{
	return false;
}

#else /* MEMLEAKBPF_STATIC */

#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "user/base/util.h"

bool linkage_static(void)
{
	return true;
}

const char *const *linkage_lacks(void)
{
	static const char *const lacks[] = {
		"debuginfod: it uses debug files that are installed, and asks no server",
		"users of LDAP or systemd: it knows those of /etc/passwd by name, others by number",
		NULL,
	};

	return lacks;
}

/* Not getpwnam(): it loads the modules that nsswitch.conf names, with a second C library, and crashes. */
int linkage_user(const char *name, uid_t *out)
{
	_cleanup_fclose_ FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *user;

	while (file && (user = fgetpwent(file))) {
		if (strcmp(user->pw_name, name) != 0)
			continue;
		*out = user->pw_uid;
		return 0;
	}
	return linkage_number(name, out);
}

const char *linkage_user_note(void)
{
	return "; this static program knows only the names of /etc/passwd";
}

/*
 * The linker's --wrap puts this in place of dlopen(), for libdw's client of debuginfod as well. A
 * loaded library would bring a second C library, or want the very one that is linked here.
 */
void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}

/* Taken from the build machine: lines NAME DESCRIPTION with a 0 at their end, and a locale. */
__asm__(".pushsection .rodata\n"
	"linkage_terminals: .incbin \"terminals\"\n"
	".byte 0\n"
	"linkage_ctype_begin: .incbin \"LC_CTYPE\"\n"
	"linkage_ctype_end:\n"
	".popsection\n");
extern const char linkage_terminals[], linkage_ctype_begin[], linkage_ctype_end[];

/* Since ncurses 6.1 the variable may hold a description, as infocmp -Q2 prints it. */
bool linkage_terminal(const char *name)
{
	size_t name_len = strlen(name);
	_cleanup_free_ char *description = NULL;

	for (const char *line = linkage_terminals; *line; line = strchr(line, '\n') + 1) {
		if (strncmp(line, name, name_len) != 0 || line[name_len] != ' ')
			continue;
		line += name_len + 1;
		description = strndup(line, strcspn(line, "\n"));
		return description && !setenv("TERMINFO", description, 1);
	}
	return false;
}

/*
 * Makes a file system that no path leads to, so that nothing is left when we are killed. -1: we may
 * not make one.
 */
static int linkage_new_directory(void)
{
	_cleanup_close_ int context = fsopen("tmpfs", FSOPEN_CLOEXEC);

	if (context < 0 || fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -1;
	return fsmount(context, FSMOUNT_CLOEXEC, 0);
}

static bool linkage_write_ctype(int directory)
{
	size_t size = (size_t)(linkage_ctype_end - linkage_ctype_begin);
	_cleanup_close_ int file = -1;

	if (mkdirat(directory, "C.UTF-8", 0700))
		return false;
	file = openat(directory, "C.UTF-8/LC_CTYPE", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return file >= 0 && write(file, linkage_ctype_begin, size) == (ssize_t)size;
}

/* The C library reads a locale from a file only. */
bool linkage_utf8(void)
{
	_cleanup_close_ int directory = linkage_new_directory();
	char path[64];
	bool set;

	if (directory < 0 || !linkage_write_ctype(directory))
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", directory);
	if (setenv("LOCPATH", path, 1))
		return false;
	set = setlocale(LC_CTYPE, "C.UTF-8") != NULL;
	unsetenv("LOCPATH");
	return set;
}

#endif
