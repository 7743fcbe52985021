// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The layouts are by vm_core.h, iseq.h and rstring.h of each version, without any of their options for debugging. What all have
 * in common is in bpf/runtime/ruby_abi.h.
 */
#include "user/runtime/ruby/cruby.h"

#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/process/elf_open.h"
#include "user/process/elf_symbols.h"

/* Where a version has the members of its structures. */
static const struct {
	int32_t major, minor;
	struct ruby_row row;
} ruby_layouts[] = {
	{3,
	 1,
	 {.frame_bytes = 64,
	  .body_bytes = 152,
	  .body_path = 64,
	  .body_label = 80,
	  .body_infos = 120,
	  .body_info_count = 136,
	  .body_info_table = 144,
	  .info_bytes = 12,
	  .length_in_flags = 1,
	  .last_operator = 169}},
	{3,
	 3,
	 {.frame_bytes = 56,
	  .body_bytes = 144,
	  .body_path = 64,
	  .body_label = 80,
	  .body_infos = 112,
	  .body_info_count = 128,
	  .body_info_table = 136,
	  .info_bytes = 12}},
};

/* That the source names. */
#define RUBY_IDS_MAX 0x10000

enum ruby_symbol {
	RUBY_VERSION, /* the text */
	RUBY_API,     /* the numbers */
	RUBY_CONTEXT,
	RUBY_EXEC,
	RUBY_IDS,     /* what they are called */
	RUBY_ALL_IDS, /* a function that begins with these */
	RUBY_SYMBOLS,
};

static const char *const ruby_symbols[RUBY_SYMBOLS] = {
	[RUBY_VERSION] = "ruby_version",    [RUBY_API] = "ruby_api_version",
	[RUBY_CONTEXT] = "ruby_current_ec", [RUBY_EXEC] = "rb_vm_exec",
	[RUBY_IDS] = "ruby_global_symbols", [RUBY_ALL_IDS] = "rb_sym_all_symbols",
};

struct ruby_search {
	struct {
		bool there;
		uint64_t vaddr, size;
	} found[RUBY_SYMBOLS];
};

static int ruby_look_at(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct ruby_search *s = ctx;

	if (strncmp(name, "rb_", 3) && strncmp(name, "ruby_", 5))
		return 0;
	for (size_t k = 0; k < RUBY_SYMBOLS; k++) {
		if (strcmp(name, ruby_symbols[k]) ||
		    (GELF_ST_TYPE(sym->st_info) == STT_TLS) != (k == RUBY_CONTEXT))
			continue;
		s->found[k].vaddr = sym->st_value;
		s->found[k].size = sym->st_size;
		s->found[k].there = true;
	}
	return 0;
}

static bool ruby_read_file(struct object *object, uint64_t vaddr, void *to, size_t size)
{
	uint64_t offset;

	return !object_vaddr_to_offset(object, vaddr, &offset) &&
	       pread(object_fd(object), to, size, (off_t)offset) == (ssize_t)size;
}

/*
 * Finds the table of IDs' names; 0: not found. It begins with the last ID's number. Three pointers
 * follow, which the loader finds in the file: as many as the source names, and nothing else.
 * rb_sym_all_symbols() first reads the pointer behind them: mov OFFSET(%rip),%REG.
 */
static uint64_t ruby_find_ids(struct object *object, const struct ruby_search *s)
{
	uint8_t code[64] = {0};
	uint64_t size = s->found[RUBY_ALL_IDS].size;

	if (s->found[RUBY_IDS].there)
		return s->found[RUBY_IDS].vaddr;
	if (!s->found[RUBY_ALL_IDS].there || size < sizeof(code) ||
	    !ruby_read_file(object, s->found[RUBY_ALL_IDS].vaddr, code, sizeof(code)))
		return 0;
	for (size_t i = 0; i + 7 <= sizeof(code); i++) {
		uint64_t ids[4], vaddr = s->found[RUBY_ALL_IDS].vaddr + i + 7 - 8;
		int32_t offset;

		if (code[i] != 0x48 || code[i + 1] != 0x8b || (code[i + 2] & 0xc7) != 5)
			continue;
		memcpy(&offset, code + i + 3, sizeof(offset));
		vaddr += (uint64_t)(int64_t)offset;
		if (ruby_read_file(object, vaddr, ids, sizeof(ids)) && ids[0] &&
		    ids[0] < RUBY_IDS_MAX && !ids[1] && !ids[2] && !ids[3])
			return vaddr;
	}
	return 0;
}

static int ruby_choose(struct object *object, const struct ruby_search *s, Elf *elf,
		       struct ruby_runtime *out, char reason[static REASON_MAX])
{
	int32_t version[3] = {0};
	GElf_Ehdr header;

	if (!ruby_read_file(object, s->found[RUBY_API].vaddr, version, sizeof(version)))
		return refuse(reason, -ENOTSUP, "it does not say its version");
	if (!ruby_read_file(object, s->found[RUBY_VERSION].vaddr, out->version,
			    s->found[RUBY_VERSION].size < sizeof(out->version)
				    ? s->found[RUBY_VERSION].size
				    : sizeof(out->version) - 1))
		out->version[0] = '\0';
	if (!gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64)
		return refuse(reason, -ENOTSUP, "that is done for x86-64 only");
	for (size_t i = 0; i < ARRAY_SIZE(ruby_layouts); i++) {
		if (ruby_layouts[i].major == version[0] && ruby_layouts[i].minor == version[1])
			out->row = ruby_layouts[i].row;
	}
	if (!out->row.frame_bytes)
		return refuse(reason, -ENOTSUP, "this version is not known (3.1 and 3.3 are)");
	if (!s->found[RUBY_CONTEXT].there || !s->found[RUBY_EXEC].vaddr ||
	    object_vaddr_to_offset(object, s->found[RUBY_EXEC].vaddr, &out->exec))
		return refuse(
			reason, -ENOTSUP, "it has no symbol %s: it is stripped",
			ruby_symbols[s->found[RUBY_CONTEXT].there ? RUBY_EXEC : RUBY_CONTEXT]);
	out->exec_end = out->exec + s->found[RUBY_EXEC].size;
	out->row.context = s->found[RUBY_CONTEXT].vaddr;
	if (out->row.last_operator)
		out->row.symbols = ruby_find_ids(object, s);
	return 0;
}

int ruby_find(struct object *object, struct ruby_runtime *out, char reason[static REASON_MAX])
{
	_cleanup_elf_ Elf *elf = NULL;
	struct ruby_search s = {0};

	*out = (struct ruby_runtime){0};
	if (!object_is_elf64(object) || object_is_vdso(object))
		return -ENOENT;
	elf = object_elf(object, ELF_FOR_SYMBOLS);
	if (!elf)
		return -EIO;
	elf_symbols(elf, SHT_DYNSYM, ruby_look_at, &s);
	if (!s.found[RUBY_API].vaddr)
		return -ENOENT;
	/* From 3.3 on these are not exported, and the last one never is. */
	if (!s.found[RUBY_CONTEXT].there || !s.found[RUBY_EXEC].there || !s.found[RUBY_IDS].there)
		elf_symbols(elf, SHT_SYMTAB, ruby_look_at, &s);
	return ruby_choose(object, &s, elf, out, reason);
}
