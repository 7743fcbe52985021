// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/object.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/hash.h"
#include "user/base/log.h"
#include "user/base/page.h"
#include "user/base/util.h"
#include "user/process/elf_file.h"
#include "user/process/object_open.h"

#define VDSO_PATH "[vdso]"

/* By these facts a file is known again. */
struct identity {
	struct file_id file;
	uint64_t size;
	/* status change: nobody can set it back, as with the time of modification */
	int64_t changed_s, changed_ns;
	uint64_t build_id_len;
	uint8_t build_id[32]; /* cut */
};

struct object {
	unsigned refs;
	unsigned mapped;
	uint64_t id;
	int fd;
	char fd_path[32];
	char *path;
	const char *name;
	struct file_id file; /* by_file's key */
	off_t size;
	bool vdso;
	unsigned refused; /* enum elf_use: what has been said */
	struct elf_headers elf;
	struct identity identity;
	struct object_cache *cache; /* NULL once the cache is gone */
	UT_hash_handle hh;
};

/* What maps says of a file, which may differ from what stat(2) says of it: btrfs, overlayfs. */
struct alias {
	struct file_id shown; /* key */
	struct object *object;
	UT_hash_handle hh;
};

/* The number of an object that is gone. */
struct former {
	struct identity identity; /* key */
	uint64_t id;
	UT_hash_handle hh;
};

/*
 * The cache holds no references: an object leaves it with the last one. An object in the cache pins
 * its inode by its open descriptor, so that the numbers cannot come to mean another file.
 */
struct object_cache {
	struct object *by_file;
	struct alias *by_maps;
	struct former *formers;
	uint64_t last_id;
};

struct object_cache *object_cache_new(void)
{
	return calloc(1, sizeof(struct object_cache));
}

static void forget_aliases(struct object_cache *cache, const struct object *object)
{
	struct alias *alias, *next;

	HASH_ITER (hh, cache->by_maps, alias, next) {
		if (object && alias->object != object)
			continue;
		HASH_DEL(cache->by_maps, alias);
		free(alias);
	}
}

/* Out of memory the object gets another number when it comes back. */
static void remember_id(struct object_cache *cache, const struct object *object)
{
	struct former *former;

	/*
	 * Copies of the vdso are never the same file. Without a build id, whole seconds tell too
	 * little of a file: some file systems know no more.
	 */
	if (object->vdso || (!object->identity.changed_ns && !object->identity.build_id_len))
		return;
	HASH_FIND(hh, cache->formers, &object->identity, sizeof(object->identity), former);
	if (former)
		return;
	former = calloc(1, sizeof(*former));
	if (!former)
		return;
	former->identity = object->identity;
	former->id = object->id;
	HASH_ADD(hh, cache->formers, identity, sizeof(former->identity), former);
	if (!former->hh.tbl)
		free(former);
}

static uint64_t choose_id(struct object_cache *cache, const struct object *object)
{
	struct former *former;

	HASH_FIND(hh, cache->formers, &object->identity, sizeof(object->identity), former);
	return former ? former->id : ++cache->last_id;
}

void object_cache_free(struct object_cache *cache)
{
	struct former *former, *later;
	struct object *object, *next;

	if (!cache)
		return;
	forget_aliases(cache, NULL);
	HASH_ITER (hh, cache->by_file, object, next) {
		HASH_DEL(cache->by_file, object);
		object->cache = NULL;
	}
	HASH_ITER (hh, cache->formers, former, later) {
		HASH_DEL(cache->formers, former);
		free(former);
	}
	free(cache);
}

struct object *object_ref(struct object *object)
{
	object->refs++;
	return object;
}

void object_unref(struct object *object)
{
	if (!object || --object->refs)
		return;
	if (object->cache) {
		remember_id(object->cache, object);
		forget_aliases(object->cache, object);
		HASH_DEL(object->cache->by_file, object);
	}
	elf_headers_release(&object->elf);
	close(object->fd);
	free(object->path);
	free(object);
}

void object_map(struct object *object)
{
	object->mapped++;
}

void object_unmap(struct object *object)
{
	object->mapped--;
}

bool object_is_mapped(const struct object *object)
{
	return object->mapped > 0;
}

static struct object *find_by_file(struct object_cache *cache, const struct file_id *file)
{
	struct object *object;

	HASH_FIND(hh, cache->by_file, file, sizeof(*file), object);
	return object;
}

static struct object *find_by_maps(struct object_cache *cache, const struct mapping *m)
{
	struct file_id shown = {.dev = m->dev, .ino = m->ino};
	struct alias *alias;

	HASH_FIND(hh, cache->by_maps, &shown, sizeof(shown), alias);
	return alias ? alias->object : NULL;
}

/* Remembers that the mapping's numbers mean this object; a failure costs only time later. */
static void remember_alias(struct object_cache *cache, const struct mapping *m,
			   struct object *object)
{
	struct file_id shown = {.dev = m->dev, .ino = m->ino};
	struct alias *alias;

	HASH_FIND(hh, cache->by_maps, &shown, sizeof(shown), alias);
	if (alias) {
		/*
		 * Two subvolumes of btrfs show the same numbers for different files: the newest
		 * counts.
		 */
		alias->object = object;
		return;
	}
	alias = calloc(1, sizeof(*alias));
	if (!alias)
		return;
	alias->shown = shown;
	alias->object = object;
	HASH_ADD(hh, cache->by_maps, shown, sizeof(alias->shown), alias);
	if (!alias->hh.tbl)
		free(alias);
}

static struct identity identity_of(const struct stat *st, const struct elf_headers *elf)
{
	struct identity identity = {
		.file = {.dev = st->st_dev, .ino = st->st_ino},
		.size = (uint64_t)st->st_size,
		.changed_s = st->st_ctim.tv_sec,
		.changed_ns = st->st_ctim.tv_nsec,
		.build_id_len = elf->build_id_len,
	};
	size_t len = elf->build_id_len;

	if (len > sizeof(identity.build_id))
		len = sizeof(identity.build_id);
	if (len)
		memcpy(identity.build_id, elf->build_id, len);
	return identity;
}

/*
 * Makes an object of an open file and enters it into the cache; takes the descriptor over in any
 * case.
 */
static int adopt(struct object_cache *cache, int fd, const char *path, bool vdso,
		 struct object **out)
{
	struct object *object, *known;
	char reason[REASON_MAX];
	struct elf_headers elf;
	struct stat st;
	int err;

	if (fstat(fd, &st)) {
		err = -errno;
		close(fd);
		return err;
	}
	known = find_by_file(cache, &(struct file_id){.dev = st.st_dev, .ino = st.st_ino});
	if (known) {
		close(fd);
		*out = object_ref(known);
		return 0;
	}
	err = elf_headers_read(fd, &elf, reason);
	/* A refused file is known from now on, and nothing is read of it. */
	if (err == -EFBIG)
		log_warn("%s: nothing of this file is used, no symbols and no unwind tables: %s",
			 path, reason);
	else if (err)
		goto not_elf;
	object = calloc(1, sizeof(*object));
	if (object)
		object->path = strdup(path);
	if (!object || !object->path)
		goto out_of_memory;
	object->name = strrchr(object->path, '/') ? strrchr(object->path, '/') + 1 : object->path;
	object->refs = 1;
	object->fd = fd;
	snprintf(object->fd_path, sizeof(object->fd_path), "/proc/self/fd/%d", fd);
	object->file = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
	object->size = st.st_size;
	object->vdso = vdso;
	object->elf = elf;
	object->identity = identity_of(&st, &elf);
	HASH_ADD(hh, cache->by_file, file, sizeof(object->file), object);
	if (!object->hh.tbl)
		goto out_of_memory;
	object->id = choose_id(cache, object);
	object->cache = cache;
	*out = object;
	return 0;

out_of_memory:
	if (object)
		free(object->path);
	free(object);
	elf_headers_release(&elf);
	err = -ENOMEM;
not_elf:
	close(fd);
	return err;
}

static bool same_content(int a, int b, size_t size)
{
	char x[4096], y[4096];

	for (size_t at = 0; at < size;) {
		size_t want = size - at < sizeof(x) ? size - at : sizeof(x);

		if (pread(a, x, want, (off_t)at) != (ssize_t)want ||
		    pread(b, y, want, (off_t)at) != (ssize_t)want || memcmp(x, y, want) != 0)
			return false;
		at += want;
	}
	return true;
}

/* The vdso is not a file: copies are told apart by content, and each content has one object. */
static int get_vdso(struct object_cache *cache, pid_t pid, const struct mapping *m,
		    struct object **out)
{
	int fd = object_copy_memory(pid, m->start, m->end);
	uint64_t size = m->end - m->start;
	struct object *object, *next;

	HASH_ITER (hh, cache->by_file, object, next) {
		if (!object->vdso || (uint64_t)object->size != size)
			continue;
		/*
		 * The process is gone. One kernel has one 64-bit vdso, so its vdso was the one of
		 * this size.
		 */
		if (fd >= 0 && !same_content(fd, object->fd, (size_t)size))
			continue;
		if (fd >= 0)
			close(fd);
		*out = object_ref(object);
		return 0;
	}
	return fd < 0 ? fd : adopt(cache, fd, VDSO_PATH, true, out);
}

/*
 * Opens it through the process while that lives; through the root directories when that is not
 * allowed or the mapping has changed.
 */
static int open_mapping(pid_t pid, int root_fd, const struct mapping *m)
{
	_cleanup_close_ int proc_root = -1;
	_cleanup_close_ int own_root = -1;
	int fd = object_open_mapping(pid, m);

	if (fd >= 0 || fd == -EINVAL)
		return fd;
	if (root_fd < 0) {
		proc_root = object_open_root(pid);
		root_fd = proc_root;
	}
	if (root_fd >= 0)
		fd = object_open_under(root_fd, m);
	if (fd >= 0)
		return fd;
	/* For a chrooted process /proc/PID/maps shows the path from the reader's root. */
	own_root = object_open_root(getpid());
	if (own_root >= 0) {
		int own = object_open_under(own_root, m);

		if (own >= 0 || fd == -ENOENT || fd == -ESRCH)
			return own;
	}
	return fd;
}

int object_cache_get_at(struct object_cache *cache, pid_t pid, int root_fd, const struct mapping *m,
			struct object **out)
{
	struct object *known;
	struct file_id file;
	int fd, err;

	if (!strcmp(m->path, VDSO_PATH))
		return get_vdso(cache, pid, m, out);
	if (m->path[0] != '/' || m->ino == 0)
		return -ENOENT;
	/* The living process's answer is certain; on some file systems maps is ambiguous. */
	err = object_stat_mapping(pid, m, &file);
	known = err ? find_by_maps(cache, m) : find_by_file(cache, &file);
	if (known) {
		remember_alias(cache, m, known);
		*out = object_ref(known);
		return 0;
	}
	fd = open_mapping(pid, root_fd, m);
	if (fd < 0)
		return fd;
	err = adopt(cache, fd, m->path, false, out);
	if (!err)
		remember_alias(cache, m, *out);
	return err;
}

int object_cache_get(struct object_cache *cache, pid_t pid, const struct mapping *m,
		     struct object **out)
{
	return object_cache_get_at(cache, pid, -1, m, out);
}

int object_cache_take(struct object_cache *cache, int fd, const char *path, struct object **out)
{
	return adopt(cache, fd, path, false, out);
}

void object_cache_know(struct object_cache *cache, const struct mapping *m, struct object *object)
{
	remember_alias(cache, m, object);
}

int object_cache_open(struct object_cache *cache, const char *path, struct object **out)
{
	int fd = object_open_path(path);

	return fd < 0 ? fd : adopt(cache, fd, path, false, out);
}

const char *object_path(const struct object *object)
{
	return object->path;
}

const char *object_name(const struct object *object)
{
	return object->name;
}

const char *object_fd_path(const struct object *object)
{
	return object->fd_path;
}

int object_fd(const struct object *object)
{
	return object->fd;
}

void object_say_refused(const struct object *object, unsigned uses, const char *reason)
{
	/* What has been logged is no part of the object's identity. */
	unsigned *said = &((struct object *)object)->refused;

	if (!(uses & ~*said))
		return;
	*said |= uses;
	log_warn("%s: %s left out: %s", object->path,
		 uses & ELF_FOR_SYMBOLS	 ? "its symbols are"
		 : uses & ELF_FOR_FRAMES ? "its unwind tables are"
					 : "its debug information is",
		 reason);
}

Elf *object_elf(const struct object *object, unsigned uses)
{
	char reason[REASON_MAX];
	Elf *elf;
	int err = elf_open(object->fd, uses, reason, &elf);

	if (err == -EFBIG)
		object_say_refused(object, uses, reason);
	return err ? NULL : elf;
}

bool object_elf_is_usable(const struct object *object, unsigned uses)
{
	_cleanup_elf_ Elf *elf = object_elf(object, uses);

	return elf != NULL;
}

uint64_t object_id(const struct object *object)
{
	return object->id;
}

uint64_t object_dev(const struct object *object)
{
	return object->file.dev;
}

uint64_t object_ino(const struct object *object)
{
	return object->file.ino;
}

bool object_is_vdso(const struct object *object)
{
	return object->vdso;
}

bool object_is_elf64(const struct object *object)
{
	return object->elf.native64;
}

uint16_t object_elf_type(const struct object *object)
{
	return object->elf.type;
}

bool object_has_interp(const struct object *object)
{
	return object->elf.interp_size > 0;
}

const uint8_t *object_build_id(const struct object *object, size_t *len)
{
	*len = object->elf.build_id_len;
	return object->elf.build_id;
}

static const struct elf_segment *segment_of_offset(const struct object *object, uint64_t offset)
{
	for (size_t i = 0; i < object->elf.segment_count; i++) {
		const struct elf_segment *s = &object->elf.segments[i];

		if (offset >= s->offset && offset - s->offset < s->filesz)
			return s;
	}
	return NULL;
}

bool object_is_code(const struct object *object, uint64_t offset)
{
	const struct elf_segment *s = segment_of_offset(object, offset);

	return s && s->exec;
}

int object_offset_to_vaddr(const struct object *object, uint64_t offset, uint64_t *vaddr)
{
	const struct elf_segment *s = segment_of_offset(object, offset);

	if (!s)
		return -ENOENT;
	*vaddr = s->vaddr + (offset - s->offset);
	return 0;
}

int object_code_vaddr(const struct object *object, uint64_t offset, uint64_t *vaddr)
{
	for (size_t i = 0; i < object->elf.segment_count; i++) {
		const struct elf_segment *s = &object->elf.segments[i];

		if (s->exec && offset + page_size() > s->offset && offset < s->offset + s->filesz) {
			*vaddr = s->vaddr + (offset - s->offset);
			return 0;
		}
	}
	return -ENOENT;
}

int object_vaddr_to_offset(const struct object *object, uint64_t vaddr, uint64_t *offset)
{
	for (size_t i = 0; i < object->elf.segment_count; i++) {
		const struct elf_segment *s = &object->elf.segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->filesz) {
			*offset = s->offset + (vaddr - s->vaddr);
			return 0;
		}
	}
	return -ENOENT;
}
