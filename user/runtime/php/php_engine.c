// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The layouts are from Zend/zend_compile.h and zend_globals.h of each version. They are of builds
 * without threads (NTS) and without options for debugging. bpf/runtime/php_abi.h has what all
 * versions have in common.
 *
 * Each module that is linked in tells the version. Its struct _zend_module_entry
 * (Zend/zend_modules.h) begins with its size, the number of the engine's interface, and how the
 * engine was built. The number of the interface changes with each version.
 */
#include "user/runtime/php/php_engine.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/process/elf_open.h"
#include "user/process/elf_symbols.h"

#define MODULE_BYTES	168
#define MODULES_LEAST	3 /* Core, standard and date are in all */
#define DATA_MAX	(64 << 20)
#define HANDLERS_MAX	65536
#define RELOCATIONS_MAX (64 << 20) /* bytes */

/* Where a version has the members of its structures. */
static const struct php_layout {
	uint32_t api;
	const char *version;
	uint32_t globals_bytes, current; /* executor_globals */
	struct php_row row;
} php_layouts[] = {
	{20220829,
	 "8.2",
	 1800,
	 488,
	 {.body_last = 80, .body_opcodes = 88, .body_file = 152, .body_line = 160}},
};

struct php_module {
	uint16_t size, pad;
	uint32_t api;
	uint8_t debug, zts;
	uint8_t zero[6];
};
_Static_assert(sizeof(struct php_module) == 16, "zend_module_entry");

enum php_symbol {
	PHP_MARK, /* runtime_of() */
	PHP_GLOBALS,
	PHP_EXEC,
	PHP_SYMBOLS,
};

static const char *const php_symbols[PHP_SYMBOLS] = {
	[PHP_MARK] = "zend_mm_gc",
	[PHP_GLOBALS] = "executor_globals",
	[PHP_EXEC] = "execute_ex",
};

struct php_search {
	struct {
		uint64_t vaddr, size;
	} found[PHP_SYMBOLS];
	struct php_module module;
	size_t modules;
	bool differ; /* modules for different engines */
};

static int php_look_at(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct php_search *s = ctx;

	if (*name != 'z' && *name != 'e')
		return 0;
	for (size_t k = 0; k < PHP_SYMBOLS; k++) {
		if (strcmp(name, php_symbols[k]) || GELF_ST_TYPE(sym->st_info) == STT_TLS)
			continue;
		s->found[k].vaddr = sym->st_value;
		s->found[k].size = sym->st_size;
	}
	return 0;
}

static void php_look_for_modules(struct php_search *s, const uint8_t *data, size_t size)
{
	static const uint8_t zero[sizeof(s->module.zero)];
	struct php_module module;

	for (size_t at = 0; at + MODULE_BYTES <= size; at += 8) {
		memcpy(&module, data + at, sizeof(module));
		/* The number is a date. */
		if (module.size != MODULE_BYTES || module.pad || module.api < 20000000 ||
		    module.api > 21000000 || module.debug > 1 || module.zts > 1 ||
		    memcmp(module.zero, zero, sizeof(zero)))
			continue;
		s->differ |= s->modules && memcmp(&module, &s->module, sizeof(module));
		s->module = module;
		s->modules++;
	}
}

/* In what the program may write: they are linked with others there as it starts. */
static int php_read_modules(struct object *object, Elf *elf, struct php_search *s)
{
	Elf_Scn *section = NULL;
	GElf_Shdr sh;

	while ((section = elf_nextscn(elf, section)) != NULL) {
		_cleanup_free_ uint8_t *data = NULL;

		if (!gelf_getshdr(section, &sh) || sh.sh_type != SHT_PROGBITS ||
		    !(sh.sh_flags & SHF_WRITE) || !sh.sh_size || sh.sh_size > DATA_MAX)
			continue;
		data = malloc(sh.sh_size);
		if (!data)
			return -ENOMEM;
		if (pread(object_fd(object), data, sh.sh_size, (off_t)sh.sh_offset) !=
		    (ssize_t)sh.sh_size)
			return -EIO;
		php_look_for_modules(s, data, sh.sh_size);
	}
	return 0;
}

static int php_choose(struct object *object, const struct php_search *s, Elf *elf,
		      struct php_runtime *out, char reason[static REASON_MAX])
{
	const struct php_layout *layout = NULL;
	GElf_Ehdr header;

	if (s->modules < MODULES_LEAST || s->differ)
		return refuse(reason, -ENOTSUP, "it does not say its version");
	for (size_t i = 0; i < ARRAY_SIZE(php_layouts); i++) {
		if (php_layouts[i].api == s->module.api)
			layout = &php_layouts[i];
	}
	if (!layout)
		return refuse(reason, -ENOTSUP,
			      "this version (its interface is %u) is not known (8.2 is)",
			      s->module.api);
	out->version = layout->version;
	if (!gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64)
		return refuse(reason, -ENOTSUP, "that is done for x86-64 only");
	if (s->module.zts || s->module.debug)
		return refuse(reason, -ENOTSUP, "it is built for %s",
			      s->module.zts ? "threads (ZTS)" : "debugging");
	if (!s->found[PHP_GLOBALS].vaddr || !s->found[PHP_EXEC].vaddr ||
	    object_vaddr_to_offset(object, s->found[PHP_EXEC].vaddr, &out->exec))
		return refuse(reason, -ENOTSUP, "it has no symbol %s",
			      php_symbols[s->found[PHP_GLOBALS].vaddr ? PHP_EXEC : PHP_GLOBALS]);
	if (s->found[PHP_GLOBALS].size != layout->globals_bytes)
		return refuse(reason, -ENOTSUP,
			      "its executor_globals are of another size than this version's");
	out->exec_end = out->exec + s->found[PHP_EXEC].size;
	out->row = layout->row;
	out->row.current = s->found[PHP_GLOBALS].vaddr + layout->current;
	return 0;
}

static int php_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The addresses in the evaluating function that the loader relocates somewhere: those of a table that leads into it. */
static int php_read_relocations(Elf_Scn *section, const GElf_Shdr *sh, uint64_t start,
				struct php_runtime *out)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	uint64_t size = out->exec_end - out->exec;
	GElf_Rela rela;

	for (size_t i = 0; i < count && gelf_getrela(data, (int)i, &rela); i++) {
		uint64_t at = (uint64_t)rela.r_addend - start;
		uint64_t *grown;

		if (GELF_R_TYPE(rela.r_info) != R_X86_64_RELATIVE || at >= size ||
		    out->handler_count >= HANDLERS_MAX)
			continue;
		if (!(out->handler_count & (out->handler_count - 1))) {
			grown = reallocarray(out->handlers, out->handler_count * 2 + 1,
					     sizeof(*grown));
			if (!grown)
				return -ENOMEM;
			out->handlers = grown;
		}
		out->handlers[out->handler_count++] = out->exec + at;
	}
	return 0;
}

static int php_read_handlers(Elf *elf, uint64_t start, struct php_runtime *out)
{
	Elf_Scn *section = NULL;
	GElf_Shdr sh;
	int err = 0;

	while (!err && (section = elf_nextscn(elf, section)) != NULL) {
		if (gelf_getshdr(section, &sh) && sh.sh_type == SHT_RELA &&
		    sh.sh_size <= RELOCATIONS_MAX)
			err = php_read_relocations(section, &sh, start, out);
	}
	if (out->handler_count)
		qsort(out->handlers, out->handler_count, sizeof(out->handlers[0]), php_order);
	return err;
}

int php_find(struct object *object, struct php_runtime *out, char reason[static REASON_MAX])
{
	_cleanup_elf_ Elf *elf = NULL;
	struct php_search s = {0};
	int err;

	*out = (struct php_runtime){0};
	if (!object_is_elf64(object) || object_is_vdso(object))
		return -ENOENT;
	elf = object_elf(object, ELF_FOR_SYMBOLS);
	if (!elf)
		return -EIO;
	elf_symbols(elf, SHT_DYNSYM, php_look_at, &s);
	if (!s.found[PHP_MARK].vaddr)
		return -ENOENT;
	err = php_read_modules(object, elf, &s);
	err = err ?: php_choose(object, &s, elf, out, reason);
	err = err ?: php_read_handlers(elf, s.found[PHP_EXEC].vaddr, out);
	if (err)
		php_runtime_free(out);
	return err;
}

void php_runtime_free(struct php_runtime *runtime)
{
	free(runtime->handlers);
	runtime->handlers = NULL;
	runtime->handler_count = 0;
}
