// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/target/wrapper.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "user/base/log.h"
#include "user/base/util.h"

/*
 * An allocator's function of its own, with a fast path beside the call, is longer than this; libstdc++'s and jemalloc's
 * wrappers measure 5 to 81 bytes.
 */
#define MAX_WRAPPER_BYTES 96

struct context {
	struct provider *provider;
	Elf *elf;
	const struct provider_options *options;
};

/* The value of the symbol that the dynamic linker stores into a GOT slot, 0 when it is another object's. */
static uint64_t symbol_in_got(Elf *elf, uint64_t slot)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr sh, symbols_header;
		Elf_Data *data, *symbols;
		Elf_Scn *symbol_section;

		if (!gelf_getshdr(section, &sh) || sh.sh_type != SHT_RELA ||
		    !(sh.sh_flags & SHF_ALLOC) || sh.sh_entsize == 0)
			continue;
		symbol_section = elf_getscn(elf, sh.sh_link);
		if (!symbol_section || !gelf_getshdr(symbol_section, &symbols_header) ||
		    symbols_header.sh_type != SHT_DYNSYM)
			continue;
		data = elf_getdata(section, NULL);
		symbols = elf_getdata(symbol_section, NULL);
		if (!data || !symbols)
			continue;
		for (size_t i = 0; i < data->d_size / sh.sh_entsize && i < INT32_MAX; i++) {
			GElf_Rela rela;
			GElf_Sym sym;

			if (!gelf_getrela(data, (int)i, &rela))
				break;
			if (rela.r_offset != slot)
				continue;
			if (!gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &sym))
				return 0;
			return sym.st_shndx == SHN_UNDEF ? 0 : sym.st_value;
		}
	}
	return 0;
}

static size_t read_code(const struct object *object, uint64_t vaddr, uint8_t *code, size_t size)
{
	uint64_t offset;
	ssize_t n;

	if (object_vaddr_to_offset(object, vaddr, &offset) || !object_is_code(object, offset))
		return 0;
	n = pread(object_fd(object), code, size, (off_t)offset);
	return n < 0 ? 0 : (size_t)n;
}

#if defined(__x86_64__)

/* Where a PLT entry jumps: [endbr64] [bnd] jmp *slot(%rip). 0 when the code is something else. */
static uint64_t plt_slot(const uint8_t *code, size_t len, uint64_t vaddr)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = 0;
	int32_t displacement;

	if (len >= 4 && !memcmp(code, endbr64, 4))
		at = 4;
	if (at < len && code[at] == 0xf2)
		at++;
	if (len < at + 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	memcpy(&displacement, code + at + 2, 4);
	return vaddr + at + 6 + (uint64_t)(int64_t)displacement;
}

/*
 * A possible target of a direct call or jump whose encoding begins at code[at]. Bytes in the middle of other instructions are looked at too:
 * that a wrong one names a function of the provider exactly is out of the question.
 */
static bool branch_at(const uint8_t *code, size_t len, uint64_t vaddr, size_t at, uint64_t *target)
{
	int32_t displacement;

	if (at + 5 > len || (code[at] != 0xe8 && code[at] != 0xe9))
		return false;
	memcpy(&displacement, code + at + 1, 4);
	*target = vaddr + at + 5 + (uint64_t)(int64_t)displacement;
	return true;
}
#define BRANCH_STEP 1

#elif defined(__aarch64__)

/* [bti] adrp x16, page; ldr x17, [x16, #n] */
static uint64_t plt_slot(const uint8_t *code, size_t len, uint64_t vaddr)
{
	uint32_t adrp, ldr;
	uint64_t page;
	size_t at = 0;

	if (len < 12)
		return 0;
	memcpy(&adrp, code, 4);
	if (adrp == 0xd503245f) /* bti c */
		at = 4;
	memcpy(&adrp, code + at, 4);
	memcpy(&ldr, code + at + 4, 4);
	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return 0;
	page = (((uint64_t)adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3)) << 12;
	if (page & 1ULL << 32)
		page |= 0xfffffffe00000000ULL;
	return ((vaddr + at) & ~0xfffULL) + page + ((uint64_t)(ldr >> 10 & 0xfff) << 3);
}

/* b and bl */
static bool branch_at(const uint8_t *code, size_t len, uint64_t vaddr, size_t at, uint64_t *target)
{
	uint32_t instruction;
	uint64_t distance;

	if (at + 4 > len)
		return false;
	memcpy(&instruction, code + at, 4);
	if ((instruction & 0x7c000000) != 0x14000000)
		return false;
	distance = ((uint64_t)instruction & 0x3ffffff) << 2;
	if (distance & 1ULL << 27)
		distance |= 0xfffffffff0000000ULL;
	*target = vaddr + at + distance;
	return true;
}
#define BRANCH_STEP 4

#endif

static struct provider_fn *fn_at_vaddr(const struct context *c, uint64_t vaddr)
{
	uint64_t offset;

	if (vaddr == 0 || object_vaddr_to_offset(c->provider->object, vaddr, &offset))
		return NULL;
	for (size_t i = 0; i < c->provider->count; i++) {
		if (c->provider->fns[i].offset == offset)
			return &c->provider->fns[i];
	}
	return NULL;
}

/* The provider's function that a branch target means, directly or through the PLT. */
static struct provider_fn *fn_of_target(const struct context *c, uint64_t vaddr)
{
	struct provider_fn *fn = fn_at_vaddr(c, vaddr);
	uint8_t code[16];
	uint64_t slot;
	size_t len;

	if (fn)
		return fn;
	len = read_code(c->provider->object, vaddr, code, sizeof(code));
	slot = plt_slot(code, len, vaddr);
	return slot ? fn_at_vaddr(c, symbol_in_got(c->elf, slot)) : NULL;
}

static bool is_custom(const struct context *c, const struct alloc_fn *fn)
{
	return fn >= c->options->custom && fn < c->options->custom + c->options->custom_count;
}

/* The function that fn hands on to, NULL when it does the work itself. */
static struct provider_fn *callee(const struct context *c, const struct provider_fn *fn)
{
	uint8_t code[MAX_WRAPPER_BYTES];
	uint64_t vaddr, target;
	size_t len;

	if (is_custom(c, fn->fn) || (fn->fn->op != OP_FREE && !fn->fn->cxx) || fn->size == 0 ||
	    fn->size > sizeof(code) ||
	    object_offset_to_vaddr(c->provider->object, fn->offset, &vaddr))
		return NULL;
	len = read_code(c->provider->object, vaddr, code, (size_t)fn->size);
	for (size_t at = 0; at < len; at += BRANCH_STEP) {
		struct provider_fn *other;

		if (!branch_at(code, len, vaddr, at, &target) || target - vaddr < fn->size)
			continue;
		other = fn_of_target(c, target);
		if (other && other != fn && (other->fn->op == OP_FREE) == (fn->fn->op == OP_FREE))
			return other;
	}
	return NULL;
}

void wrapper_remove(struct provider *provider, Elf *elf, const struct provider_options *options)
{
	struct context c = {.provider = provider, .elf = elf, .options = options};
	_cleanup_free_ struct provider_fn **calls =
		calloc(provider->count, sizeof(struct provider_fn *));
	size_t kept = 0;

	if (!calls)
		return;
	for (size_t i = 0; i < provider->count; i++) {
		struct provider_fn *end = callee(&c, &provider->fns[i]);

		/* A chain of wrappers ends at one that stays; in a circle the last one looked at does. */
		while (end && calls[end - provider->fns])
			end = calls[end - provider->fns];
		if (end != &provider->fns[i])
			calls[i] = end;
	}
	for (size_t i = 0; i < provider->count; i++) {
		if (calls[i]) {
			log_debug("%s: %s only calls %s", object_name(provider->object),
				  provider->fns[i].name, calls[i]->name);
			free(provider->fns[i].name);
		} else {
			provider->fns[kept++] = provider->fns[i];
		}
	}
	provider->count = kept;
}
