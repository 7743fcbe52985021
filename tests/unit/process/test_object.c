// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/unit/test_proc_child.h"
#include "user/base/util.h"
#include "user/process/object.h"
#include "user/process/object_open.h"

static const char libm[] = "/lib/x86_64-linux-gnu/libm.so.6";

/* The first executable mapping whose path ends so; kept in *maps. */
static const struct mapping *find_mapping(pid_t pid, const char *suffix, struct maps **maps)
{
	assert_int_equal(maps_read(pid, maps), 0);
	for (size_t i = 0; i < maps_count(*maps); i++) {
		const struct mapping *m = maps_at(*maps, i);
		size_t len = strlen(m->path);

		if (m->exec && len >= strlen(suffix) &&
		    !strcmp(m->path + len - strlen(suffix), suffix))
			return m;
	}
	fail_msg("process %d maps no %s", (int)pid, suffix);
	return NULL;
}

static void copy_file(const char *from, const char *to)
{
	run_tool("cp -L %s %s", from, to);
}

/* Maps the file argument executable. */
static int map_file(void *path, int number)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (number || fd < 0 || fstat(fd, &st))
		return fd < 0;
	return mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) ==
	       MAP_FAILED;
}

static void test_own_program(void **state)
{
	struct object_cache *cache = object_cache_new();
	struct object *a, *b;
	struct maps *maps;
	const struct mapping *m;
	struct stat st;
	uint64_t offset, vaddr, back;

	(void)state;
	assert_int_equal(maps_read(getpid(), &maps), 0);
	m = maps_find(maps, (uint64_t)(uintptr_t)test_own_program);
	assert_int_equal(object_cache_get(cache, getpid(), m, &a), 0);
	assert_int_equal(stat("/proc/self/exe", &st), 0);
	assert_int_equal(object_dev(a), st.st_dev);
	assert_int_equal(object_ino(a), st.st_ino);
	assert_true(object_is_elf64(a));
	assert_true(object_has_interp(a));
	assert_false(object_is_vdso(a));
	assert_string_equal(object_path(a), m->path);
	assert_string_equal(object_name(a), strrchr(m->path, '/') + 1);
	assert_int_equal(object_id(a), 1);

	/* What the loader did is the reference for the arithmetic. */
	offset = (uint64_t)(uintptr_t)test_own_program - m->start + m->offset;
	assert_int_equal(object_offset_to_vaddr(a, offset, &vaddr), 0);
	assert_int_equal(vaddr + ((struct link_map *)_r_debug.r_map)->l_addr,
			 (uint64_t)(uintptr_t)test_own_program);
	assert_int_equal(object_vaddr_to_offset(a, vaddr, &back), 0);
	assert_int_equal(back, offset);
	assert_true(object_is_code(a, offset));
	assert_false(object_is_code(a, 0));
	assert_int_equal(object_offset_to_vaddr(a, UINT64_MAX, &vaddr), -ENOENT);
	assert_int_equal(object_vaddr_to_offset(a, UINT64_MAX, &back), -ENOENT);

	/* The same inode is the same object, by whatever name. */
	assert_int_equal(object_cache_open(cache, "/proc/self/exe", &b), 0);
	assert_ptr_equal(a, b);
	assert_int_equal(stat(object_fd_path(a), &st), 0);
	assert_int_equal(object_ino(a), st.st_ino);
	object_unref(a);
	object_unref(b);
	maps_free(maps);
	object_cache_free(cache);
}

static void test_references(void **state)
{
	struct object_cache *cache = object_cache_new();
	struct object *a, *b;
	uint64_t first;
	int fd;

	(void)state;
	assert_int_equal(object_cache_open(cache, "/proc/self/exe", &a), 0);
	first = object_id(a);
	fd = object_fd(a);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	object_unref(a);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	/* It comes back as what it was. */
	assert_int_equal(object_cache_open(cache, "/proc/self/exe", &b), 0);
	assert_int_equal(object_id(b), first);
	assert_false(object_is_mapped(b));
	object_map(b);
	assert_true(object_is_mapped(b));
	object_unmap(b);
	object_cache_free(cache);
	assert_true(object_is_elf64(b));
	object_unref(object_ref(b));
	object_unref(b);
	object_unref(NULL);
}

/* The number of the file's object, of which no reference is left. */
static uint64_t id_of(struct object_cache *cache, const char *path)
{
	struct object *object;
	uint64_t id;

	assert_int_equal(object_cache_open(cache, path, &object), 0);
	id = object_id(object);
	object_unref(object);
	return id;
}

static void test_changed_between(void **state)
{
	struct object_cache *cache = object_cache_new();
	struct stat before, now;
	char directory[32], path[64];
	uint64_t first, second;

	(void)state;
	make_directory(directory);
	snprintf(path, sizeof(path), "%s/program", directory);
	copy_file("/proc/self/exe", path);
	first = id_of(cache, path);
	assert_int_equal(id_of(cache, path), first);

	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(truncate(path, before.st_size + 1), 0);
	second = id_of(cache, path);
	assert_int_not_equal(second, first);

	/* The same size, written later: as soon as the clock of the file system has gone on. */
	assert_int_equal(stat(path, &before), 0);
	do {
		assert_int_equal(chmod(path, 0700), 0);
		assert_int_equal(stat(path, &now), 0);
	} while (now.st_ctim.tv_sec == before.st_ctim.tv_sec &&
		 now.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
	assert_int_not_equal(id_of(cache, path), second);
	assert_int_not_equal(id_of(cache, path), first);
	object_cache_free(cache);
}

static void test_deleted_and_upgraded(void **state)
{
	struct object_cache *cache = object_cache_new();
	char directory[32], path[64], other[64];
	struct object *old, *new;
	struct maps *maps;
	struct child child;
	const struct mapping *m;
	uint64_t ino;

	(void)state;
	need_root();
	need_file(libm);
	make_directory(directory);
	snprintf(path, sizeof(path), "%s/lib.so", directory);
	snprintf(other, sizeof(other), "%s/new.so", directory);
	copy_file(libm, path);
	child = child_start(map_file, path);
	copy_file("/proc/self/exe", other);
	assert_int_equal(rename(other, path), 0);
	m = find_mapping(child.pid, "/lib.so", &maps);
	ino = m->ino;
	assert_true(m->deleted);
	assert_int_equal(object_cache_get(cache, child.pid, m, &old), 0);
	assert_int_equal(object_ino(old), ino);
	assert_int_equal(object_cache_open(cache, path, &new), 0);
	assert_ptr_not_equal(old, new);
	child_end(&child);
	/* The process is gone: its mapping is still known, while the path is another file. */
	object_unref(new);
	assert_int_equal(object_cache_get(cache, child.pid, m, &new), 0);
	assert_ptr_equal(old, new);
	object_unref(new);
	object_unref(old);
	assert_int_equal(object_cache_get(cache, child.pid, m, &old), -ESTALE);
	maps_free(maps);
	object_cache_free(cache);
	run_tool("rm -r %s", directory);
}

/* The record of a mapping is read when another file has been mapped at its place already. */
static void test_place_taken(void **state)
{
	struct object_cache *cache = object_cache_new();
	struct object *there, *before;
	struct maps *maps;
	struct mapping record;
	struct file_id id;
	struct stat st;

	(void)state;
	record = *find_mapping(getpid(), "libc.so.6", &maps);
	assert_int_equal(object_cache_get(cache, getpid(), &record, &there), 0);
	assert_int_equal(stat(libm, &st), 0);
	record.path = libm;
	record.dev = st.st_dev;
	record.ino = st.st_ino;
	assert_int_equal(object_stat_mapping(getpid(), &record, &id), -ESTALE);
	assert_int_equal(object_open_mapping(getpid(), &record), -ESTALE);
	assert_int_equal(object_cache_get(cache, getpid(), &record, &before), 0);
	assert_ptr_not_equal(there, before);
	assert_string_equal(object_path(before), libm);
	assert_int_equal(object_ino(before), st.st_ino);
	object_unref(there);
	object_unref(before);
	maps_free(maps);
	object_cache_free(cache);
}

static void test_special_files(void **state)
{
	struct object_cache *cache = object_cache_new();
	char directory[32], fifo[64];
	struct object *object;
	struct stat st;
	struct mapping m = {.start = 0x1000, .end = 0x2000, .exec = true, .path = ""};

	(void)state;
	make_directory(directory);
	snprintf(fifo, sizeof(fifo), "%s/fifo", directory);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	alarm(10);
	assert_int_equal(object_cache_open(cache, fifo, &object), -EINVAL);
	assert_int_equal(object_cache_open(cache, "/dev/null", &object), -EINVAL);
	assert_int_equal(object_cache_open(cache, directory, &object), -EINVAL);
	assert_int_equal(object_cache_open(cache, "/nowhere", &object), -ENOENT);
	assert_int_equal(object_cache_open(cache, "/etc/passwd", &object), -ENOEXEC);
	assert_int_equal(object_cache_get(cache, getpid(), &m, &object), -ENOENT);
	m.path = "[heap]";
	assert_int_equal(object_cache_get(cache, getpid(), &m, &object), -ENOENT);
	/* A mapping whose path has become a FIFO with the very same numbers. */
	assert_int_equal(stat(fifo, &st), 0);
	m.path = fifo;
	m.dev = st.st_dev;
	m.ino = st.st_ino;
	assert_int_equal(object_cache_get(cache, getpid(), &m, &object), -EINVAL);
	alarm(0);
	object_cache_free(cache);
	run_tool("rm -r %s", directory);
}

static int map_after_chroot(void *directory, int number)
{
	return chroot(directory) || chdir("/") || map_file("/lib.so", number);
}

static void test_chroot(void **state)
{
	struct object_cache *cache = object_cache_new();
	char directory[32], path[80];
	struct object *object;
	struct mapping inside;
	struct maps *maps;
	struct child child;
	struct stat st;

	(void)state;
	need_root();
	need_file(libm);
	make_directory(directory);
	snprintf(path, sizeof(path), "%s/lib.so", directory);
	copy_file(libm, path);
	assert_int_equal(stat(path, &st), 0);
	child = child_start(map_after_chroot, directory);
	assert_int_equal(object_cache_get(cache, child.pid,
					  find_mapping(child.pid, "/lib.so", &maps), &object),
			 0);
	assert_int_equal(object_ino(object), st.st_ino);
	object_unref(object);
	/* As the kernel's records name it, from inside, for a mapping that has changed since. */
	inside = (struct mapping){.start = 0x1000,
				  .end = 0x2000,
				  .path = "/lib.so",
				  .dev = st.st_dev,
				  .ino = st.st_ino};
	assert_int_equal(object_cache_get(cache, child.pid, &inside, &object), 0);
	assert_int_equal(object_ino(object), st.st_ino);
	object_unref(object);
	maps_free(maps);
	child_end(&child);
	object_cache_free(cache);
	run_tool("rm -r %s", directory);
}

static void test_links_stay_inside(void **state)
{
	char directory[32], path[80];
	struct mapping m = {.path = "/link"};
	struct stat st;
	int root;

	(void)state;
	make_directory(directory);
	snprintf(path, sizeof(path), "%s/link", directory);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(stat("/etc/passwd", &st), 0);
	m.dev = st.st_dev;
	m.ino = st.st_ino;
	root = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(root >= 0);
	assert_int_equal(object_open_under(root, &m), -ENOENT);
	m.path = "/../../../etc/passwd";
	assert_int_equal(object_open_under(root, &m), -ENOENT);
	unlink(path);
	assert_int_equal(symlink("/proc/self/root/etc/passwd", path), 0);
	m.path = "/link";
	assert_int_equal(object_open_under(root, &m), -ENOENT);
	close(root);
	/* With our own root for comparison the very same names lead there. */
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	m.path = "/../../../etc/passwd";
	st.st_ino = (ino_t)object_open_under(root, &m);
	assert_true((int)st.st_ino >= 0);
	close((int)st.st_ino);
	m.ino++;
	assert_int_equal(object_open_under(root, &m), -ESTALE);
	close(root);
	run_tool("rm -r %s", directory);
}

static void test_vdso(void **state)
{
	struct object_cache *cache = object_cache_new();
	struct child a = child_start(NULL, NULL);
	struct child b = child_exec("/bin/cat", (char *[]){"cat", NULL}, (char *[]){NULL});
	struct maps *maps_a, *maps_b;
	struct object *first, *second;
	const struct mapping *m;
	size_t len;

	(void)state;
	m = find_mapping(a.pid, "[vdso]", &maps_a);
	assert_int_equal(object_cache_get(cache, a.pid, m, &first), 0);
	assert_true(object_is_vdso(first));
	assert_true(object_is_elf64(first));
	assert_string_equal(object_name(first), "[vdso]");
	assert_non_null(object_build_id(first, &len));
	assert_int_equal(len, 20);
	m = find_mapping(b.pid, "[vdso]", &maps_b);
	assert_int_equal(object_cache_get(cache, b.pid, m, &second), 0);
	assert_ptr_equal(first, second);
	object_unref(second);
	child_end(&b);
	assert_int_equal(object_cache_get(cache, b.pid, m, &second), 0);
	assert_ptr_equal(first, second);
	object_unref(second);
	object_unref(first);
	maps_free(maps_a);
	maps_free(maps_b);
	child_end(&a);
	object_cache_free(cache);
}

static void test_build_id(void **state)
{
	static const uint8_t id[] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
	struct object_cache *cache = object_cache_new();
	char directory[32], path[64];
	struct object *with, *without;
	const uint8_t *got;
	size_t len;

	(void)state;
	need_tool("gcc");
	make_directory(directory);
	run_tool("echo 'int f(void) { return 1; }' | gcc -shared -fPIC -x c - -o %s/a.so "
		 "-Wl,--build-id=0x0123456789abcdef",
		 directory);
	run_tool("echo 'int f(void) { return 1; }' | gcc -shared -fPIC -x c - -o %s/b.so "
		 "-Wl,--build-id=none",
		 directory);
	snprintf(path, sizeof(path), "%s/a.so", directory);
	assert_int_equal(object_cache_open(cache, path, &with), 0);
	got = object_build_id(with, &len);
	assert_int_equal(len, sizeof(id));
	assert_memory_equal(got, id, len);
	assert_int_equal(object_elf_type(with), ET_DYN);
	assert_false(object_has_interp(with));
	snprintf(path, sizeof(path), "%s/b.so", directory);
	assert_int_equal(object_cache_open(cache, path, &without), 0);
	assert_null(object_build_id(without, &len));
	assert_int_equal(len, 0);
	object_unref(with);
	object_unref(without);
	object_cache_free(cache);
	run_tool("rm -r %s", directory);
}

/* Files with damaged headers are refused or described, and nothing worse happens. */
static void test_damaged_files(void **state)
{
	struct object_cache *cache = object_cache_new();
	unsigned char original[4096], copy[4096];
	int source = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t refused = 0, other_class = 0;
	unsigned seed = 1;

	(void)state;
	assert_int_equal(pread(source, original, sizeof(original), 0), sizeof(original));
	for (int i = 0; i < 3000; i++) {
		int fd = memfd_create("damaged", MFD_CLOEXEC);
		char path[32];
		struct object *object;
		uint64_t value;
		size_t len;

		memcpy(copy, original, sizeof(copy));
		for (int n = 0; n < 1 + i % 4; n++)
			copy[(unsigned)rand_r(&seed) % 1000] = (unsigned char)rand_r(&seed);
		len = i % 5 == 0 ? (unsigned)rand_r(&seed) % sizeof(copy) : sizeof(copy);
		if (i == 0)
			copy[EI_CLASS] = ELFCLASS32;
		assert_int_equal(write(fd, copy, i ? len : sizeof(copy)), i ? len : sizeof(copy));
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (object_cache_open(cache, path, &object)) {
			refused++;
		} else {
			other_class += !object_is_elf64(object);
			object_offset_to_vaddr(object, (uint64_t)rand_r(&seed) << 20, &value);
			object_vaddr_to_offset(object, 0x1000, &value);
			object_build_id(object, &len);
			object_unref(object);
		}
		close(fd);
	}
	assert_true(refused > 0 && refused < 3000);
	assert_true(other_class > 0);
	close(source);
	object_cache_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_program),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_changed_between),
		cmocka_unit_test(test_deleted_and_upgraded),
		cmocka_unit_test(test_place_taken),
		cmocka_unit_test(test_special_files),
		cmocka_unit_test(test_chroot),
		cmocka_unit_test(test_links_stay_inside),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_damaged_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
