// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * CPython's arenas: Objects/obmalloc.c, ARENA_BITS (Include/internal/pycore_obmalloc.h), 20 from 3.10 on, 18 before.
 * PHP's chunks: ZEND_MM_CHUNK_SIZE (Zend/zend_alloc_sizes.h); what is larger is a mapping of its own, of any size.
 */
#include "user/runtime/runtime.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "user/base/util.h"
#include "user/process/elf_open.h"
#include "user/process/elf_symbols.h"
#include "user/runtime/runtime_ops.h"

static bool runtime_is_marked(const struct runtime_ops *language, const char *name)
{
	return language->mark_begins ? !strncmp(name, language->mark, strlen(language->mark))
				     : !strcmp(name, language->mark);
}

static enum runtime runtime_by_name(const char *name)
{
	for (size_t i = 0; i < runtime_language_count; i++) {
		if (runtime_is_marked(runtime_languages[i], name))
			return runtime_languages[i]->runtime;
	}
	return strcmp(name, "coreclr_initialize") ? RUNTIME_NONE : RUNTIME_DOTNET;
}

static int runtime_look_at(void *ctx, const char *name, const GElf_Sym *sym)
{
	enum runtime *found = ctx;

	(void)sym;
	*found = runtime_by_name(name);
	return *found != RUNTIME_NONE;
}

static bool runtime_is_go(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		const char *name;
		GElf_Shdr sh;

		name = gelf_getshdr(section, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
		if (name && !strcmp(name, ".go.buildinfo"))
			return true;
	}
	return false;
}

enum runtime runtime_of(struct object *object)
{
	_cleanup_elf_ Elf *elf = NULL;
	enum runtime found = RUNTIME_NONE;

	if (!object_is_elf64(object) || object_is_vdso(object))
		return RUNTIME_NONE;
	elf = object_elf(object, ELF_FOR_SYMBOLS);
	if (!elf)
		return RUNTIME_NONE;
	elf_symbols(elf, SHT_DYNSYM, runtime_look_at, &found);
	return !found && runtime_is_go(elf) ? RUNTIME_GO : found;
}

const char *runtime_not_followed(enum runtime runtime, const char **instead)
{
	*instead = "only a perf map names them (DOTNET_PerfMapEnabled=1 at its start)";
	return runtime == RUNTIME_DOTNET ? ".NET" : NULL;
}

const char *runtime_managed_language(enum runtime runtime)
{
	const struct runtime_ops *language = runtime_language(runtime);
	const char *instead;

	return language ? language->name : runtime_not_followed(runtime, &instead);
}

const struct runtime_pool *runtime_pool(enum runtime runtime, uint32_t version)
{
	static const struct runtime_pool php = {.shown = "arena growth, sampled: one per 2 MiB"};
	static const struct runtime_pool python = {.sizes = {1 << 20, 1 << 20},
						   .shown = "arena growth, sampled: one per MiB"};
	static const struct runtime_pool python_old = {
		.sizes = {1 << 18, 1 << 18}, .shown = "arena growth, sampled: one per 256 KiB"};
	/* One whose version nothing tells: older than 3.8, or built so that its parts are not found. */
	static const struct runtime_pool python_unknown = {
		.sizes = {1 << 18, 1 << 20}, .shown = "arena growth, sampled: one per arena"};

	if (runtime == RUNTIME_PHP)
		return &php;
	if (runtime != RUNTIME_PYTHON)
		return NULL;
	if (!version)
		return &python_unknown;
	return version < 0x030a0000 ? &python_old : &python;
}
