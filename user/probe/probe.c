// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/probe/probe.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "user/base/util.h"

/* Enough for the prologue and for finding jumps back into it; longer functions are cut here. */
#define CODE_MAX 16384
/* When a symbol has no size. */
#define CODE_UNSIZED 256

static enum probe_role role_of(enum alloc_op op)
{
	switch (op) {
	case OP_FREE:
		return PROBE_FREE;
	case OP_MUNMAP:
		return PROBE_UNMAP;
	default:
		return PROBE_ALLOC;
	}
}

static unsigned args_read(const struct alloc_fn *fn)
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

/* The arguments that the cookie names, at the registers where the place has them. */
static uint8_t arg_at(const struct place *place, uint8_t arg)
{
	return arg ? place->arg_at[arg - 1] : 0;
}

static bool has_mmap(const struct provider *provider)
{
	for (size_t i = 0; i < provider->count; i++) {
		if (provider->fns[i].fn->mmap)
			return true;
	}
	return false;
}

static void probe_init(struct probe *probe, const struct object *object,
		       const struct provider_fn *fn, uint8_t *code, bool mmap)
{
	const struct alloc_fn *f = fn->fn;
	struct place_request request = {.code = code,
					.args_read = args_read(f),
					.args_may_move = f->op != OP_MMAP && f->op != OP_MREMAP &&
							 f->op != OP_MUNMAP,
					.null_skippable = f->op == OP_FREE && f->ptr_arg == 1};
	size_t want = fn->size ? fn->size : CODE_UNSIZED;
	union probe_cookie cookie = {.op = f->op, .nests = !f->leaf || mmap};
	ssize_t n;

	if (want > CODE_MAX)
		want = CODE_MAX;
	n = pread(object_fd(object), code, want, (off_t)fn->offset);
	request.size = n > 0 ? (size_t)n : 0;
	if (object_offset_to_vaddr(object, fn->offset, &request.vaddr))
		request.vaddr = 0;
	place_find(&request, &probe->place);
	cookie.size_arg = arg_at(&probe->place, f->size_arg);
	cookie.count_arg = arg_at(&probe->place, f->count_arg);
	cookie.ptr_arg = arg_at(&probe->place, f->ptr_arg);
	probe->fn = fn;
	probe->role = role_of(f->op);
	probe->offset = fn->offset + probe->place.offset;
	probe->cookie = cookie.value;
}

int probe_set_new(struct provider *provider, struct probe_set **out)
{
	_cleanup_free_ uint8_t *code = malloc(CODE_MAX);
	struct probe_set *set = calloc(1, sizeof(*set));
	bool mmap;

	if (set)
		set->probes = calloc(provider->count ? provider->count : 1, sizeof(*set->probes));
	if (!code || !set || !set->probes) {
		provider_free(provider);
		free(set);
		return -ENOMEM;
	}
	set->provider = provider;
	set->count = provider->count;
	mmap = has_mmap(provider);
	for (size_t i = 0; i < set->count; i++)
		probe_init(&set->probes[i], provider->object, &provider->fns[i], code, mmap);
	*out = set;
	return 0;
}

void probe_set_free(struct probe_set *set)
{
	if (!set)
		return;
	provider_free(set->provider);
	free(set->probes);
	free(set);
}

const char *probe_set_name_at(const struct probe_set *set, uint64_t offset)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->probes[i].offset == offset)
			return set->probes[i].fn->name;
	}
	return NULL;
}
