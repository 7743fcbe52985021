// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/probe/probe.h"
#include "user/probe/returns.h"
#include "user/process/object.h"
#include "user/target/unwinder.h"

#define BASE 0x1000

/* Code at BASE, made of functions that lie behind one another. */
struct sample {
	const char *label;
	const char *code;
	size_t size;
	uint64_t second; /* where the second function begins; 0: there is one only */
	size_t count;
	uint64_t sites[4];
	const char *reason; /* part of it; NULL: the sites are known */
};
#define CODE(bytes) bytes, sizeof(bytes) - 1
#define PROBED_FN   0x9000 /* a jump there: into a function with a return probe */

static size_t read_sample(void *ctx, uint64_t vaddr, uint8_t *code, size_t size)
{
	const struct sample *s = ctx;
	size_t left;

	if (vaddr < BASE || vaddr - BASE >= s->size)
		return 0;
	left = s->size - (vaddr - BASE);
	if (size > left)
		size = left;
	memcpy(code, s->code + (vaddr - BASE), size);
	return size;
}

static uint64_t end_of(void *ctx, uint64_t vaddr)
{
	const struct sample *s = ctx;

	if (s->second && vaddr - BASE < s->second)
		return BASE + s->second;
	return BASE + s->size;
}

static enum returns_target jump_to(void *ctx, uint64_t *vaddr)
{
	const struct sample *s = ctx;

	if (*vaddr == PROBED_FN)
		return RETURNS_PROBED;
	return *vaddr >= BASE && *vaddr - BASE < s->size ? RETURNS_CODE : RETURNS_UNKNOWN;
}

/* The only pointer is at 0x2000, to the second function. */
static enum returns_target jump_through(void *ctx, uint64_t *vaddr)
{
	const struct sample *s = ctx;

	if (*vaddr != 0x2000)
		return RETURNS_UNKNOWN;
	*vaddr = BASE + s->second;
	return RETURNS_CODE;
}

static const struct sample x86_64[] = {
	{"ret", CODE("\xc3"), .count = 1, .sites = {0}},
	{"rep ret", CODE("\xf3\xc3"), .count = 1, .sites = {0}},
	{"bnd ret", CODE("\xf2\xc3"), .count = 1, .sites = {0}},
	{"ret $8", CODE("\xc2\x08\x00"), .count = 1, .sites = {0}},
	{"far return", CODE("\xcb"), .reason = "cannot be probed"},
	/* test; je 1f; ret; 1: xor; ret */
	{"both ways", CODE("\x48\x85\xff\x74\x01\xc3\x31\xc0\xc3"), .count = 2, .sites = {5, 8}},
	{"a loop", CODE("\x48\xff\xcf\x75\xfb\xc3"), .count = 1, .sites = {5}},
	{"loop instruction", CODE("\xe2\x01\xc3\xc3"), .count = 2, .sites = {2, 3}},
	/* push; call; pop; ret: what is called is not looked at */
	{"a call", CODE("\x53\xe8\x00\x40\x00\x00\x5b\xc3"), .count = 1, .sites = {7}},
	{"c3 within an instruction", CODE("\xb8\xc3\xc3\xc3\xc3\xc3"), .count = 1, .sites = {5}},
	{"tail call", CODE("\xeb\x02\xc3\xcc\x90\xc3"), .second = 4, .count = 1, .sites = {5}},
	{"conditional tail call", CODE("\x74\x02\xc3\xcc\xc3"), .second = 4, .count = 2,
	 .sites = {2, 4}},
	{"tail call of a probed function", CODE("\xe9\xfb\x7f\x00\x00"), .count = 0},
	{"tail call of nobody knows what", CODE("\xe9\xfb\x6f\x00\x00"),
	 .reason = "another object"},
	{"through the GOT", CODE("\xff\x25\xfa\x0f\x00\x00\xc3"), .second = 6, .count = 1,
	 .sites = {6}},
	{"through a GOT slot that is another's", CODE("\xff\x25\xf2\x0f\x00\x00"),
	 .reason = "another object"},
	{"jump table", CODE("\xff\x24\xc5\x00\x00\x00\x00\xc3"), .reason = "table"},
	{"notrack jump", CODE("\x3e\xff\xe0\xc3"), .reason = "table"},
	{"ud2", CODE("\x74\x01\xc3\x0f\x0b\xc3"), .count = 1, .sites = {2}},
	/* je 1f; ret; 1: call; nop padding; the next function is none of ours */
	{"a call that does not return", CODE("\x74\x01\xc3\xe8\x00\x40\x00\x00\x66\x90\xc3"),
	 .second = 10, .count = 1, .sites = {2}},
	{"undecodable behind such a call", CODE("\x74\x01\xc3\xe8\x00\x40\x00\x00\x06\x06\xc3"),
	 .count = 1, .sites = {2}},
	{"undecodable", CODE("\x31\xc0\x06\xc3"), .reason = "decoded"},
	{"runs on", CODE("\x31\xc0\xc3"), .second = 2, .reason = "runs on"},
	{"ends in the middle", CODE("\x31\xc0"), .reason = "runs on"},
	{"cut off", CODE("\xb8\xc3\xc3"), .reason = "decoded"},
	/* je into the immediate of mov: c3 there is executed too */
	{"overlapping code", CODE("\x74\x01\xb8\xc3\xc3\xc3\xc3\xc3"), .reason = "overlaps"},
};

static const struct sample aarch64[] = {
	{"ret", CODE("\xc0\x03\x5f\xd6"), .count = 1, .sites = {0}},
	{"ret x1", CODE("\x20\x00\x5f\xd6"), .count = 1, .sites = {0}},
	{"retaa", CODE("\xff\x0b\x5f\xd6"), .reason = "cannot be probed"},
	{"cbz",
	 CODE("\x40\x00\x00\xb4"
	      "\xc0\x03\x5f\xd6"
	      "\xc0\x03\x5f\xd6"),
	 .count = 2, .sites = {4, 8}},
	{"tbz",
	 CODE("\x40\x00\x00\x36"
	      "\xc0\x03\x5f\xd6"
	      "\xc0\x03\x5f\xd6"),
	 .count = 2, .sites = {4, 8}},
	{"b.eq back",
	 CODE("\x1f\x20\x03\xd5"
	      "\xe0\xff\xff\x54"
	      "\xc0\x03\x5f\xd6"),
	 .count = 1, .sites = {8}},
	{"b",
	 CODE("\x02\x00\x00\x14"
	      "\x00\x00\x20\xd4"
	      "\xc0\x03\x5f\xd6"),
	 .second = 8, .count = 1, .sites = {8}},
	{"bl and brk",
	 CODE("\x00\x10\x00\x94"
	      "\x00\x00\x20\xd4"),
	 .count = 0},
	{"blr",
	 CODE("\x20\x00\x3f\xd6"
	      "\xc0\x03\x5f\xd6"),
	 .count = 1, .sites = {4}},
	{"br", CODE("\x20\x00\x1f\xd6"), .reason = "table"},
	{"udf", CODE("\x00\x00\x00\x00"), .count = 0},
	{"cut off", CODE("\xc0\x03"), .reason = "decoded"},
};

static void check(const struct sample *s,
		  int (*find)(const struct returns_source *, uint64_t, struct returns *))
{
	const struct returns_source source = {.read = read_sample,
					      .end = end_of,
					      .jump = jump_to,
					      .jump_through = jump_through,
					      .ctx = (void *)s};
	struct returns returns;
	int err = find(&source, BASE, &returns);

	if (!err != !s->reason || returns.count != s->count)
		print_error("%s: %zu sites, %s\n", s->label, returns.count,
			    err ? returns.reason : "known");
	if (s->reason) {
		assert_int_equal(err, -ENOTSUP);
		assert_non_null(strstr(returns.reason, s->reason));
		assert_int_equal(returns.count, 0);
		return;
	}
	assert_int_equal(err, 0);
	assert_int_equal(returns.count, s->count);
	for (size_t i = 0; i < s->count; i++)
		assert_int_equal(returns.sites[i], BASE + s->sites[i]);
}

static void test_x86_64(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(x86_64); i++)
		check(&x86_64[i], returns_find_x86_64);
}

static void test_aarch64(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(aarch64); i++)
		check(&aarch64[i], returns_find_aarch64);
}

static void test_bounds(void **state)
{
	static char code[20000];
	struct sample s = {.label = "straight on for ever",
			   .code = code,
			   .size = sizeof(code),
			   .reason = "too much code"};

	(void)state;
	memset(code, 0x50, sizeof(code)); /* push %rax */
	check(&s, returns_find_x86_64);
	memset(code, 0xc3, sizeof(code));
	for (size_t i = 0; i + 3 < 3 * (RETURNS_MAX + 1); i += 3)
		memcpy(code + i, "\x74\x01\xc3", 3);
	s.label = "too many";
	s.reason = "too many returns";
	check(&s, returns_find_x86_64);
}

#if defined(__x86_64__)
#define LIB "/usr/lib/x86_64-linux-gnu/"

static struct object *open_object(struct object_cache *cache, const char *path)
{
	struct object *object = NULL;

	return access(path, R_OK) || object_cache_open(cache, path, &object) ? NULL : object;
}

/* Every site is a ret; each operator new has one at least, and no return probe. */
static void check_library(struct object_cache *cache, const char *path, const char *cxx_fn)
{
	struct object *object = open_object(cache, path);
	static const struct provider_options options = {0};
	struct provider *provider;
	struct probe_set *set;
	bool found = false;

	if (!object) {
		print_message("%s: not installed\n", path);
		return;
	}
	assert_int_equal(provider_find(object, &options, &provider), 0);
	assert_int_equal(probe_set_new(provider, &set), 0);
	assert_int_equal(set->unprobed_count, 0);
	for (size_t i = 0; i < set->count; i++) {
		const struct probe *p = &set->probes[i];
		uint8_t byte = 0;

		if (p->role == PROBE_RETURN_SITE) {
			assert_int_equal(pread(object_fd(object), &byte, 1, (off_t)p->offset), 1);
			assert_int_equal(byte, 0xc3);
			assert_null(probe_set_name_at(set, p->offset));
		} else if (p->fn->fn->throws) {
			assert_int_equal(p->role, PROBE_ALLOC_ENTRY);
			assert_in_range(p->site_count, 1, 16);
			assert_string_equal(probe_set_name_at(set, p->offset), p->fn->name);
			found |= !strcmp(p->fn->fn->name, cxx_fn);
		} else {
			assert_int_equal(p->site_count, 0);
		}
	}
	assert_true(found);
	assert_true(set->site_count > 0);
	probe_set_free(set);
	object_unref(object);
}

static void test_libraries(void **state)
{
	struct object_cache *cache = object_cache_new();

	(void)state;
	assert_non_null(cache);
	check_library(cache, LIB "libjemalloc.so.2", "_Znwm");
	check_library(cache, LIB "libtcmalloc_minimal.so.4", "_Znwm");
	check_library(cache, LIB "libmimalloc.so.2", "_Znwm");
	object_cache_free(cache);
}

static void test_unwinders(void **state)
{
	struct object_cache *cache = object_cache_new();
	struct object *object = cache ? open_object(cache, LIB "libgcc_s.so.1") : NULL;
	struct provider *provider;
	size_t raises = 0;

	(void)state;
	if (!object) {
		object_cache_free(cache);
		skip();
	}
	assert_int_equal(unwinder_find(object, &provider), 0);
	for (size_t i = 0; i < provider->count; i++) {
		assert_int_equal(provider->fns[i].fn->op, OP_UNWIND);
		raises += !strcmp(provider->fns[i].name, "_Unwind_RaiseException");
	}
	assert_int_equal(raises, 1);
	provider_free(provider);
	object_unref(object);
	object_cache_free(cache);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_x86_64),
		cmocka_unit_test(test_aarch64),
		cmocka_unit_test(test_bounds),
#if defined(__x86_64__)
		cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_unwinders),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
