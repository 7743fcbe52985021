// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/probe/sites.h"

#include <errno.h>
#include <libelf.h>
#include <string.h>

#include "bpf/alloc_op.h"
#include "user/base/util.h"
#include "user/process/elf_open.h"
#include "user/process/object.h"
#include "user/target/allocator.h"
#include "user/target/bounds.h"
#include "user/target/plt.h"
#include "user/target/provider.h"

struct sites {
	const struct provider *provider;
	Elf *elf; /* NULL: the file cannot be read as ELF any more */
	struct bounds *bounds;
	const struct provider_fn *fn; /* the function whose returns we look for */
	uint64_t fn_vaddr;
};

struct sites *sites_new(const struct provider *provider)
{
	struct sites *sites = calloc(1, sizeof(*sites));

	if (!sites)
		return NULL;
	sites->provider = provider;
	sites->elf = object_elf(provider->object, ELF_FOR_SYMBOLS);
	if (sites->elf)
		sites->bounds = bounds_new(sites->elf, object_fd(provider->object));
	return sites;
}

void sites_free(struct sites *sites)
{
	if (!sites)
		return;
	bounds_free(sites->bounds);
	elf_end(sites->elf);
	free(sites);
}

static size_t sites_read_code(void *ctx, uint64_t vaddr, uint8_t *code, size_t size)
{
	const struct sites *s = ctx;
	const struct object *object = s->provider->object;
	uint64_t offset;
	ssize_t n;

	if (object_vaddr_to_offset(object, vaddr, &offset) || !object_is_code(object, offset))
		return 0;
	n = pread(object_fd(object), code, size, (off_t)offset);
	return n > 0 ? (size_t)n : 0;
}

static uint64_t sites_function_end(void *ctx, uint64_t vaddr)
{
	const struct sites *s = ctx;
	uint64_t end = bounds_next(s->bounds, vaddr);
	uint64_t symbol_end = s->fn_vaddr + s->fn->size;

	return vaddr >= s->fn_vaddr && vaddr < symbol_end && symbol_end < end ? symbol_end : end;
}

/* Has the function a return probe? Functions that exceptions can leave have none. */
static bool sites_has_return_probe(const struct alloc_fn *fn)
{
	return !fn->throws && fn->op != OP_FREE && fn->op != OP_MUNMAP;
}

static enum returns_target sites_at_code(const struct sites *s, uint64_t vaddr)
{
	const struct provider *p = s->provider;
	uint64_t offset;

	if (object_vaddr_to_offset(p->object, vaddr, &offset) || !object_is_code(p->object, offset))
		return RETURNS_UNKNOWN;
	for (size_t i = 0; i < p->count; i++) {
		if (p->fns[i].offset == offset && sites_has_return_probe(p->fns[i].fn))
			return RETURNS_PROBED;
	}
	return RETURNS_CODE;
}

/* Another object's malloc has a return probe, unless only this object is looked at. */
static enum returns_target sites_elsewhere(const struct sites *s, const char *name)
{
	size_t count;
	const struct alloc_fn *table = alloc_table(&count);

	for (size_t i = 0; i < count && !s->provider->alone; i++) {
		if (!strcmp(table[i].name, name) && !table[i].cxx && !table[i].mmap &&
		    sites_has_return_probe(&table[i]))
			return RETURNS_PROBED;
	}
	return RETURNS_UNKNOWN;
}

static enum returns_target sites_jump_through(void *ctx, uint64_t *vaddr)
{
	const struct sites *s = ctx;
	struct plt_symbol symbol;

	if (!s->elf || !plt_symbol(s->elf, *vaddr, &symbol))
		return RETURNS_UNKNOWN;
	if (!symbol.vaddr)
		return sites_elsewhere(s, symbol.name);
	/*
	 * We assume that no other object defines it first; if one does, the calls are counted as
	 * lost.
	 */
	*vaddr = symbol.vaddr;
	return sites_at_code(s, symbol.vaddr);
}

static enum returns_target sites_jump(void *ctx, uint64_t *vaddr)
{
	uint8_t code[PLT_ENTRY];
	uint64_t slot = plt_slot(code, sites_read_code(ctx, *vaddr, code, sizeof(code)), *vaddr);

	if (!slot)
		return sites_at_code(ctx, *vaddr);
	*vaddr = slot;
	return sites_jump_through(ctx, vaddr);
}

int sites_find(struct sites *sites, const struct provider_fn *fn, struct returns *out)
{
	const struct object *object = sites->provider->object;
	const struct returns_source source = {
		.read = sites_read_code,
		.end = sites_function_end,
		.jump = sites_jump,
		.jump_through = sites_jump_through,
		.ctx = sites,
	};
	int err;

	sites->fn = fn;
	*out = (struct returns){.reason = "the code cannot be read"};
	if (object_offset_to_vaddr(object, fn->offset, &sites->fn_vaddr))
		return -ENOTSUP;
	err = returns_find(&source, sites->fn_vaddr, out);
	for (size_t i = 0; !err && i < out->count; i++) {
		if (object_vaddr_to_offset(object, out->sites[i], &out->sites[i]))
			err = -ENOTSUP;
	}
	return err;
}
