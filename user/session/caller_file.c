// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/caller_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/kernel/privilege.h"

FILE *caller_file_open(const char *path, const char *mode)
{
	uint64_t lent = privilege_as_caller();
	FILE *file = fopen(path, mode);
	int err = errno;

	privilege_back(lent);
	errno = err;
	return file;
}

/* The directory that the path's last name is in, by an O_PATH descriptor, or -errno. */
static int caller_file_directory(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *directory = NULL;
	int fd;

	*name = slash ? slash + 1 : path;
	directory = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
	if (!directory)
		return -ENOMEM;
	fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * What open(2) is to be told so that nobody else's trap is stepped into. What is ours, or the
 * directory owner's, nobody else can exchange in such a directory after we have looked at it.
 */
static int caller_file_flags(int directory, const char *name, char reason[static REASON_MAX],
			     int *flags)
{
	struct stat dir, st;

	if (fstat(directory, &dir))
		return -errno;
	if (!(dir.st_mode & S_ISVTX) || !(dir.st_mode & S_IWOTH))
		return 0;
	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW)) {
		*flags |= O_EXCL; /* what comes now is not ours */
		return errno == ENOENT ? 0 : -errno;
	}
	if (st.st_uid == geteuid() || st.st_uid == dir.st_uid)
		return 0;
	return refuse(reason, -EACCES,
		      "%s that belongs to user %u is there, in a directory where everybody may "
		      "put one; give another name",
		      S_ISLNK(st.st_mode)    ? "a link"
		      : S_ISFIFO(st.st_mode) ? "a FIFO"
					     : "a file",
		      (unsigned)st.st_uid);
}

static int caller_file_create_at(const char *path, bool secret, char reason[static REASON_MAX])
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY;
	_cleanup_close_ int directory = -1;
	const mode_t mode = secret ? 0600 : 0666;
	const char *name;
	int fd, err;

	directory = caller_file_directory(path, &name);
	if (directory < 0)
		return directory;
	err = caller_file_flags(directory, name, reason, &flags);
	if (err)
		return err;
	/* An empty name is a directory's, and the path says which. */
	fd = *name ? openat(directory, name, flags, mode) : open(path, flags, mode);
	return fd < 0 ? -errno : fd;
}

FILE *caller_file_create(const char *path, bool secret)
{
	uint64_t lent = privilege_as_caller();
	char reason[REASON_MAX] = "";
	int fd = caller_file_create_at(path, secret, reason);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	int err = fd < 0 ? -fd : errno;

	privilege_back(lent);
	if (file)
		return file;
	if (fd >= 0)
		close(fd);
	log_error("cannot open %s for writing: %s", path, *reason ? reason : strerror(err));
	errno = err;
	return NULL;
}

int caller_file_empty(FILE *file, bool secret)
{
	int fd = fileno(file);
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	if (secret && st.st_mode & 077 && fchmod(fd, st.st_mode & 0700))
		return -errno;
	return ftruncate(fd, 0) ? -errno : 0;
}
