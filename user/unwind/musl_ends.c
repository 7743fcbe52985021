// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * musl's src/env/__libc_start_main.c has `exit(main(argc, argv, envp))`,
 * src/thread/pthread_create.c `__pthread_exit(args->start_func(args->start_arg))`. Both are an
 * indirect call, the result's move to the first argument, and a call that never returns. (AArch64
 * has result and argument in one register.) Their functions have no names in a shared library, but
 * lie in the same object files as some exported ones.
 */
#include "user/unwind/musl_ends.h"

#include <elf.h>
#include <endian.h>
#include <gelf.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/process/elf_open.h"
#include "user/process/elf_symbols.h"

/* Functions of one object file lie together; those two object files take less than half of it. */
#define ENDS_REACH 4096
/* Bytes of a call with a displacement. */
#define CALL_BYTES	   5
#define CALL_BYTES_AARCH64 4

/* By where they are linked; 0: not there. */
struct musl_symbols {
	uint64_t start_main, create, exit, thread_exit;
};

static int musl_look_at(void *ctx, const char *name, const GElf_Sym *sym)
{
	static const struct {
		const char *name;
		size_t member;
	} wanted[] = {
		{"__libc_start_main", offsetof(struct musl_symbols, start_main)},
		{"pthread_create", offsetof(struct musl_symbols, create)},
		{"exit", offsetof(struct musl_symbols, exit)},
		{"pthread_exit", offsetof(struct musl_symbols, thread_exit)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (!strcmp(name, wanted[i].name))
			*(uint64_t *)((char *)ctx + wanted[i].member) = sym->st_value;
	}
	return 0;
}

/* The file's code around an address. */
struct musl_code {
	uint64_t vaddr;
	size_t size;
	uint8_t bytes[2 * ENDS_REACH];
};

static bool musl_load(Elf *elf, int fd, uint64_t around, struct musl_code *code)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		uint64_t before, behind;
		GElf_Phdr ph;
		ssize_t n;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    !(ph.p_flags & PF_X) || around < ph.p_vaddr ||
		    around - ph.p_vaddr >= ph.p_filesz)
			continue;
		before = around - ph.p_vaddr;
		behind = ph.p_filesz - before;
		before = before < ENDS_REACH ? before : ENDS_REACH;
		behind = behind < ENDS_REACH ? behind : ENDS_REACH;
		code->vaddr = around - before;
		n = pread(fd, code->bytes, before + behind,
			  (off_t)(ph.p_offset + code->vaddr - ph.p_vaddr));
		code->size = n > 0 ? (size_t)n : 0;
		return n > 0;
	}
	return false;
}

/*
 * The length of the instructions before `end` that move a function's result to the first argument.
 * The result is a pointer, an int, or an int made a pointer.
 */
static size_t musl_move_before(const struct musl_code *code, size_t end)
{
	static const struct {
		uint8_t size, bytes[5];
	} moves[] = {
		{5, {0x48, 0x98, 0x48, 0x89, 0xc7}}, /* cltq; mov %rax,%rdi */
		{3, {0x48, 0x63, 0xf8}},	     /* movslq %eax,%rdi */
		{3, {0x48, 0x89, 0xc7}},	     /* mov %rax,%rdi */
		{2, {0x89, 0xc7}},		     /* mov %eax,%edi */
	};

	for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
		size_t size = moves[i].size;

		if (end >= size && !memcmp(code->bytes + end - size, moves[i].bytes, size))
			return size;
	}
	return 0;
}

/*
 * Does an indirect call end there (ff /2), by a register or by memory that it points to? Compilers
 * make no other for these two.
 */
static bool musl_called_before(const struct musl_code *code, size_t end)
{
	const uint8_t *p = code->bytes + end;

	if (end >= 2 && p[-2] == 0xff && (p[-1] & 0x38) == 0x10)
		return true;					    /* call *%rbx, call *(%rax) */
	return end >= 3 && p[-3] == 0xff && (p[-2] & 0xf8) == 0x50; /* call *8(%rax) */
}

/* Where the call of `target` at `at` has the place before it that a function returns to; false: it is something else. */
static bool musl_returned_to(const struct musl_code *code, size_t at, uint64_t target, size_t *to)
{
	int32_t displacement;
	size_t move;

	if (code->bytes[at] != 0xe8)
		return false;
	memcpy(&displacement, code->bytes + at + 1, sizeof(displacement));
	if (code->vaddr + at + CALL_BYTES + (uint64_t)(int64_t)displacement != target)
		return false;
	move = musl_move_before(code, at);
	*to = at - move;
	return move && musl_called_before(code, at - move);
}

static uint32_t musl_word(const struct musl_code *code, size_t at)
{
	uint32_t word;

	memcpy(&word, code->bytes + at, sizeof(word));
	return le32toh(word);
}

/* As musl_returned_to(). */
static bool musl_returned_to_aarch64(const struct musl_code *code, size_t at, uint64_t target,
				     size_t *to)
{
	uint32_t word = musl_word(code, at);
	int64_t displacement = (int32_t)(word << 6) >> 4; /* its lower 26 bits, in words */

	if (at % 4 || word >> 26 != 0x25 || /* bl */
	    code->vaddr + at + (uint64_t)displacement != target)
		return false;
	*to = at;
	if (at >= 8 && musl_word(code, at - 4) == 0x93407c00) /* sxtw x0, w0 */
		*to = at - 4;
	return *to >= 4 && (musl_word(code, *to - 4) & 0xfffffc1f) == 0xd63f0000; /* blr */
}

static int musl_ends_near(struct cfi *cfi, Elf *elf, int fd, uint64_t around, uint64_t target,
			  uint32_t rank)
{
	bool aarch64 = cfi->machine == EM_AARCH64;
	size_t call = aarch64 ? CALL_BYTES_AARCH64 : CALL_BYTES;
	struct musl_code code;
	int err = 0;

	if (!around || !target || !musl_load(elf, fd, around, &code))
		return 0;
	for (size_t at = 0; !err && at + call <= code.size; at++) {
		size_t to;

		/* A return address is looked up a byte earlier. */
		if (aarch64 ? musl_returned_to_aarch64(&code, at, target, &to)
			    : musl_returned_to(&code, at, target, &to))
			err = cfi_add(cfi, code.vaddr + to - 1, code.vaddr + at + call,
				      UNWIND_RULE_END, rank);
	}
	return err;
}

static bool musl_is_static(Elf *elf)
{
	size_t count;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_INTERP)
			return false;
	}
	return true;
}

int musl_ends_add(struct cfi *cfi, int fd, bool has_trampoline, uint32_t rank)
{
	_cleanup_elf_ Elf *elf = NULL;
	struct musl_symbols symbols = {0};
	char ignored[REASON_MAX];
	int err;

	if (elf_open(fd, ELF_FOR_SYMBOLS, ignored, &elf))
		return 0;
	if (!has_trampoline && !musl_is_static(elf))
		return 0;
	elf_symbols(elf, SHT_DYNSYM, musl_look_at, &symbols);
	/* A static program has them in .symtab only. */
	if (!symbols.start_main)
		elf_symbols(elf, SHT_SYMTAB, musl_look_at, &symbols);
	err = musl_ends_near(cfi, elf, fd, symbols.start_main, symbols.exit, rank);
	return err ?: musl_ends_near(cfi, elf, fd, symbols.create, symbols.thread_exit, rank);
}
