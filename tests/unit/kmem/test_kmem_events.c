// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where events have their arguments, by types as the kernels since 5.10 have them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <bpf/btf.h>

#include "user/base/util.h"
#include "user/kmem/kmem_probe_events.h"

#define ALL ((1u << KERNEL_KINDS) - 1)

/* What the events' types are made of. */
struct types {
	struct btf *btf;
	int number, size, gfp, pointer, object, cache;
};

static struct types types_new(void)
{
	struct types t = {.btf = btf__new_empty()};

	assert_non_null(t.btf);
	t.number = btf__add_int(t.btf, "unsigned long", 8, 0);
	t.size = btf__add_typedef(t.btf, "size_t", t.number);
	t.gfp = btf__add_typedef(t.btf, "gfp_t", t.number);
	t.pointer = btf__add_ptr(t.btf, 0);
	t.object = btf__add_ptr(t.btf, btf__add_const(t.btf, 0));
	t.cache = btf__add_ptr(t.btf,
			       btf__add_const(t.btf, btf__add_struct(t.btf, "kmem_cache", 256)));
	return t;
}

/* `letters`, one an argument: n number, s size_t, g gfp_t, p void *, o const void *, c cache */
static void add_event(const struct types *t, const char *name, const char *letters)
{
	char event[64];
	int function = btf__add_func_proto(t->btf, 0);

	assert_true(function > 0);
	assert_int_equal(btf__add_func_param(t->btf, "", t->pointer), 0);
	for (const char *at = letters; *at; at++) {
		const int type = *at == 's'   ? t->size
				 : *at == 'g' ? t->gfp
				 : *at == 'p' ? t->pointer
				 : *at == 'o' ? t->object
				 : *at == 'c' ? t->cache
					      : t->number;

		assert_int_equal(btf__add_func_param(t->btf, "", type), 0);
	}
	snprintf(event, sizeof(event), "btf_trace_%s", name);
	assert_true(btf__add_typedef(t->btf, event, btf__add_ptr(t->btf, function)) > 0);
}

static void add_usual(const struct types *t)
{
	add_event(t, "kfree", "no");
	add_event(t, "kmem_cache_free", "noc");
	add_event(t, "mm_page_alloc", "pngn");
	add_event(t, "mm_page_free", "pn");
	add_event(t, "percpu_free_percpu", "pnp");
}

static bool has(const struct kmem_events *events, const char *name)
{
	for (size_t i = 0; i < events->count; i++) {
		if (!strcmp(events->wanted[i]->name, name))
			return true;
	}
	return false;
}

static void linux_5_10(void **state)
{
	struct types t = types_new();
	char reason[REASON_MAX];
	struct kmem_events e;

	(void)state;
	add_usual(&t);
	add_event(&t, "kmalloc", "nossg");
	add_event(&t, "kmalloc_node", "nossgn");
	add_event(&t, "kmem_cache_alloc", "nossg");
	add_event(&t, "kmem_cache_alloc_node", "nossgn");
	add_event(&t, "percpu_alloc_percpu", "nnsspnp");
	assert_int_equal(kmem_events_find_in(t.btf, ALL, &e, reason), 0);
	assert_int_equal(e.kinds, ALL & ~(1u << KERNEL_VMALLOC));
	assert_int_equal(e.places.kmalloc_bytes, 3);
	assert_int_equal(e.places.cache, 0);
	assert_int_equal(e.places.cache_bytes, 3);
	assert_int_equal(e.places.percpu_bytes, 2);
	assert_true(has(&e, "kmalloc_node") && has(&e, "kmem_cache_alloc_node"));
	assert_false(has(&e, "alloc_vmap_area"));
	assert_int_equal(e.count, 10);
	btf__free(t.btf);
}

/* The cache stands before the sizes. */
static void linux_5_19(void **state)
{
	struct types t = types_new();
	char reason[REASON_MAX];
	struct kmem_events e;

	(void)state;
	add_usual(&t);
	add_event(&t, "kmalloc", "nocssg");
	add_event(&t, "kmem_cache_alloc", "nocssg");
	add_event(&t, "percpu_alloc_percpu", "nnnsspnpsg");
	assert_int_equal(kmem_events_find_in(t.btf, ALL, &e, reason), 0);
	assert_int_equal(e.places.kmalloc_bytes, 4);
	assert_int_equal(e.places.cache, 2);
	assert_int_equal(e.places.percpu_bytes, 3);
	btf__free(t.btf);
}

static void linux_6_18(void **state)
{
	struct types t = types_new();
	char reason[REASON_MAX];
	struct kmem_events e;

	(void)state;
	add_usual(&t);
	add_event(&t, "kmalloc", "nossgn");
	add_event(&t, "kmem_cache_alloc", "nocgn");
	add_event(&t, "percpu_alloc_percpu", "nnnsspnpsg");
	add_event(&t, "alloc_vmap_area", "nnnnnn");
	add_event(&t, "free_vmap_area_noflush", "nnn");
	assert_int_equal(kmem_events_find_in(t.btf, ALL, &e, reason), 0);
	assert_int_equal(e.kinds, ALL);
	assert_int_equal(e.places.kmalloc_bytes, 3);
	assert_int_equal(e.places.cache, 2);
	assert_int_equal(e.places.cache_bytes, 0);
	assert_int_equal(e.places.percpu_bytes, 3);
	assert_int_equal(e.count, 10);
	assert_int_equal(kmem_events_find_in(t.btf, 1u << KERNEL_PAGES, &e, reason), 0);
	assert_int_equal(e.count, 2);
	btf__free(t.btf);
}

/* A kernel to come, whose events nobody here has seen. */
static void others(void **state)
{
	struct types t = types_new();
	char reason[REASON_MAX];
	struct kmem_events e;

	(void)state;
	add_event(&t, "kfree", "no");
	add_event(&t, "kmem_cache_free", "noc");
	add_event(&t, "kmalloc", "nog");
	add_event(&t, "kmem_cache_alloc", "nocgn");
	add_event(&t, "mm_page_alloc", "pngn");
	assert_int_equal(kmem_events_find_in(t.btf, ALL, &e, reason), -EOPNOTSUPP);
	assert_int_equal(e.count, 0);
	assert_int_equal(kmem_events_find_in(t.btf, 1u << KERNEL_SLAB, &e, reason), -EOPNOTSUPP);
	assert_string_equal(reason, "this kernel has no event kmem_cache_alloc as we know it");
	assert_int_equal(kmem_events_find_in(t.btf, 1u << KERNEL_PAGES, &e, reason), -EOPNOTSUPP);
	assert_string_equal(reason, "this kernel has no event mm_page_free as we know it");
	btf__free(t.btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linux_5_10),
		cmocka_unit_test(linux_5_19),
		cmocka_unit_test(linux_6_18),
		cmocka_unit_test(others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
