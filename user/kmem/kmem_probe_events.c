// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kmem/kmem_probe_events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/btf.h>

#include "user/base/util.h"

static const struct kmem_event kmem_events[] = {
	{"kmalloc", "kmem_kmalloc", KERNEL_SLAB, false, true},
	{"kmem_cache_alloc", "kmem_cache_allocated", KERNEL_SLAB, false, true},
	{"kfree", "kmem_kfree", KERNEL_SLAB, true, true},
	{"kmem_cache_free", "kmem_cache_freed", KERNEL_SLAB, true, true},
	/* Gone since 6.1. */
	{"kmalloc_node", "kmem_kmalloc", KERNEL_SLAB, false, false},
	{"kmem_cache_alloc_node", "kmem_cache_allocated", KERNEL_SLAB, false, false},
	{"mm_page_alloc", "kmem_page_alloc", KERNEL_PAGES, false, true},
	{"mm_page_free", "kmem_page_free", KERNEL_PAGES, true, true},
	{"percpu_alloc_percpu", "kmem_percpu_alloc", KERNEL_PERCPU, false, true},
	{"percpu_free_percpu", "kmem_percpu_free", KERNEL_PERCPU, true, true},
	/* Since 6.2. */
	{"alloc_vmap_area", "kmem_area_alloc", KERNEL_VMALLOC, false, true},
	{"free_vmap_area_noflush", "kmem_area_free", KERNEL_VMALLOC, true, true},
};
_Static_assert(ARRAY_SIZE(kmem_events) == KMEM_EVENTS, "struct kmem_events has room for all");

#define KMEM_EVENT_ARGUMENTS 12 /* more has no event of these */

struct kmem_event_arguments {
	char types[KMEM_EVENT_ARGUMENTS][32]; /* "size_t"; "*kmem_cache" of a pointer to that */
	unsigned count;
};

/* In C's words, without const; "" of what has no name. */
static void kmem_event_type(const struct btf *btf, uint32_t id, char out[static 32])
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	const char *pointer = "";

	while (type && (btf_is_const(type) || btf_is_volatile(type) || btf_is_ptr(type))) {
		if (btf_is_ptr(type))
			pointer = "*";
		type = btf__type_by_id(btf, type->type);
	}
	snprintf(out, 32, "%s%s", pointer, type ? btf__name_by_offset(btf, type->name_off) : "");
}

/* Of an event, without the one that the kernel puts before them. false: there is no such event. */
static bool kmem_event_read(const struct btf *btf, const char *event,
			    struct kmem_event_arguments *out)
{
	char name[64];
	const struct btf_type *type;
	int id;

	out->count = 0;
	snprintf(name, sizeof(name), "btf_trace_%s", event);
	id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	type = type ? btf__type_by_id(btf, type->type) : NULL;
	type = type && btf_is_ptr(type) ? btf__type_by_id(btf, type->type) : NULL;
	if (!type || !btf_is_func_proto(type))
		return false;
	for (unsigned i = 1; i < btf_vlen(type) && out->count < KMEM_EVENT_ARGUMENTS; i++)
		kmem_event_type(btf, btf_params(type)[i].type, out->types[out->count++]);
	return true;
}

/* The place of the n-th argument of this type, from 1; 0: there is none. */
static uint8_t kmem_event_place(const struct kmem_event_arguments *arguments, const char *type,
				unsigned n)
{
	for (unsigned i = 1; i < arguments->count; i++) {
		if (!strcmp(arguments->types[i], type) && !--n)
			return (uint8_t)i;
	}
	return 0;
}

/* Bytes are a size_t: what was asked for comes first, what was given second. */
static void kmem_events_place(const struct btf *btf, struct kmem_places *places)
{
	struct kmem_event_arguments arguments;

	if (kmem_event_read(btf, "kmalloc", &arguments))
		places->kmalloc_bytes = kmem_event_place(&arguments, "size_t", 2);
	if (kmem_event_read(btf, "kmem_cache_alloc", &arguments)) {
		places->cache = kmem_event_place(&arguments, "*kmem_cache", 1);
		places->cache_bytes = kmem_event_place(&arguments, "size_t", 2);
	}
	if (kmem_event_read(btf, "percpu_alloc_percpu", &arguments))
		places->percpu_bytes = kmem_event_place(&arguments, "size_t", 1);
}

/* Have the arguments the places that the programs know? */
static bool kmem_events_known(const struct kmem_places *p, enum kernel_kind kind)
{
	if (kind == KERNEL_SLAB)
		return (p->kmalloc_bytes == 3 || p->kmalloc_bytes == 4) &&
		       (p->cache == 2 || p->cache_bytes == 3 || p->cache_bytes == 4);
	return kind != KERNEL_PERCPU || p->percpu_bytes == 2 || p->percpu_bytes == 3;
}

int kmem_events_find_in(const struct btf *btf, unsigned kinds, struct kmem_events *out,
			char reason[static REASON_MAX])
{
	struct kmem_event_arguments arguments;
	const char *lacking = "";

	*out = (struct kmem_events){0};
	kmem_events_place(btf, &out->places);
	for (unsigned kind = 0; kind < KERNEL_KINDS; kind++) {
		bool all = kmem_events_known(&out->places, kind);

		if (!(kinds & 1u << kind))
			continue;
		if (!all)
			lacking = kind == KERNEL_SLAB ? "kmem_cache_alloc" : "percpu_alloc_percpu";
		for (size_t i = 0; i < KMEM_EVENTS; i++) {
			if (kmem_events[i].kind != kind || !kmem_events[i].needed ||
			    kmem_event_read(btf, kmem_events[i].name, &arguments))
				continue;
			all = false;
			lacking = kmem_events[i].name;
		}
		out->kinds |= all ? 1u << kind : 0;
	}
	for (size_t i = 0; i < KMEM_EVENTS; i++) {
		const struct kmem_event *event = &kmem_events[i];

		if ((out->kinds & 1u << event->kind) &&
		    kmem_event_read(btf, event->name, &arguments))
			out->wanted[out->count++] = event;
	}
	if (out->kinds)
		return 0;
	return refuse(reason, -EOPNOTSUPP, "this kernel has no event %s as we know it", lacking);
}

int kmem_events_find(unsigned kinds, struct kmem_events *out, char reason[static REASON_MAX])
{
	struct btf *btf = btf__load_vmlinux_btf();
	int err;

	if (!btf)
		return refuse(reason, -errno, "the kernel's types (BTF): %s", strerror(errno));
	err = kmem_events_find_in(btf, kinds, out, reason);
	btf__free(btf);
	return err;
}
