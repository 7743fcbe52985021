// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The layouts are by intrpvar.h and hv.h of each version, built with threads as distributions do. What all have in common since 5.24
 * is in bpf/runtime/perl_abi.h.
 */
#include "user/runtime/perl/perl_engine.h"

#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/process/elf_open.h"
#include "user/process/elf_symbols.h"
#include "user/runtime/runtime_libc.h"

/* Where a version has the members of its structures; how large it says that an interpreter is. */
static const struct {
	uint8_t version;
	uint16_t bytes;
	struct perl_row row;
} perl_layouts[] = {
	{36, 3768, {.cop = 208, .info = 224, .stash_names = 32}},
};

enum perl_symbol {
	PERL_MARK,
	PERL_VERSION,
	PERL_SUBVERSION,
	PERL_SIZE,
	PERL_KEY,
	PERL_EXEC,
	PERL_SYMBOLS,
};

static const char *const perl_symbols[PERL_SYMBOLS] = {
	[PERL_MARK] = "perl_construct",	     [PERL_VERSION] = "PL_version",
	[PERL_SUBVERSION] = "PL_subversion", [PERL_SIZE] = "PL_interp_size",
	[PERL_KEY] = "PL_thr_key",	     [PERL_EXEC] = "Perl_runops_standard",
};

struct perl_search {
	struct {
		uint64_t vaddr, size;
	} found[PERL_SYMBOLS];
};

static int perl_look_at(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct perl_search *s = ctx;

	for (size_t k = 0; k < PERL_SYMBOLS; k++) {
		if (strcmp(name, perl_symbols[k]))
			continue;
		s->found[k].vaddr = sym->st_value;
		s->found[k].size = sym->st_size;
	}
	return 0;
}

static bool perl_read_file(struct object *object, uint64_t vaddr, void *to, size_t size)
{
	uint64_t offset;

	return vaddr && !object_vaddr_to_offset(object, vaddr, &offset) &&
	       pread(object_fd(object), to, size, (off_t)offset) == (ssize_t)size;
}

static int perl_choose(struct object *object, const struct perl_search *s, Elf *elf,
		       struct perl_runtime *out, char reason[static REASON_MAX])
{
	uint8_t version, subversion;
	uint16_t bytes;
	GElf_Ehdr header;

	if (!perl_read_file(object, s->found[PERL_VERSION].vaddr, &version, sizeof(version)) ||
	    !perl_read_file(object, s->found[PERL_SUBVERSION].vaddr, &subversion,
			    sizeof(subversion)) ||
	    !perl_read_file(object, s->found[PERL_SIZE].vaddr, &bytes, sizeof(bytes)))
		return refuse(reason, -ENOTSUP, "it does not say its version");
	snprintf(out->version, sizeof(out->version), "5.%u.%u", version, subversion);
	if (!gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64)
		return refuse(reason, -ENOTSUP, "that is done for x86-64 only");
	if (!s->found[PERL_KEY].vaddr)
		return refuse(reason, -ENOTSUP, "it is built without threads");
	for (size_t i = 0; i < ARRAY_SIZE(perl_layouts); i++) {
		if (perl_layouts[i].version != version)
			continue;
		if (perl_layouts[i].bytes != bytes)
			return refuse(reason, -ENOTSUP,
				      "its interpreter is of another size than this version's");
		out->row = perl_layouts[i].row;
		out->row.bytes = bytes;
	}
	if (!out->row.cop)
		return refuse(reason, -ENOTSUP, "this version is not known (5.36 is)");
	if (!s->found[PERL_EXEC].vaddr ||
	    object_vaddr_to_offset(object, s->found[PERL_EXEC].vaddr, &out->exec))
		return refuse(reason, -ENOTSUP, "it has no symbol %s", perl_symbols[PERL_EXEC]);
	out->exec_end = out->exec + s->found[PERL_EXEC].size;
	out->row.key = s->found[PERL_KEY].vaddr;
	out->row.thread_data = GLIBC_THREAD_DATA;
	return 0;
}

int perl_find(struct object *object, struct perl_runtime *out, char reason[static REASON_MAX])
{
	_cleanup_elf_ Elf *elf = NULL;
	struct perl_search s = {0};

	*out = (struct perl_runtime){0};
	if (!object_is_elf64(object) || object_is_vdso(object))
		return -ENOENT;
	elf = object_elf(object, ELF_FOR_SYMBOLS);
	if (!elf)
		return -EIO;
	elf_symbols(elf, SHT_DYNSYM, perl_look_at, &s);
	if (!s.found[PERL_MARK].vaddr)
		return -ENOENT;
	return perl_choose(object, &s, elf, out, reason);
}
