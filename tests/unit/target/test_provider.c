// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <sys/mman.h>

#include "tests/unit/target/cached.h"
#include "tests/unit/test_proc_child.h"
#include "user/target/provider.h"

#define LIB "/usr/lib/x86_64-linux-gnu/"

static const char source[] =
	"#include <stddef.h>\n"
	"static char heap[4096]; static size_t used;\n"
	"void *PREFIX(malloc)(size_t n) { used += n; return heap + used - n; }\n"
	"void *PREFIX(calloc)(size_t n, size_t m) { used += n * m; return heap + used - n * m; }\n"
	"void PREFIX(free)(void *p) { if (p) used--; }\n";

static int try_find(const char *path, const struct provider_options *options, struct provider **out)
{
	static const struct provider_options defaults;
	struct object *object;
	int err;

	assert_int_equal(object_cache_open(cache, path, &object), 0);
	err = provider_find(object, options ?: &defaults, out);
	object_unref(object);
	return err;
}

static struct provider *find(const char *path, const struct provider_options *options)
{
	struct provider *provider = NULL;

	assert_int_equal(try_find(path, options, &provider), 0);
	for (size_t i = 0; i < provider->count; i++) {
		if (i)
			assert_true(provider->fns[i - 1].offset < provider->fns[i].offset);
		assert_true(object_is_code(provider->object, provider->fns[i].offset));
	}
	return provider;
}

static const struct provider_fn *fn(const struct provider *provider, const char *name)
{
	for (size_t i = 0; i < provider->count; i++) {
		if (!strcmp(provider->fns[i].name, name))
			return &provider->fns[i];
	}
	return NULL;
}

static void check_names(const struct provider *provider, ...)
{
	const char *name;
	va_list args;

	va_start(args, provider);
	while ((name = va_arg(args, const char *)) != NULL) {
		if (!fn(provider, name))
			fail_msg("%s: no %s", object_name(provider->object), name);
	}
	va_end(args);
}

/* The dynamic linker is the reference for where libc's functions are. */
static void test_own_libc(void **state)
{
	static const char *const names[] = {"malloc",	      "free",	       "calloc", "realloc",
					    "posix_memalign", "aligned_alloc", "mmap",	 "munmap",
					    "mremap",	      "reallocarray",  "valloc", "pvalloc"};
	struct provider_options options = {.mmap = true};
	struct provider *provider;
	struct link_map *map;
	Dl_info info;
	void *libc;

	(void)state;
	assert_true(dladdr1((void *)(uintptr_t)&gnu_get_libc_version, &info, (void **)&map,
			    RTLD_DL_LINKMAP));
	/* libc's own ones, also where a sanitizer's come first. */
	libc = dlopen(map->l_name, RTLD_NOW | RTLD_NOLOAD);
	assert_non_null(libc);
	provider = find(map->l_name, &options);
	assert_false(provider->from_symtab);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct provider_fn *f = fn(provider, names[i]);
		uint64_t vaddr;

		assert_non_null(f);
		assert_int_equal(object_offset_to_vaddr(provider->object, f->offset, &vaddr), 0);
		assert_ptr_equal((void *)(uintptr_t)(map->l_addr + vaddr), dlsym(libc, names[i]));
		assert_true(f->size > 0);
	}
	/* Other names of the same places. */
	assert_null(fn(provider, "cfree"));
	assert_null(fn(provider, "memalign"));
	assert_null(fn(provider, "mmap64"));
	provider_free(provider);
	provider = find(map->l_name, NULL);
	assert_null(fn(provider, "mmap"));
	assert_int_equal(provider->count, 9);
	provider_free(provider);
	dlclose(libc);
}

static void test_no_providers(void **state)
{
	static const char *const paths[] = {"/lib64/ld-linux-x86-64.so.2", LIB "libm.so.6",
					    LIB "libstdc++.so.6", "/proc/self/exe", "/bin/cat"};
	struct provider *provider;
	size_t tried = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (access(paths[i], R_OK))
			continue;
		assert_int_equal(try_find(paths[i], NULL, &provider), -ENOENT);
		tried++;
	}
	assert_true(tried >= 2);
}

static void test_jemalloc(void **state)
{
	struct provider *provider;

	(void)state;
	need_file(LIB "libjemalloc.so.2");
	provider = find(LIB "libjemalloc.so.2", NULL);
	check_names(provider, "malloc", "free", "calloc", "realloc", "posix_memalign",
		    "aligned_alloc", "memalign", "mallocx", "rallocx", "dallocx", "sdallocx",
		    "operator new(unsigned long)", "operator delete(void*, unsigned long)", NULL);
#ifdef __x86_64__
	/* Jumps to free, which carries a probe: one block would be freed twice. */
	assert_null(fn(provider, "operator delete(void*)"));
	assert_null(fn(provider, "operator delete[](void*)"));
	assert_null(fn(provider, "operator delete(void*, unsigned long, std::align_val_t)"));
#endif
	provider_free(provider);
}

static void test_tcmalloc(void **state)
{
	struct provider_options options = {.prefixes = (const char *const[]){"tc_", NULL}};
	struct provider *provider;
	size_t plain;

	(void)state;
	need_file(LIB "libtcmalloc_minimal.so.4");
	provider = find(LIB "libtcmalloc_minimal.so.4", NULL);
	check_names(provider, "malloc", "free", "calloc", "realloc", "posix_memalign",
		    "operator new(unsigned long)", "operator delete(void*, unsigned long)", NULL);
	/* free, cfree and delete are one place. */
	assert_null(fn(provider, "operator delete(void*)"));
	plain = provider->count;
	provider_free(provider);
	/* Its tc_ names are the same places again. */
	provider = find(LIB "libtcmalloc_minimal.so.4", &options);
	assert_int_equal(provider->count, plain);
	assert_null(fn(provider, "tc_malloc"));
	provider_free(provider);
}

static void test_mimalloc(void **state)
{
	struct provider_options options = {.prefixes = (const char *const[]){"mi_", NULL}};
	struct provider *provider;

	(void)state;
	need_file(LIB "libmimalloc.so.2.0");
	provider = find(LIB "libmimalloc.so.2.0", NULL);
	check_names(provider, "malloc", "free", "calloc", "realloc", "mi_zalloc",
		    "operator new(unsigned long)", NULL);
	assert_null(fn(provider, "mi_valloc"));
	provider_free(provider);
	provider = find(LIB "libmimalloc.so.2.0", &options);
	check_names(provider, "malloc", "free", "mi_posix_memalign", "mi_aligned_alloc", NULL);
	assert_null(fn(provider, "mi_malloc"));
	provider_free(provider);
}

static void test_musl(void **state)
{
	struct provider *provider;

	(void)state;
	/* Its libc is its dynamic loader. */
	need_file("/lib/ld-musl-x86_64.so.1");
	provider = find("/lib/ld-musl-x86_64.so.1", NULL);
	check_names(provider, "malloc", "free", "calloc", "realloc", "aligned_alloc",
		    "posix_memalign", NULL);
	assert_false(provider->from_symtab);
	provider_free(provider);
}

/* Builds PROGRAM with the compiler command and looks at it. The directory is removed. */
static int find_built(const char *compiler, const char *program,
		      const struct provider_options *options, struct provider **provider)
{
	char directory[32], path[64];
	FILE *file;
	int err;

	make_directory(directory);
	snprintf(path, sizeof(path), "%s/a.c", directory);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(program, file) >= 0);
	assert_int_equal(fclose(file), 0);
	run_tool("%s -o %s/a %s", compiler, directory, path);
	snprintf(path, sizeof(path), "%s/a", directory);
	err = try_find(path, options, provider);
	run_tool("rm -r %s", directory);
	return err;
}

static const char user_program[] =
	"#include <stdlib.h>\nint main(void) { free(malloc(3)); return 0; }\n";

static void test_static_programs(void **state)
{
	static const char *const compilers[] = {"gcc -static", "gcc -static-pie",
						"musl-gcc -static"};
	struct provider *provider;
	size_t tried = 0;

	(void)state;
	need_tool("gcc");
	for (size_t i = 0; i < 3; i++) {
		if (i == 2 && system("command -v musl-gcc >/dev/null")) {
			print_message(
				"musl-gcc is not installed: its static programs are not tried\n");
			continue;
		}
		assert_int_equal(find_built(compilers[i], user_program, NULL, &provider), 0);
		assert_true(provider->from_symtab);
		check_names(provider, "malloc", "free", NULL);
		/* malloc, not one of its other names such as __libc_malloc */
		assert_null(fn(provider, "__libc_malloc"));
		provider_free(provider);
		tried++;
	}
	assert_true(tried >= 2);
	/* Without a symbol table there is nothing to find; and a dynamic program only imports. */
	assert_int_equal(find_built("gcc -static -s", user_program, NULL, &provider), -ENOENT);
	assert_int_equal(find_built("gcc", user_program, NULL, &provider), -ENOENT);
}

static char *program_with(const char *prefix, const char *rest)
{
	static char text[4096];

	snprintf(text, sizeof(text), "#define PREFIX(name) %s%sname\n%s%s", prefix,
		 *prefix ? "##" : "", source, rest);
	return text;
}

static void test_own_malloc(void **state)
{
	struct provider *provider;

	(void)state;
	need_tool("gcc");
	/* A program that defines malloc exports it, because libc.so does too. */
	assert_int_equal(find_built("gcc -fno-builtin",
				    program_with("", "int main(void) { return 0; }"), NULL,
				    &provider),
			 0);
	check_names(provider, "malloc", "calloc", "free", NULL);
	assert_false(provider->from_symtab);
	assert_int_equal(provider->count, 3);
	provider_free(provider);
	/* Half an allocator is none. */
	assert_int_equal(find_built("gcc -shared -fPIC",
				    "void *malloc(unsigned long n) { return (void *)n; }\n", NULL,
				    &provider),
			 -ENOENT);
	/* An indirect function is not the code that runs. */
	assert_int_equal(find_built("gcc -shared -fPIC",
				    "static void f(void *p) { (void)p; }\n"
				    "static void *pick(void) { return f; }\n"
				    "void free(void *) __attribute__((ifunc(\"pick\")));\n"
				    "void *malloc(unsigned long n) { return (void *)n; }\n",
				    NULL, &provider),
			 -ENOENT);
	/* A private function of a dynamic program that happens to be called so. */
	assert_int_equal(find_built("gcc -fno-builtin -O0",
				    "static void *malloc(long n) { return (void *)n; }\n"
				    "static void free(void *p) { (void)p; }\n"
				    "int main(void) { free(malloc(1)); return 0; }\n",
				    NULL, &provider),
			 -ENOENT);
}

static void test_prefix(void **state)
{
	struct provider_options options = {.prefixes =
						   (const char *const[]){"zz_", "my_pool_", NULL}};
	const char *program = program_with("my_pool_", "int main(void) { return 0; }");
	struct provider *provider;

	(void)state;
	need_tool("gcc");
	assert_int_equal(find_built("gcc", program, NULL, &provider), -ENOENT);
	assert_int_equal(find_built("gcc", program, &options, &provider), 0);
	check_names(provider, "my_pool_malloc", "my_pool_calloc", "my_pool_free", NULL);
	assert_true(provider->from_symtab);
	assert_int_equal(provider->count, 3);
	assert_int_equal(fn(provider, "my_pool_calloc")->fn->op, OP_ALLOC);
	assert_int_equal(fn(provider, "my_pool_calloc")->fn->count_arg, 1);
	provider_free(provider);
}

static void test_custom(void **state)
{
	struct alloc_fn custom[2];
	struct provider_options options = {.custom = custom, .custom_count = 2};
	struct provider *provider;
	const char *program =
		"__attribute__((noinline)) static char *pool_get(int kind, long n)\n"
		"{ return (char *)n + kind; }\n"
		"int main(int c, char **v) { (void)v; return pool_get(c, c) != 0; }\n";

	(void)state;
	need_tool("gcc");
	assert_int_equal(alloc_fn_parse_alloc("pool_get:2", &custom[0]), 0);
	assert_int_equal(alloc_fn_parse_free("pool_put:1", &custom[1]), 0);
	assert_int_equal(find_built("gcc -O0", program, NULL, &provider), -ENOENT);
	/* A private function will do, and so will one kind alone. */
	assert_int_equal(find_built("gcc -O0", program, &options, &provider), 0);
	assert_int_equal(provider->count, 1);
	assert_string_equal(provider->fns[0].name, "pool_get");
	assert_ptr_equal(provider->fns[0].fn, &custom[0]);
	provider_free(provider);
	alloc_fn_release(&custom[0]);
	alloc_fn_release(&custom[1]);
}

/* The user's word about a name goes before the table's, and wrappers of the user's stay. */
static void test_custom_wrapper(void **state)
{
	struct alloc_fn custom[2];
	struct provider_options options = {.custom = custom, .custom_count = 2};
	struct provider *provider;
	char *program = program_with("", "void pool_put(void *p) { free(p); }\n"
					 "void cfree(void *p) { free(p); }\n");

	(void)state;
	need_tool("gcc");
	assert_int_equal(alloc_fn_parse_alloc("malloc:3", &custom[0]), 0);
	assert_int_equal(alloc_fn_parse_free("pool_put:1", &custom[1]), 0);
	assert_int_equal(
		find_built("gcc -O2 -shared -fPIC -fno-builtin", program, &options, &provider), 0);
	check_names(provider, "malloc", "calloc", "free", "pool_put", NULL);
	assert_ptr_equal(fn(provider, "malloc")->fn, &custom[0]);
	/* cfree has the same code as pool_put, a jump to free through the PLT, and goes. */
	assert_null(fn(provider, "cfree"));
	provider_free(provider);
	alloc_fn_release(&custom[0]);
	alloc_fn_release(&custom[1]);
}

static void test_object_option(void **state)
{
	struct provider_options options = {.object = "libc.so*"};
	struct provider *provider;
	Dl_info info;

	(void)state;
	assert_true(dladdr((void *)(uintptr_t)&gnu_get_libc_version, &info));
	provider = find(info.dli_fname, &options);
	provider_free(provider);
	options.object = info.dli_fname;
	provider = find(info.dli_fname, &options);
	provider_free(provider);
	options.object = "libother.so";
	assert_int_equal(try_find(info.dli_fname, &options, &provider), -ENOENT);
}

/* Every library of the system can be looked at, and damaged ones do no harm. */
static void test_damaged_symbols(void **state)
{
	static char bytes[2 << 20];
	Dl_info info;
	ssize_t size;
	unsigned seed = 3;
	int fd, found = 0;

	(void)state;
	assert_true(dladdr((void *)(uintptr_t)&gnu_get_libc_version, &info));
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	size = read(fd, bytes, sizeof(bytes));
	close(fd);
	assert_true(size > 100000);
	for (int i = 0; i < 150; i++) {
		struct provider *provider;
		struct object *object;
		char path[32];
		int copy = memfd_create("damaged", MFD_CLOEXEC);

		/*
		 * Headers, dynamic symbols and strings are at the front, section headers at the
		 * end.
		 */
		for (int n = 0; n < 200; n++)
			bytes[(unsigned)rand_r(&seed) % 100000] ^=
				(char)(1 << (unsigned)rand_r(&seed) % 8);
		bytes[size - 1 - rand_r(&seed) % 4096] ^= (char)(1 << (unsigned)rand_r(&seed) % 8);
		memcpy(bytes, ELFMAG "\2\1\1", 7);
		assert_int_equal(write(copy, bytes, (size_t)size), size);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
		if (!object_cache_open(cache, path, &object)) {
			if (!provider_find(object, &(struct provider_options){.mmap = true},
					   &provider)) {
				found++;
				provider_free(provider);
			}
			object_unref(object);
		}
		close(copy);
	}
	assert_true(found > 0 && found < 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_libc),	cmocka_unit_test(test_no_providers),
		cmocka_unit_test(test_jemalloc),	cmocka_unit_test(test_tcmalloc),
		cmocka_unit_test(test_mimalloc),	cmocka_unit_test(test_musl),
		cmocka_unit_test(test_static_programs), cmocka_unit_test(test_own_malloc),
		cmocka_unit_test(test_prefix),		cmocka_unit_test(test_custom),
		cmocka_unit_test(test_custom_wrapper),	cmocka_unit_test(test_object_option),
		cmocka_unit_test(test_damaged_symbols),
	};

	return cmocka_run_group_tests(tests, make_cache, free_cache);
}
