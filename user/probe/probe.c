// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/probe/probe.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/probe/scope_sites.h"
#include "user/probe/sites.h"
#include "user/process/object.h"

/* Enough for the prologue, and to find jumps back into it; longer functions are cut here. */
#define CODE_MAX 16384
/* The size of a function whose symbol has none. */
#define CODE_UNSIZED 256
/* In one object. */
#define SITES_MAX 512

static enum probe_role probe_role_of(const struct alloc_fn *fn)
{
	switch (fn->op) {
	case OP_FREE:
		return PROBE_FREE;
	case OP_MUNMAP:
		return PROBE_UNMAP;
	case OP_UNWIND:
	case OP_CATCH:
	case OP_CODE_END:
		return PROBE_UNWIND;
	case OP_LEAVE:
		return PROBE_LEAVE;
	case OP_LOADED:
		return PROBE_LOADED;
	case OP_USDT_ALLOC:
		return PROBE_USDT_ALLOC;
	case OP_USDT_FREE:
		return PROBE_USDT_FREE;
	case OP_SCOPE:
		return PROBE_SCOPE;
	default:
		return fn->throws ? PROBE_ALLOC_ENTRY : PROBE_ALLOC;
	}
}

static unsigned probe_args_read(const struct alloc_fn *fn)
{
	unsigned args = 0;

	if (fn->op == OP_MMAP || fn->op == OP_MREMAP)
		return 0x3f;
	if (fn->op == OP_MUNMAP)
		return 0x3;
	if (fn->size_arg)
		args |= 1u << (fn->size_arg - 1);
	if (fn->count_arg)
		args |= 1u << (fn->count_arg - 1);
	if (fn->ptr_arg)
		args |= 1u << (fn->ptr_arg - 1);
	return args;
}

/* The argument that the cookie names, by the register that has it at the place. */
static uint8_t probe_arg_at(const struct place *place, uint8_t arg)
{
	return arg ? place->arg_at[arg - 1] : 0;
}

/* See remember_unrecorded() in bpf/alloc.h. */
#if defined(__x86_64__)
static const bool mmap_is_told = true;
#else
static const bool mmap_is_told = false;
#endif

static bool probe_has_mmap(const struct provider *provider)
{
	for (size_t i = 0; i < provider->count; i++) {
		if (provider->fns[i].fn->mmap)
			return true;
	}
	return false;
}

/*
 * Is it the C++ library itself? Its operator new calls malloc only for the block that it returns. A
 * program's own may keep books.
 */
static bool probe_is_cxx_library(const struct object *object)
{
	static const char *const names[] = {"libstdc++.so", "libc++.so", "libc++abi.so"};
	const char *slash = strrchr(object_path(object), '/');
	const char *file = slash ? slash + 1 : object_path(object);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strncmp(file, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

static void probe_init(struct probe *probe, const struct object *object,
		       const struct provider_fn *fn, uint8_t *code, bool mmap)
{
	const struct alloc_fn *f = fn->fn;
	struct place_request request = {.code = code,
					.args_read = probe_args_read(f),
					.args_may_move = f->op != OP_MMAP && f->op != OP_MREMAP &&
							 f->op != OP_MUNMAP && f->op != OP_SCOPE,
					.null_skippable = f->op == OP_FREE && f->ptr_arg == 1};
	size_t want = fn->size ? fn->size : CODE_UNSIZED;
	/*
	 * A call without a return probe costs its return in any case. Each call is entered, so none
	 * ends another one's.
	 */
	union probe_cookie cookie = {.op = f->op,
				     .nests = !f->leaf || (mmap && !mmap_is_told) || f->throws,
				     .bare = f->throws};
	ssize_t n;

	if (want > CODE_MAX)
		want = CODE_MAX;
	n = pread(object_fd(object), code, want, (off_t)fn->offset);
	request.size = n > 0 ? (size_t)n : 0;
	if (object_offset_to_vaddr(object, fn->offset, &request.vaddr))
		request.vaddr = 0;
	place_find(&request, &probe->place);
	cookie.size_arg = probe_arg_at(&probe->place, f->size_arg);
	cookie.count_arg = probe_arg_at(&probe->place, f->count_arg);
	cookie.ptr_arg = probe_arg_at(&probe->place, f->ptr_arg);
	cookie.family = alloc_fn_family(f);
	cookie.one_block = f->cxx && probe_is_cxx_library(object);
	cookie.own = f->own & 0x7f;
	probe->fn = fn;
	probe->role = probe_role_of(f);
	probe->offset = fn->offset + probe->place.offset;
	probe->cookie = cookie.value;
}

/* Sits on the very instruction that is there for it: a nop. */
static void probe_init_usdt(struct probe *probe, const struct provider_fn *fn)
{
	*probe = (struct probe){
		.offset = fn->offset,
		.role = probe_role_of(fn->fn),
		.fn = fn,
		.semaphore = fn->note->semaphore,
		.place = {.cost = PLACE_EMULATED,
			  .instruction = "nop",
			  .reason = "a probe of the program's own"},
	};
}

/* The probe's program finds the loader's struct r_debug by its distance. */
static void probe_point_at_view(struct probe *probe, const struct provider *provider)
{
	union probe_cookie cookie = {.op = OP_LOADED};
	uint64_t vaddr;

	if (!object_offset_to_vaddr(provider->object, probe->offset, &vaddr) &&
	    provider->debugger_view - vaddr <= INT32_MAX)
		cookie.debugger_view = (int32_t)(provider->debugger_view - vaddr);
	probe->cookie = cookie.value;
}

static void probe_add_site(struct probe_set *set, const struct provider_fn *fn, uint64_t offset)
{
	const struct probe *first = &set->probes[set->count - set->site_count];

	for (size_t i = 0; i < set->site_count; i++) {
		if (first[i].offset == offset)
			return;
	}
	set->probes[set->count++] = (struct probe)
	{
		.offset = offset, .role = PROBE_RETURN_SITE, .fn = fn,
#if defined(__x86_64__)
		.place = {.cost = PLACE_STEPPED, .instruction = "ret", .reason = "return"},
#else
		.place = {.cost = PLACE_EMULATED, .instruction = "ret", .reason = "return"},
#endif
	};
	set->site_count++;
}

/* Adds the return sites of one probe's function; false when it has to go without probes. */
static bool probe_add_sites(struct probe_set *set, struct sites *sites, struct probe *probe,
			    const char **reason)
{
	struct returns returns;
	int err = sites_find(sites, probe->fn, &returns);

	*reason = err == -ENOMEM ? "out of memory" : returns.reason;
	if (err)
		return false;
	*reason = "too many returns";
	if (set->site_count + returns.count > SITES_MAX)
		return false;
	*reason = "the return is the only instruction";
	for (size_t i = 0; i < returns.count; i++) {
		if (returns.sites[i] == probe->offset)
			return false;
	}
	for (size_t i = 0; i < returns.count; i++)
		probe_add_site(set, probe->fn, returns.sites[i]);
	probe->site_count = (uint32_t)returns.count;
	return true;
}

static void probe_tell_unprobed(const struct probe_set *set)
{
	const struct unprobed *u = set->unprobed;

	if (set->unprobed_count)
		log_info("%s: not probed, since an exception may leave it and where it returns is "
			 "not known: %s (%s)%s",
			 object_path(set->provider->object), u->fn->name, u->reason,
			 set->unprobed_count > 1 ? ", and more (`memleakbpf doctor`)" : "");
}

static bool probe_has_role(const struct probe_set *set, enum probe_role role)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->probes[i].role == role)
			return true;
	}
	return false;
}

/*
 * Finds the return sites of functions that must not have a return probe. Takes functions out whose
 * returns are unknown.
 */
static int probe_find_sites(struct probe_set *set)
{
	size_t functions = set->count;
	struct sites *sites;

	if (!probe_has_role(set, PROBE_ALLOC_ENTRY))
		return 0;
	sites = sites_new(set->provider);
	if (!sites)
		return -ENOMEM;
	for (size_t i = 0; i < functions; i++) {
		struct probe *probe = &set->probes[i];
		const char *reason;

		if (probe->role != PROBE_ALLOC_ENTRY || probe_add_sites(set, sites, probe, &reason))
			continue;
		set->unprobed[set->unprobed_count++] =
			(struct unprobed){.fn = probe->fn, .reason = reason};
		probe->role = PROBE_ROLES;
	}
	sites_free(sites);
	probe_tell_unprobed(set);
	functions = set->count;
	set->count = 0;
	for (size_t i = 0; i < functions; i++) {
		if (set->probes[i].role != PROBE_ROLES)
			set->probes[set->count++] = set->probes[i];
	}
	return 0;
}

int probe_set_new(struct provider *provider, struct probe_set **out)
{
	_cleanup_free_ uint8_t *code = malloc(CODE_MAX);
	struct probe_set *set = calloc(1, sizeof(*set));
	bool mmap;

	if (!set) {
		provider_free(provider);
		return -ENOMEM;
	}
	set->provider = provider;
	set->probes = calloc(provider->count + SITES_MAX, sizeof(*set->probes));
	set->unprobed = calloc(provider->count + 1, sizeof(*set->unprobed));
	if (!code || !set->probes || !set->unprobed)
		goto out_of_memory;
	set->count = provider->count;
	mmap = probe_has_mmap(provider);
	for (size_t i = 0; i < set->count; i++) {
		if (provider->notes) {
			probe_init_usdt(&set->probes[i], &provider->fns[i]);
			continue;
		}
		probe_init(&set->probes[i], provider->object, &provider->fns[i], code, mmap);
		if (provider->named)
			set->probes[i].role = PROBE_NAMED;
		if (provider->debugger_view)
			probe_point_at_view(&set->probes[i], provider);
	}
	if (probe_find_sites(set) || (probe_has_role(set, PROBE_SCOPE) && scope_sites_add(set)))
		goto out_of_memory;
	*out = set;
	return 0;

out_of_memory:
	probe_set_free(set);
	return -ENOMEM;
}

void probe_set_free(struct probe_set *set)
{
	if (!set)
		return;
	provider_free(set->provider);
	free(set->probes);
	free(set->unprobed);
	free(set);
}

void probe_set_use_entries(struct probe_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		struct probe *probe = &set->probes[i];
		union probe_cookie cookie = {.value = probe->cookie};
		const struct alloc_fn *f = probe->fn->fn;

		if (probe->role == PROBE_RETURN_SITE || !probe->place.offset)
			continue;
		cookie.size_arg = f->size_arg;
		cookie.count_arg = f->count_arg;
		cookie.ptr_arg = f->ptr_arg;
		probe->cookie = cookie.value;
		probe->offset = probe->fn->offset;
		probe->place =
			(struct place){.cost = PLACE_STEPPED, .reason = "the entry, for guards"};
	}
}

const char *probe_set_name_at(const struct probe_set *set, uint64_t offset)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->probes[i].offset == offset && set->probes[i].role != PROBE_RETURN_SITE)
			return set->probes[i].fn->name;
	}
	return NULL;
}

uint64_t probe_set_entry_at(const struct probe_set *set, uint64_t offset)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->probes[i].offset == offset)
			return set->probes[i].fn->offset;
	}
	return offset;
}
