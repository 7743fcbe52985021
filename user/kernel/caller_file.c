// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/caller_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/base/reason.h"
#include "user/base/util.h"
#include "user/kernel/privilege.h"

/* By the directory and name found first: later the path may lead to somebody else's file. */
struct caller_file_kept {
	int directory; /* O_PATH */
	char *name, *old;
	struct stat st;	    /* of the kept file */
	struct stat before; /* of the earlier FILE.old, if `exchanged`: it has FILE's place now */
	struct stat now;    /* of the new file in its place, once known; st_ino 0: none */
	bool exchanged;
};

static bool caller_file_same(const struct stat *one, const struct stat *other)
{
	return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

FILE *caller_file_open(const char *path, const char *mode)
{
	uint64_t lent = privilege_as_caller();
	FILE *file = fopen(path, mode);
	int err = errno;

	privilege_back(lent);
	errno = err;
	return file;
}

/* The directory of the path's last name, as an O_PATH descriptor, or -errno. */
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
 * Flags for open(2) that avoid somebody else's trap. In such a directory nobody else can exchange
 * our files, or the directory owner's, after our look.
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
		*flags |= O_EXCL; /* a file that comes now is not ours */
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

static int caller_file_create_at(const char *path, bool secret, int more_flags,
				 const struct caller_file_kept *kept,
				 char reason[static REASON_MAX])
{
	int flags = more_flags | O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY;
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
	if (kept) {
		flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW;
		flags |= kept->exchanged ? 0 : O_CREAT | O_EXCL;
		fd = openat(kept->directory, kept->name, flags, 0600);
		return fd < 0 ? -errno : fd;
	}
	/* An empty name means a directory; the path says which. */
	fd = *name ? openat(directory, name, flags, mode) : open(path, flags, mode);
	return fd < 0 ? -errno : fd;
}

/* Resolves the path to a directory and name: -errno, or caller_file_directory()'s result. */
static int caller_file_resolve(const char *path, char **resolved, const char **name)
{
	*name = path;
	*resolved = realpath(path, NULL);
	return *resolved ? caller_file_directory(*resolved, name) : -errno;
}

/* Is it another regular file of the same owner? It can take FILE's place and be taken back. */
static bool caller_file_can_exchange(const struct stat *other, const struct stat *st)
{
	return S_ISREG(other->st_mode) && other->st_uid == st->st_uid && other->st_nlink == 1;
}

/*
 * Renames FILE to FILE.old, or exchanges the two where both exist. A FILE.old that cannot be put
 * back stays.
 */
static int caller_file_keep_moved(struct caller_file_kept *kept)
{
	const int at = kept->directory;

	if (!fstatat(at, kept->old, &kept->before, AT_SYMLINK_NOFOLLOW)) {
		if (!caller_file_can_exchange(&kept->before, &kept->st))
			return -EEXIST;
		kept->exchanged = true;
		kept->now = kept->before;
		return renameat2(at, kept->name, at, kept->old, RENAME_EXCHANGE) ? -errno : 0;
	}
	if (errno != ENOENT)
		return -errno;
	if (!renameat2(at, kept->name, at, kept->old, RENAME_NOREPLACE))
		return 0;
	/* Not every file system has flags. */
	return errno != EINVAL || renameat(at, kept->name, at, kept->old) ? -errno : 0;
}

/* 1: kept; 0: there is nothing to keep. */
static int caller_file_keep_at(const char *path, char reason[static REASON_MAX],
			       struct caller_file_kept *kept)
{
	_cleanup_free_ char *resolved = NULL;
	_cleanup_close_ int given = -1;
	const char *name;
	int flags = 0, err;

	given = caller_file_directory(path, &name);
	if (given < 0)
		return given;
	/* A stranger's link or file is refused at the open. */
	err = *name ? caller_file_flags(given, name, reason, &flags) : -EISDIR;
	if (err)
		return err;
	kept->directory = caller_file_resolve(path, &resolved, &name);
	if (kept->directory < 0)
		return kept->directory == -ENOENT ? 0 : kept->directory;
	if (fstatat(kept->directory, name, &kept->st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!S_ISREG(kept->st.st_mode) || !kept->st.st_size)
		return 0;
	kept->name = strdup(name);
	if (!kept->name || asprintf(&kept->old, "%s.old", name) < 0) {
		kept->old = NULL;
		return -ENOMEM;
	}
	return caller_file_keep_moved(kept) ?: 1;
}

struct caller_file_kept *caller_file_keep(const char *path)
{
	struct caller_file_kept *kept = calloc(1, sizeof(*kept));
	uint64_t lent = privilege_as_caller();
	char reason[REASON_MAX] = "";
	int done = -ENOMEM;

	if (kept) {
		kept->directory = -1;
		done = caller_file_keep_at(path, reason, kept);
	}
	privilege_back(lent);
	if (done > 0)
		return kept;
	caller_file_kept_free(kept);
	/* A path that must not be opened for writing is refused later, in better words. */
	if (done < 0 && !*reason && done != -ENOENT && done != -EISDIR)
		log_warn("%s cannot be kept as %s.old (%s): it will be written over", path, path,
			 done == -EEXIST ? "what is there could not be put back" : strerror(-done));
	return NULL;
}

void caller_file_kept_free(struct caller_file_kept *kept)
{
	if (!kept)
		return;
	if (kept->directory >= 0)
		close(kept->directory);
	free(kept->name);
	free(kept->old);
	free(kept);
}

/* Nobody may read or write the new file who could not do so with the old one. */
static int caller_file_become(int fd, const struct stat *st, bool secret)
{
	mode_t mode = st->st_mode & 0777;
	struct stat now;

	if (fstat(fd, &now))
		return -errno;
	if ((now.st_uid != st->st_uid || now.st_gid != st->st_gid) &&
	    fchown(fd, st->st_uid, st->st_gid) && fchown(fd, (uid_t)-1, st->st_gid))
		mode &= 0707 | (mode & 07) << 3; /* another group: as everybody */
	if (secret)
		mode &= 0700;
	return (now.st_mode & 0777) != mode && fchmod(fd, mode) ? -errno : 0;
}

/* Gives the opened file the place of the kept one. */
static int caller_file_replace(struct caller_file_kept *kept, int fd, bool secret)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	/* Another file has come there, perhaps somebody else's: its mode stays as it is. */
	if (!S_ISREG(st.st_mode) || (kept->exchanged && !caller_file_same(&st, &kept->now)))
		return 0;
	kept->now = st;
	return caller_file_become(fd, &kept->st, secret);
}

static int caller_file_put_back_at(const struct caller_file_kept *kept)
{
	const int at = kept->directory;
	struct stat st;

	if (fstatat(at, kept->old, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!caller_file_same(&st, &kept->st))
		return -ESTALE;
	if (fstatat(at, kept->name, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno != ENOENT)
			return -errno;
		if (!renameat2(at, kept->old, at, kept->name, RENAME_NOREPLACE))
			return 0;
		return errno != EINVAL || renameat(at, kept->old, at, kept->name) ? -errno : 0;
	}
	if (!caller_file_same(&st, &kept->now))
		return -ESTALE;
	if (!kept->exchanged)
		return renameat(at, kept->old, at, kept->name) ? -errno : 0;
	return renameat2(at, kept->name, at, kept->old, RENAME_EXCHANGE) ? -errno : 0;
}

void caller_file_put_back(const char *path, const struct caller_file_kept *kept, FILE *file)
{
	uint64_t lent = privilege_as_caller();
	struct stat st;
	int err;

	if (kept->exchanged && file && !fstat(fileno(file), &st) &&
	    caller_file_same(&st, &kept->before))
		caller_file_become(fileno(file), &kept->before, false);
	err = caller_file_put_back_at(kept);
	privilege_back(lent);
	/* The right to rename may have gone with other privileges. */
	if (err)
		log_info("what %s held is in %s.old now", path, path);
}

static FILE *caller_file_make(const char *path, bool secret, int flags,
			      struct caller_file_kept *kept)
{
	uint64_t lent = privilege_as_caller();
	char reason[REASON_MAX] = "";
	int fd = caller_file_create_at(path, secret, flags, kept, reason);
	int err = fd < 0 ? -fd : kept ? -caller_file_replace(kept, fd, secret) : 0;
	FILE *file = err ? NULL : fdopen(fd, "w");

	if (!err && !file)
		err = errno;
	privilege_back(lent);
	if (file)
		return file;
	if (fd >= 0)
		close(fd);
	log_error("cannot open %s for writing: %s", path, *reason ? reason : strerror(err));
	errno = err;
	return NULL;
}

FILE *caller_file_create(const char *path, bool secret, struct caller_file_kept *kept)
{
	return caller_file_make(path, secret, 0, kept);
}

FILE *caller_file_create_new(const char *path, bool secret)
{
	return caller_file_make(path, secret, O_EXCL, NULL);
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
