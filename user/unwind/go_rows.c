// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * C runs on its thread's own stack, g0's, and Go on a goroutine's, somewhere in the heap. Two
 * functions change from one to the other (src/runtime/asm_amd64.s); they leave there where their
 * callers are:
 *
 * - asmcgocall() calls C. It aligns g0's stack, and keeps there which goroutine it was, and how far
 *   below the end of its stack sp was.
 * - C calls cgocallback(), which calls Go. Its own frame is on g0's stack, where the next
 *   asmcgocall() begins.
 *
 * The code behind (and before) their calls has to undo the change: it tells the place in the frame.
 * Other functions that change stacks are the scheduler's.
 */
#include "user/unwind/go_rows.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/go_functions.h"

/* asmcgocall() and cgocallback() have 200 to 300 bytes. */
#define SWITCH_BYTES 1024

struct go_rows {
	struct cfi *cfi;
	const struct go_functions *functions;
	Elf *elf;
	int fd;
	uint32_t rank;
	/* values that may still be looked at: functions may share them, but hardly do */
	uint64_t left;
	/* bytes that asmcgocall() goes down on g0's stack before it aligns it; 0: unknown */
	int32_t aside;
};

struct go_code {
	uint8_t bytes[SWITCH_BYTES];
	size_t size;
};

static void go_rows_load(const struct go_rows *r, const struct go_function *f, struct go_code *code)
{
	size_t count;

	code->size = 0;
	if (elf_getphdrnum(r->elf, &count) || f->end - f->start > SWITCH_BYTES)
		return;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr ph;
		ssize_t n;

		if (!gelf_getphdr(r->elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    f->start < ph.p_vaddr || f->end - ph.p_vaddr > ph.p_filesz)
			continue;
		n = pread(r->fd, code->bytes, f->end - f->start,
			  (off_t)(ph.p_offset + f->start - ph.p_vaddr));
		code->size = n > 0 ? (size_t)n : 0;
		return;
	}
}

/* A displacement or immediate of one byte, with its sign. */
static int32_t go_rows_signed(uint8_t byte)
{
	return byte < 0x80 ? byte : (int32_t)byte - 0x100;
}

/*
 * Is `code` at *at the instruction with these first bytes, and a displacement of a byte behind
 * them? Moves *at behind it. With base rsp, 0 has a form without displacement: its ModRM byte is
 * 0x40 less.
 */
static bool go_rows_take(const struct go_code *code, size_t *at, const uint8_t opcode[static 4],
			 size_t size, int32_t *displacement)
{
	const uint8_t *p = code->bytes + *at;

	if (*at + size + 1 > code->size)
		return false;
	if (!memcmp(p, opcode, size)) {
		*displacement = go_rows_signed(p[size]);
		*at += size + 1;
		return true;
	}
	if (size != 4 || memcmp(p, opcode, 2) || p[2] != opcode[2] - 0x40 || p[3] != opcode[3])
		return false;
	*displacement = 0;
	*at += size;
	return true;
}

static int go_rows_put(struct go_rows *r, uint64_t start, const struct unwind_rule *rule)
{
	int number = cfi_rules_add(r->cfi->rules, rule);

	return number < 0 ? number : cfi_add_row(r->cfi, start, (uint32_t)number);
}

/* Puts a rule for the return address of the call at `at`, and none behind it. */
static int go_rows_put_call(struct go_rows *r, const struct go_function *f, size_t at, size_t size,
			    const struct unwind_rule *rule)
{
	return go_rows_put(r, f->start + at, rule)
		       ?: cfi_add_row(r->cfi, f->start + at + size, UNWIND_RULE_UNSUPPORTED);
}

/*
 * Is it call *%rax, or from 1.21 on a call of code that does that? Returns its bytes; 0: it is no
 * call.
 */
static size_t go_rows_call(const struct go_code *code, size_t at)
{
	const uint8_t *p = code->bytes + at;

	if (at + 5 > code->size)
		return 0;
	return p[0] == 0xff && p[1] == 0xd0 ? 2 : p[0] == 0xe8 ? 5 : 0;
}

/* ---- from C to Go ------------------------------------------------------------------------- */

/* sub $N,%rsp; and $-16,%rsp: the last one before the call. 0: none. */
static int32_t go_rows_aside(const struct go_code *code, size_t call)
{
	static const uint8_t sub[] = {0x48, 0x83, 0xec, 0}, and[] = {0x48, 0x83, 0xe4, 0xf0};
	int32_t aside = 0;

	for (size_t at = 0; at + 8 <= call; at++) {
		if (!memcmp(code->bytes + at, sub, 3) &&
		    !memcmp(code->bytes + at + 4, and, sizeof(and)))
			aside = go_rows_signed(code->bytes[at + 3]);
	}
	return aside;
}

/*
 * Skips the load of the register for thread-local variables, which may come first: mov
 * $OFFSET,%rcx; mov OFFSET(%rip),%rcx.
 */
static size_t go_rows_skip_tls(const struct go_code *code, size_t at)
{
	static const uint8_t value[] = {0x48, 0xc7, 0xc1}, loaded[] = {0x48, 0x8b, 0x0d};

	if (at + 7 > code->size || (memcmp(code->bytes + at, value, sizeof(value)) &&
				    memcmp(code->bytes + at, loaded, sizeof(loaded))))
		return at;
	return at + 7;
}

/* Has the function put the frame pointer on the stack before anything else, as from 1.21 on? */
static int32_t go_rows_pushed(const struct go_code *code)
{
	static const uint8_t push[] = {0x55, 0x48, 0x89, 0xe5}; /* push %rbp; mov %rsp,%rbp */

	return code->size >= sizeof(push) && !memcmp(code->bytes, push, sizeof(push)) ? 8 : 0;
}

/*
 * Behind the call, if the function changed to g0's stack: mov G(%rsp),%rdi; mov HI(%rdi),%rsi; sub
 * DEPTH(%rsp),%rsi.
 */
static bool go_rows_changed(const struct go_code *code, size_t at, struct unwind_rule *rule)
{
	static const uint8_t mov_g[] = {0x48, 0x8b, 0x7c, 0x24}, mov_end[] = {0x48, 0x8b, 0x77, 0},
			     sub_depth[] = {0x48, 0x2b, 0x74, 0x24};
	int32_t g, end, depth;

	at = go_rows_skip_tls(code, at);
	if (!go_rows_take(code, &at, mov_g, 4, &g) || !go_rows_take(code, &at, mov_end, 3, &end) ||
	    !go_rows_take(code, &at, sub_depth, 4, &depth))
		return false;
	*rule = (struct unwind_rule){.cfa = UNWIND_CFA_GO_CALL,
				     .cfa_off = g,
				     .cfa_add = (int16_t)end,
				     .fp_off = go_rows_pushed(code),
				     .ra_off = depth};
	return true;
}

/* Behind the call, if it was on g0's stack already: mov SP(%rsp),%rsi; mov %rsi,%rsp. */
static bool go_rows_aligned(const struct go_code *code, size_t at, struct unwind_rule *rule)
{
	static const uint8_t mov_sp[] = {0x48, 0x8b, 0x74, 0x24}, back[] = {0x48, 0x89, 0xf4};
	int32_t sp;

	if (!go_rows_take(code, &at, mov_sp, 4, &sp) || at + sizeof(back) > code->size ||
	    memcmp(code->bytes + at, back, sizeof(back)) != 0)
		return false;
	*rule = (struct unwind_rule){.cfa = UNWIND_CFA_SP_DEREF,
				     .fp = UNWIND_FP_LOST,
				     .cfa_off = sp,
				     .cfa_add = (int16_t)(8 + go_rows_pushed(code)),
				     .ra_off = -8};
	return true;
}

static int go_rows_asmcgocall(struct go_rows *r, const struct go_function *f,
			      const struct go_code *code)
{
	int err = cfi_add_row(r->cfi, f->start, UNWIND_RULE_UNSUPPORTED);

	for (size_t call = 0; !err && call < code->size; call++) {
		size_t size = go_rows_call(code, call);
		struct unwind_rule rule;

		if (size && go_rows_changed(code, call + size, &rule)) {
			r->aside = go_rows_aside(code, call);
			err = go_rows_put_call(r, f, call, size, &rule);
			call += size - 1;
		} else if (size && go_rows_aligned(code, call + size, &rule)) {
			err = go_rows_put_call(r, f, call, size, &rule);
			call += size - 1;
		}
	}
	return err;
}

/* ---- from Go to C that has called it ------------------------------------------------------ */

/*
 * The size of cgocallback()'s frame, and the frame pointer's place in it: sub $N,%rsp; mov
 * %rbp,M(%rsp). From 1.21 on: push %rbp; mov %rsp,%rbp; sub $N,%rsp.
 */
static bool go_rows_frame(const struct go_code *code, int32_t *size, int32_t *fp)
{
	static const uint8_t sub[] = {0x48, 0x83, 0xec, 0}, save[] = {0x48, 0x89, 0x6c, 0x24};
	size_t at = go_rows_pushed(code) ? 4 : 0;

	if (!go_rows_take(code, &at, sub, 3, size))
		return false;
	if (!go_rows_pushed(code))
		return go_rows_take(code, &at, save, 4, fp);
	*fp = *size;
	*size += 8;
	return true;
}

/* Behind its call of Go: lea N(%rsp),%rax, the arguments' address; sub %rsp,%rax. */
static bool go_rows_called_go(const struct go_code *code, size_t at)
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x44, 0x24}, sub[] = {0x48, 0x29, 0xe0};
	int32_t arguments;

	return go_rows_take(code, &at, lea, 4, &arguments) && at + sizeof(sub) <= code->size &&
	       !memcmp(code->bytes + at, sub, sizeof(sub));
}

static int go_rows_cgocallback(struct go_rows *r, const struct go_function *f,
			       const struct go_code *code)
{
	int err = cfi_add_row(r->cfi, f->start, UNWIND_RULE_UNSUPPORTED);
	int32_t frame, fp;

	if (err || !r->aside || !go_rows_frame(code, &frame, &fp))
		return err;
	for (size_t call = 0; !err && call < code->size; call++) {
		const struct unwind_rule rule = {.cfa = UNWIND_CFA_GO_CALLBACK,
						 .cfa_off = r->aside,
						 .fp_off = fp,
						 .ra_off = frame};
		size_t size = go_rows_call(code, call);

		if (size && go_rows_called_go(code, call + size)) {
			err = go_rows_put_call(r, f, call, size, &rule);
			call += size - 1;
		}
	}
	return err;
}

/* ---- all functions ------------------------------------------------------------------------ */

/* Is it that function of the runtime? Functions in assembler may have their ABI in the name. */
static bool go_rows_is(const struct go_function *f, const char *name)
{
	size_t size = strlen(name);

	return !strncmp(f->name, "runtime.", 8) && !strncmp(f->name + 8, name, size) &&
	       (!f->name[8 + size] || !strcmp(f->name + 8 + size, ".abi0"));
}

/*
 * Does a stack of Go's end there? The scheduler runs where mcall() has left a goroutine: nobody has
 * called it.
 */
static bool go_rows_is_top(const struct go_function *f)
{
	static const char *const names[] = {"goexit", "mcall", "mstart", "rt0_go"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (go_rows_is(f, names[i]))
			return true;
	}
	return f->flags & GO_FUNCTION_TOP;
}

static bool go_rows_changes_stack(const struct go_function *f)
{
	static const char *const names[] = {"systemstack", "morestack", "gogo"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (go_rows_is(f, names[i]))
			return true;
	}
	return f->flags & GO_FUNCTION_WRITES_SP;
}

/*
 * sp alone says where the caller is. Go's own frame pointers are no help. Below a stack's first
 * function there is nothing.
 */
static int go_rows_plain(struct go_rows *r, const struct go_function *f)
{
	/* C calls crosscall2(), and may find its own caller by the frame pointer. */
	bool from_c = !strcmp(f->name, "crosscall2");
	struct go_values v = go_values_of(r->functions, f, f->sp_values);
	uint32_t last = UINT32_MAX;
	int err = 0;

	for (; !err && r->left && go_values_next(&v) && v.pc < f->end; r->left--) {
		struct unwind_rule rule = {.cfa = UNWIND_CFA_SP,
					   .fp = !v.value ? UNWIND_FP_SAME
						 : from_c ? UNWIND_FP_CFA
							  : UNWIND_FP_LOST,
					   .fp_off = v.value && from_c ? -16 : 0,
					   .ra_off = -8};
		int number = UNWIND_RULE_UNSUPPORTED;

		if (v.value >= 0 && v.value < INT32_MAX - 8) {
			rule.cfa_off = (int32_t)v.value + 8;
			number = cfi_rules_add(r->cfi->rules, &rule);
		}
		if (number < 0)
			return number;
		if ((uint32_t)number != last)
			err = cfi_add_row(r->cfi, v.pc, (uint32_t)number);
		last = (uint32_t)number;
	}
	return err;
}

static int go_rows_function(struct go_rows *r, const struct go_function *f)
{
	struct cfi_function function = {
		.start = f->start, .end = f->end, .first = r->cfi->row_count, .rank = r->rank};
	/* Other functions of these names only pass arguments on, from one ABI to the other. */
	bool itself = !f->flags_known || f->flags & GO_FUNCTION_WRITES_SP;
	bool call = itself && go_rows_is(f, "asmcgocall");
	bool back = itself && go_rows_is(f, "cgocallback");
	bool x86 = r->cfi->machine == EM_X86_64;
	struct go_code code;
	int err = 0;

	if (call || back)
		go_rows_load(r, f, &code);
	if (call && x86)
		err = go_rows_asmcgocall(r, f, &code);
	else if (back && x86)
		err = go_rows_cgocallback(r, f, &code);
	else if (go_rows_is_top(f))
		err = cfi_add_row(r->cfi, f->start, UNWIND_RULE_END);
	else if (call || back || go_rows_changes_stack(f))
		err = cfi_add_row(r->cfi, f->start, UNWIND_RULE_UNSUPPORTED);
	else if (x86)
		err = go_rows_plain(r, f);
	function.count = r->cfi->row_count - function.first;
	return err ?: function.count ? cfi_add_function(r->cfi, &function) : 0;
}

int go_rows_read(struct cfi *cfi, Elf *elf, int fd, uint32_t rank)
{
	struct go_rows r = {.cfi = cfi, .elf = elf, .fd = fd, .rank = rank};
	struct go_functions *functions = NULL;
	int err = go_functions_read(elf, fd, &functions);

	if (err)
		return err == -ENOENT ? 0 : err;
	r.functions = functions;
	r.left = go_functions_bytes(functions);
	for (size_t i = 0; !err && i < go_functions_count(functions); i++) {
		struct go_function f;

		if (go_functions_at(functions, i, &f))
			err = go_rows_function(&r, &f);
	}
	if (!r.left)
		log_debug("a Go program's functions share so much that the last ones have no rows");
	go_functions_free(functions);
	return err;
}
