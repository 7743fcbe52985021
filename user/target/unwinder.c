// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Names: Itanium C++ ABI, "Exception Handling", which libgcc, LLVM's libunwind and Rust's run time
 * have; longjmp's by glibc and musl. Ends of the unwinding are known for C++ only.
 */
#include "user/target/unwinder.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "bpf/alloc_op.h"
#include "user/base/util.h"
#include "user/process/elf_open.h"
#include "user/process/elf_symbols.h"
#include "user/process/object.h"
#include "user/target/allocator.h"
#include "user/target/provider.h"

#define ROW(n, o)                                    \
	{                                            \
		.name = (n), .shown = (n), .op = (o) \
	}
static const struct alloc_fn unwinders[] = {
	ROW("_Unwind_RaiseException", OP_UNWIND),
	ROW("_Unwind_Resume_or_Rethrow", OP_UNWIND),
	ROW("_Unwind_ForcedUnwind", OP_UNWIND),
	ROW("_Unwind_Resume", OP_UNWIND),
	ROW("longjmp", OP_UNWIND),
	ROW("_longjmp", OP_UNWIND),
	ROW("siglongjmp", OP_UNWIND),
	ROW("__longjmp_chk", OP_UNWIND),
	ROW("__cxa_begin_catch", OP_CATCH),
};
static const struct alloc_fn leavers[] = {
	ROW("_exit", OP_LEAVE),
	ROW("_Exit", OP_LEAVE),
};
static const struct alloc_fn mappers[] = {
	{.name = "mmap", .shown = "mmap", .op = OP_MMAP, .size_arg = 2, .mmap = true},
	{.name = "mmap64", .shown = "mmap", .op = OP_MMAP, .size_arg = 2, .mmap = true},
	{.name = "munmap",
	 .shown = "munmap",
	 .op = OP_MUNMAP,
	 .ptr_arg = 1,
	 .size_arg = 2,
	 .mmap = true},
	/* (old address, old size, new size, flags, new address) */
	{.name = "mremap",
	 .shown = "mremap",
	 .op = OP_MREMAP,
	 .ptr_arg = 1,
	 .size_arg = 3,
	 .mmap = true},
};
static const struct alloc_fn loaders[] = {
	ROW("_dl_debug_state", OP_LOADED),
};

struct rows {
	const struct alloc_fn *items;
	size_t count;
	bool operators;	    /* those only */
	bool exported;	    /* in .dynsym or nowhere */
	const char *object; /* the provider's debugger_view is this variable's address */
};

static const struct alloc_fn *unwinder_row_of(const struct rows *rows, const char *name)
{
	size_t len = strcspn(name, "@");

	for (size_t i = 0; i < rows->count; i++) {
		if (rows->operators && !rows->items[i].cxx)
			continue;
		if (!strncmp(rows->items[i].name, name, len) && !rows->items[i].name[len])
			return &rows->items[i];
	}
	return NULL;
}

static bool unwinder_known(const struct provider *provider, uint64_t offset)
{
	for (size_t i = 0; i < provider->count; i++) {
		if (provider->fns[i].offset == offset)
			return true;
	}
	return false;
}

static int unwinder_add(struct provider *provider, size_t max, const GElf_Sym *sym,
			const struct alloc_fn *row)
{
	struct provider_fn *fn;
	uint64_t offset;

	if (provider->count == max ||
	    object_vaddr_to_offset(provider->object, sym->st_value, &offset) ||
	    !object_is_code(provider->object, offset) || unwinder_known(provider, offset))
		return 0;
	fn = &provider->fns[provider->count];
	fn->name = strdup(row->shown);
	if (!fn->name)
		return -ENOMEM;
	fn->fn = row;
	fn->offset = offset;
	fn->size = sym->st_size;
	provider->count++;
	return 0;
}

struct unwinder_search {
	struct provider *provider;
	const struct rows *rows;
};

static int unwinder_look_at(void *ctx, const char *name, const GElf_Sym *sym)
{
	const struct unwinder_search *s = ctx;
	const struct alloc_fn *row;

	if (s->rows->object && GELF_ST_TYPE(sym->st_info) == STT_OBJECT &&
	    !strcmp(name, s->rows->object))
		s->provider->debugger_view = sym->st_value;
	if (GELF_ST_TYPE(sym->st_info) != STT_FUNC)
		return 0;
	row = unwinder_row_of(s->rows, name);
	return row ? unwinder_add(s->provider, 2 * s->rows->count, sym, row) : 0;
}

/* A table that is not there or damaged has none of them. */
static int unwinder_walk(struct provider *provider, const struct rows *rows, Elf *elf,
			 unsigned type)
{
	struct unwinder_search search = {provider, rows};

	return elf_symbols(elf, type, unwinder_look_at, &search) == -ENOMEM ? -ENOMEM : 0;
}

static int unwinder_find_rows(struct object *object, const struct rows *rows, struct provider **out)
{
	_cleanup_elf_ Elf *elf = NULL;
	struct provider *provider;
	int err = 0;

	if (!object_is_elf64(object) || object_is_vdso(object))
		return -ENOENT;
	elf = object_elf(object, ELF_FOR_SYMBOLS);
	if (!elf)
		return -EBADMSG;
	provider = calloc(1, sizeof(*provider));
	if (!provider)
		return -ENOMEM;
	provider->object = object_ref(object);
	provider->fns = calloc(2 * rows->count, sizeof(*provider->fns));
	if (!provider->fns)
		err = -ENOMEM;
	if (!err)
		err = unwinder_walk(provider, rows, elf, SHT_DYNSYM);
	if (!err && !provider->count && !rows->exported)
		err = unwinder_walk(provider, rows, elf, SHT_SYMTAB);
	if (!err && !provider->count)
		err = -ENOENT;
	if (err) {
		provider_free(provider);
		return err;
	}
	*out = provider;
	return 0;
}

int unwinder_find(struct object *object, struct provider **out)
{
	const struct rows rows = {.items = unwinders, .count = ARRAY_SIZE(unwinders)};

	return unwinder_find_rows(object, &rows, out);
}

int leaver_find(struct object *object, struct provider **out)
{
	const struct rows rows = {.items = leavers, .count = ARRAY_SIZE(leavers)};

	return unwinder_find_rows(object, &rows, out);
}

int loader_find(struct object *object, struct provider **out)
{
	const struct rows rows = {
		.items = loaders,
		.count = ARRAY_SIZE(loaders),
		.exported = true,
		.object = "_r_debug",
	};

	return unwinder_find_rows(object, &rows, out);
}

int mapper_find(struct object *object, struct provider **out)
{
	const struct rows rows = {.items = mappers, .count = ARRAY_SIZE(mappers), .exported = true};

	return unwinder_find_rows(object, &rows, out);
}

int operators_find(struct object *object, struct provider **out)
{
	struct rows rows = {.operators = true};
	int err;

	rows.items = alloc_table(&rows.count);
	err = unwinder_find_rows(object, &rows, out);
	if (!err)
		(*out)->named = true;
	return err;
}
