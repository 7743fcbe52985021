// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/sides.h"
#include "tests/unit/target/cached.h"
#include "user/process/maps.h"
#include "user/runtime/python/cpython.h"
#include "user/runtime/python/cpython_code_end.h"

#if defined(__x86_64__)
#define MACHINE "known"
#else
#define MACHINE "other"
#endif

/* A library that has the variables and functions, and no more of an interpreter. */
static void build(const struct sides *sides, const char *name, const char *functions)
{
	sides_run(sides,
		  "echo 'char _PyRuntime[64]; %s' >source.c && cc -shared -fPIC -o %s source.c",
		  functions, name);
}

static int find(const struct sides *sides, const char *name, struct python_runtime *runtime,
		char reason[static REASON_MAX])
{
	struct object *object;
	char path[64];
	int err;

	reason[0] = '\0';
	snprintf(path, sizeof(path), "%s/%s", sides->directory, name);
	assert_int_equal(object_cache_open(cache, path, &object), 0);
	err = python_find(object, runtime, reason);
	object_unref(object);
	return err;
}

/* Which it is before 3.11 is told by the functions that there are. */
static void test_version_by_functions(void **state)
{
	static const struct {
		const char *name, *functions;
		uint32_t version;
	} cases[] = {
		{"none.so", "", 0},
		{"3.8.so", "void PyCode_NewWithPosOnlyArgs(void) {}", 0x03080000},
		{"3.9.so", "void PyCode_NewWithPosOnlyArgs(void) {} void PyFrame_GetBack(void) {}",
		 0x03090000},
		{"3.10.so",
		 "void PyCode_NewWithPosOnlyArgs(void) {} void PyFrame_GetBack(void) {} "
		 "void Py_NewRef(void) {}",
		 0x030a0000},
		{"3.11.so", "void Py_NewRef(void) {} const unsigned long Py_Version = 0x030b02f0;",
		 0x030b02f0},
		{"4.0.so", "const unsigned long Py_Version = 0x040000f0;", 0x040000f0},
	};
	struct python_runtime runtime;
	char reason[REASON_MAX];
	struct sides sides;

	(void)state;
	sides_open(&sides, __FILE__);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		build(&sides, cases[i].name, cases[i].functions);
		assert_int_equal(find(&sides, cases[i].name, &runtime, reason), -ENOTSUP);
		assert_int_equal(runtime.version, cases[i].version);
		if (cases[i].version && !strcmp(MACHINE, "other"))
			assert_string_equal(reason, "on this machine that is not done yet");
		else
			assert_string_not_equal(reason, "");
	}
	sides_close(&sides);
}

/* Of a process that maps nothing but a file of that name. */
static enum runtime_libc libc_of(const struct sides *sides, const char *name)
{
	enum runtime_libc libc;
	struct image *image;
	struct maps *maps;
	struct mapping m;
	char path[64];
	void *code;
	int fd;

	build(sides, name, "void code(void) {}");
	snprintf(path, sizeof(path), "%s/%s", sides->directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	close(fd);
	assert_int_equal(maps_read(getpid(), &maps), 0);
	m = *maps_find(maps, (uint64_t)(uintptr_t)code);
	image = image_new_empty(getpid(), cache);
	assert_non_null(image);
	assert_int_equal(image_add(image, &m), 0);
	libc = runtime_libc_of(image);
	image_free(image);
	maps_free(maps);
	munmap(code, 4096);
	return libc;
}

static void test_libc(void **state)
{
	struct sides sides;

	(void)state;
	sides_open(&sides, __FILE__);
	assert_int_equal(libc_of(&sides, "libm.so.6"), RUNTIME_LIBC_NONE);
	assert_int_equal(libc_of(&sides, "libc.so.6"), RUNTIME_LIBC_GLIBC);
	assert_int_equal(libc_of(&sides, "libc-2.31.so"), RUNTIME_LIBC_GLIBC);
	assert_int_equal(libc_of(&sides, "libc.so"), RUNTIME_LIBC_OTHER);
	assert_int_equal(libc_of(&sides, "ld-musl-x86_64.so.1"), RUNTIME_LIBC_OTHER);
	assert_int_equal(libc_of(&sides, "libc.musl-x86_64.so.1"), RUNTIME_LIBC_OTHER);
	sides_close(&sides);
}

/* Of other machines no Python is followed. */
#if defined(__x86_64__)
static uint64_t symbol(const struct sides *sides, const char *name, const char *symbol)
{
	char command[256];
	uint64_t vaddr = 0;
	FILE *nm;

	snprintf(command, sizeof(command), "nm '%s/%s' | grep ' %s$'", sides->directory, name,
		 symbol);
	nm = popen(command, "r");
	assert_non_null(nm);
	assert_int_equal(fscanf(nm, "%" SCNx64, &vaddr), 1);
	pclose(nm);
	return vaddr;
}

/* Where is it found in an object of that kind, in which PyCode_Type has `end` for the function that frees? */
static int find_end(const struct sides *sides, const char *compiler, const char *end)
{
	struct python_runtime runtime = {0};
	struct provider *provider = NULL;
	static unsigned number;
	struct object *object;
	char name[32], path[64];
	uint64_t offset;
	int err;

	/* What is known of a file stays with its name. */
	snprintf(name, sizeof(name), "end%u", number++);
	sides_run(sides,
		  "echo 'static void gone(char *code) { *(volatile char *)code = 1; } "
		  "const void *PyCode_Type[51] = {[6] = %s}; int main(void) { return 0; }' "
		  ">source.c && cc -O2 %s -o %s source.c",
		  end, compiler, name);
	snprintf(path, sizeof(path), "%s/%s", sides->directory, name);
	assert_int_equal(object_cache_open(cache, path, &object), 0);
	runtime.row.code_type = symbol(sides, name, "PyCode_Type");
	err = code_end_find(object, &runtime, &provider);
	if (!err) {
		assert_int_equal(provider->count, 1);
		assert_int_equal(
			object_vaddr_to_offset(object, symbol(sides, name, "gone"), &offset), 0);
		assert_int_equal(provider->fns[0].offset, offset);
		assert_int_equal(provider->fns[0].fn->op, OP_CODE_END);
	}
	provider_free(provider);
	object_unref(object);
	return err;
}

static void test_code_end(void **state)
{
	struct sides sides;

	(void)state;
	sides_open(&sides, __FILE__);
	assert_int_equal(find_end(&sides, "-shared -fPIC", "gone"), 0);
	assert_int_equal(find_end(&sides, "-fPIE -pie", "gone"), 0);
	assert_int_equal(find_end(&sides, "-no-pie", "gone"), 0);
	assert_int_equal(find_end(&sides, "-fPIE -pie", "(char *)gone + 1"), -ENOENT);
	assert_int_equal(find_end(&sides, "-no-pie", "(char *)gone + 1"), -ENOENT);
	assert_int_equal(find_end(&sides, "-no-pie", "0"), -ENOENT);
	assert_int_equal(find_end(&sides, "-no-pie", "(void *)-1"), -ENOENT);
	assert_int_equal(find_end(&sides, "-shared -fPIC", "PyCode_Type"), -ENOENT);
	sides_close(&sides);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version_by_functions),
		cmocka_unit_test(test_libc),
#if defined(__x86_64__)
		cmocka_unit_test(test_code_end),
#endif
	};

	return cmocka_run_group_tests(tests, make_cache, free_cache);
}
