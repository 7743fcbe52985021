// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/patch/gated_functions.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/gate/leads.h"
#include "user/gate/pairs.h"
#include "user/gate/stub_layout.h"
#include "user/patch/guarded.h"
#include "user/patch/patches_internal.h"
#include "user/probe/probe.h"
#include "user/target/wrapper.h"

/* ---- what kind of function it is ---------------------------------------------------------- */

static int gated_kind(const struct alloc_fn *fn)
{
	/* A user's own function is no operator new, and malloc cannot take its place. */
	if (fn->throws && !fn->cxx)
		return -1;
	switch (fn->op) {
	case OP_ALLOC:
		if (fn->throws)
			return strstr(fn->name, "St11align_val_t") ? GATE_KIND_NEW_ALIGNED
								   : GATE_KIND_NEW;
		if (fn->count_arg)
			return fn->count_arg + fn->size_arg == 3 ? GATE_KIND_CALLOC : -1;
		return fn->size_arg == 1   ? GATE_KIND_SIZE_1
		       : fn->size_arg == 2 ? GATE_KIND_SIZE_2
					   : -1;
	case OP_ALLOC_OUT:
		return fn->ptr_arg == 1 && fn->size_arg == 3 ? GATE_KIND_POSIX : -1;
	case OP_REALLOC:
		if (fn->count_arg)
			return fn->ptr_arg == 1 && fn->count_arg == 2 && fn->size_arg == 3
				       ? GATE_KIND_REALLOC_ARRAY
				       : -1;
		return fn->ptr_arg == 1 && fn->size_arg == 2 ? GATE_KIND_REALLOC : -1;
	case OP_FREE:
		return fn->ptr_arg == 1 ? GATE_KIND_FREE : -1;
	default:
		return -1;
	}
}

/* How many arguments the standard, or the ABI, gives a function of the kind at most. */
static uint32_t gated_arguments(const struct alloc_fn *fn, int kind)
{
	switch (kind) {
	case GATE_KIND_SIZE_1:
	case GATE_KIND_FREE:
		return fn->cxx ? 3 : 1;
	case GATE_KIND_POSIX:
		return 3;
	default:
		return fn->cxx ? 3 : 2;
	}
}

/* ---- where they begin, and what they call -------------------------------------------------- */

static bool gated_allocates(uint32_t kind)
{
	return kind != GATE_KIND_FREE;
}

/* What leads_calls() is to look for: the beginnings of the allocating ones. */
static int gated_find_callers(const struct leads_object *object, struct gated_functions *out,
			      char reason[static REASON_MAX])
{
	_cleanup_free_ uint64_t *entries = calloc(out->count + 1, sizeof(*entries));
	size_t count = 0;

	if (!entries)
		return refuse(reason, -ENOMEM, "no memory");
	for (size_t i = 0; i < out->count; i++) {
		if (gated_allocates(out->items[i].kind))
			entries[count++] = out->items[i].address;
	}
	for (size_t i = 0; i < out->count; i++) {
		struct gate_wanted *wanted = &out->items[i];

		if (gated_allocates(wanted->kind) && !wanted->calls_others)
			wanted->calls_others = leads_calls(object, wanted->address, entries, count);
	}
	return 0;
}

/*
 * Callers in the same executable may have been compiled with knowledge of the function. A library's
 * own calls go through the ABI.
 */
static int gated_check_callers(const struct leads_object *leads, const struct object *object,
			       const struct gated_functions *out, char reason[static REASON_MAX])
{
	if (!object_has_interp(object) && object_elf_type(object) == ET_DYN)
		return 0;
	for (size_t i = 0; i < out->count; i++) {
		if (!leads_writes_all(leads, out->items[i].address))
			return refuse(reason, -EOPNOTSUPP,
				      "%s: its callers may rely on a register that it leaves alone",
				      out->items[i].name);
	}
	return 0;
}

/* Which functions the throwing ones' blocks are taken from: struct gate_function of stub.h. */
static int gated_find_instead(struct gated_functions *out, char reason[static REASON_MAX])
{
	static const char *const plain[] = {"malloc"}, *const aligned[] = {"memalign",
									   "aligned_alloc"};
	struct gate_wanted *functions = out->items;
	size_t count = out->count;

	for (size_t i = 0; i < count; i++) {
		bool is_aligned = functions[i].kind == GATE_KIND_NEW_ALIGNED;
		const char *const *names = is_aligned ? aligned : plain;
		size_t names_count = is_aligned ? ARRAY_SIZE(aligned) : ARRAY_SIZE(plain);
		bool found = false;

		if (functions[i].kind != GATE_KIND_NEW && !is_aligned)
			continue;
		for (size_t n = 0; n < names_count && !found; n++) {
			for (size_t j = 0; j < count && !found; j++) {
				found = !strcmp(functions[j].name, names[n]);
				functions[i].instead = j;
			}
		}
		if (!found)
			return refuse(reason, -EOPNOTSUPP, "it has %s and no %s", functions[i].name,
				      names[0]);
	}
	return 0;
}

/* malloc's blocks must be good enough for operator delete. */
static int gated_check_pairs(const struct object *object, const struct gated_functions *out,
			     char reason[static REASON_MAX])
{
	for (size_t i = 0; i < out->count; i++) {
		uint32_t kind = out->items[i].kind;

		if (kind != GATE_KIND_NEW && kind != GATE_KIND_NEW_ALIGNED)
			continue;
		if (!gate_pairs_checked(object_fd(object)))
			return 0;
		return refuse(reason, -EOPNOTSUPP,
			      "%s remembers by which function each block was made",
			      object_name(object));
	}
	return 0;
}

/*
 * reallocarray() of glibc is a multiplication before the realloc() that the program has, which may be
 * another allocator's: that is where the block is told.
 */
static bool gated_is_wrapper(const struct probe_set *set, const struct provider_fn *fn)
{
	Elf *elf = object_elf(set->provider->object, ELF_FOR_SYMBOLS);
	bool is = elf && wrapper_hands_on(set->provider, elf, fn);

	elf_end(elf);
	return is;
}

/* The one of the list that begins there; NULL: none. */
static const struct gate_wanted *gated_at(const struct gated_functions *out, uint64_t address)
{
	for (size_t i = 0; i < out->count; i++) {
		if (out->items[i].address == address)
			return &out->items[i];
	}
	return NULL;
}

static uint64_t gated_pc(const struct probe_set *set, const struct provider_fn *fn,
			 uint64_t address)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->probes[i].fn == fn && set->probes[i].role != PROBE_RETURN_SITE)
			return address + set->probes[i].place.offset;
	}
	return address;
}

/* `all`: wrappers too, which guards take for functions. */
static int gated_add(const struct leads_object *object, const struct probe_set *set, bool all,
		     const struct provider_fn *fn, struct gated_functions *out,
		     char reason[static REASON_MAX])
{
	uint64_t entry = out->text.address + (fn->offset - out->text.offset), address = entry;
	int kind = gated_kind(fn->fn);
	const struct gate_wanted *same;
	const char *why = "";

	if (kind == GATE_KIND_REALLOC_ARRAY && !all && gated_is_wrapper(set, fn))
		return 0;
	if (kind < 0)
		return refuse(reason, -EOPNOTSUPP, "there is no gate for functions like %s",
			      fn->name);
	if (leads_beginning(object, &address, &why))
		return refuse(reason, -EOPNOTSUPP, "%s: %s", fn->name, why);
	same = gated_at(out, address);
	if (same && same->kind != (uint32_t)kind)
		return refuse(reason, -EOPNOTSUPP, "%s is also %s", fn->name, same->name);
	if (same)
		return 0;
	out->pcs[out->count] = gated_pc(set, fn, entry);
	out->items[out->count++] = (struct gate_wanted){
		.name = fn->name,
		.address = address,
		.size = address == entry ? fn->size : 0,
		.kind = (uint32_t)kind,
		.arguments = gated_arguments(fn->fn, kind),
		.calls_others = !fn->fn->leaf,
	};
	return 0;
}

int gated_functions_find(const struct patched *patched, const struct probe_set *set,
			 struct gated_functions *out, char reason[static REASON_MAX])
{
	const struct provider *provider = set->provider;
	const struct image *image = patched->process.image;
	struct leads_object object;
	int err;

	*out = (struct gated_functions){
		.items = calloc(provider->count + 1, sizeof(*out->items)),
		.pcs = calloc(provider->count + 1, sizeof(*out->pcs)),
	};
	err = out->items && out->pcs ? 0 : refuse(reason, -ENOMEM, "no memory");
	err = err
		      ?: object_text_read(image, provider->object, provider->fns[0].offset,
					  &out->text, reason);
	if (err)
		return err;
	object = object_text_leads(&out->text, image);
	for (size_t i = 0; i < provider->count && !err; i++)
		err = gated_add(&object, set, guarded_has(patched, provider->object),
				&provider->fns[i], out, reason);
	err = err ?: gated_find_callers(&object, out, reason);
	err = err ?: gated_check_callers(&object, provider->object, out, reason);
	err = err ?: gated_check_pairs(provider->object, out, reason);
	return err ?: gated_find_instead(out, reason);
}

void gated_functions_free(struct gated_functions *functions)
{
	free(functions->items);
	free(functions->pcs);
	object_text_free(&functions->text);
}
