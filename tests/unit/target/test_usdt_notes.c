// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/target/cached.h"
#include "tests/unit/test_proc_child.h"
#include "bpf/alloc_op.h"
#include "user/base/util.h"
#include "user/target/provider.h"
#include "user/target/usdt_args.h"
#include "user/target/usdt_notes.h"

/* ---- arguments ---------------------------------------------------------------------------- */

#define NONE USDT_NO_REGISTER

struct sample {
	const char *text;
	struct usdt_arg arg;
};

#define CONSTANT(w, s, v)                                                                        \
	{                                                                                        \
		.kind = USDT_CONSTANT, .size = (w), .is_signed = (s), .value = (v), .reg = NONE, \
		.index = NONE                                                                    \
	}
#define REGISTER(w, s, r)                                                                       \
	{                                                                                       \
		.kind = USDT_REGISTER, .size = (w), .is_signed = (s), .reg = (r), .index = NONE \
	}
#define MEMORY(w, s, r, v)                                                                     \
	{                                                                                      \
		.kind = USDT_MEMORY, .size = (w), .is_signed = (s), .reg = (r), .index = NONE, \
		.value = (v)                                                                   \
	}
#define INDEXED(w, s, r, i, n, v)                                                             \
	{                                                                                     \
		.kind = USDT_MEMORY, .size = (w), .is_signed = (s), .reg = (r), .index = (i), \
		.shift = (n), .value = (v)                                                    \
	}

/* Words of struct pt_regs: <asm/ptrace.h>. */
static const struct sample x86_64_samples[] = {
	{"8@%rdi", REGISTER(8, 0, 14)},
	{"-4@$5", CONSTANT(4, 1, 5)},
	{"4@$-5", CONSTANT(4, 0, -5)},
	{"8@16(%rsp)", MEMORY(8, 0, 19, 16)},
	{"8@-24(%rbp)", MEMORY(8, 0, 4, -24)},
	{"2@(%r15)", MEMORY(2, 0, 0, 0)},
	{"-1@%al", REGISTER(1, 1, 10)},
	{"2@%cx", REGISTER(2, 0, 11)},
	{"4@%r8d", REGISTER(4, 0, 9)},
	{"1@%dil", REGISTER(1, 0, 14)},
	{"8@8(%rax,%rdx)", INDEXED(8, 0, 10, 12, 0, 8)},
	{"8@(%rbx,%r12,8)", INDEXED(8, 0, 5, 3, 3, 0)},
	{"8@(%rbx,%r12,1)", INDEXED(8, 0, 5, 3, 0, 0)},
};

static const struct sample aarch64_samples[] = {
	{"8@x0", REGISTER(8, 0, 0)},
	{"-4@w19", REGISTER(4, 1, 19)},
	{"8@sp", REGISTER(8, 0, 31)},
	{"-4@5", CONSTANT(4, 1, 5)},
	{"8@-5", CONSTANT(8, 0, -5)},
	{"8@[sp, 16]", MEMORY(8, 0, 31, 16)},
	{"8@[x29, -8]", MEMORY(8, 0, 29, -8)},
	{"8@[sp, #16]", MEMORY(8, 0, 31, 16)},
	{"8@[x30]", MEMORY(8, 0, 30, 0)},
	{"8@[x1, x2]", INDEXED(8, 0, 1, 2, 0, 0)},
	{"8@[x1, x2, lsl 3]", INDEXED(8, 0, 1, 2, 3, 0)},
	{"8@[x1, x2, lsl #2]", INDEXED(8, 0, 1, 2, 2, 0)},
};

typedef int parse(const char *text, struct usdt_arg *args, size_t count);

static void check_samples(const struct sample *samples, size_t count, parse *parse)
{
	for (size_t i = 0; i < count; i++) {
		char text[128];
		struct usdt_arg args[3];

		memset(args, 0x55, sizeof(args));
		print_message("%s\n", samples[i].text);
		assert_int_equal(parse(samples[i].text, args, 1), 0);
		assert_memory_equal(&args[0], &samples[i].arg, sizeof(args[0]));
		/* What follows those that are wanted may be anything. */
		snprintf(text, sizeof(text), " %s  %s foo@bar", samples[i].text, samples[i].text);
		assert_int_equal(parse(text, args, 2), 0);
		assert_memory_equal(&args[1], &samples[i].arg, sizeof(args[1]));
		assert_int_equal(parse(text, args, 3), -ENOTSUP);
		/* A text that ends in the middle is none. */
		snprintf(text, sizeof(text), "%s %s", samples[i].text, samples[i].text);
		assert_int_equal(parse(text, args, 3), -ENODATA);
		snprintf(text, sizeof(text), "%s@", samples[i].text);
		assert_int_equal(parse(text, args, 1), -ENOTSUP);
		for (size_t n = strcspn(samples[i].text, "@") + 1; n; n--) {
			snprintf(text, n + 1, "%s", samples[i].text);
			assert_int_equal(parse(text, args, 1), -ENOTSUP);
		}
	}
}

static void test_arguments_x86_64(void **state)
{
	(void)state;
	check_samples(x86_64_samples, ARRAY_SIZE(x86_64_samples), usdt_args_parse_x86_64);
}

static void test_arguments_aarch64(void **state)
{
	(void)state;
	check_samples(aarch64_samples, ARRAY_SIZE(aarch64_samples), usdt_args_parse_aarch64);
}

static void test_arguments_refused(void **state)
{
	static const char *const x86_64[] = {
		"%rdi",
		"@%rdi",
		"3@%rdi",
		"16@%rdi",
		"0@%rdi",
		"-@%rdi",
		"--8@%rdi",
		"8f@%xmm0",
		"8@%xmm0",
		"8@%ah",
		"8@%rip",
		"8@%",
		"8@$",
		"8@$x",
		"8@$1x",
		"8@symbol(%rip)",
		"8@8(%rip)",
		"8@8(%edi)",
		"8@8",
		"8@8(",
		"8@8(%rdi",
		"8@8(%rdi)x",
		"8@8(%rdi,",
		"8@8(%rdi,%rsi,3)",
		"8@8(%rdi,%rsi,16)",
		"8@(,%rsi,8)",
		"8@%rdi%rsi",
		"8@%rdi\t",
		"8@$1234567890123456789",
		"8@12345678901234567890(%rsp)",
		"8@%rdirdirdirdi",
		"9223372036854775808@%rdi",
		"8 @%rdi",
		"8@ %rdi",
		"\xff@%rdi",
	};
	static const char *const aarch64[] = {
		"x0",
		"8@x31",
		"8@x",
		"8@w",
		"8@x-1",
		"8@v0",
		"8@d0",
		"8@[w0]",
		"8@[x0",
		"8@[x0, ]",
		"8@[x0, 8",
		"8@[x0, x1, lsl 4]",
		"8@[x0, x1, lsr 1]",
		"8@[x0]!",
		"8@[",
		"8@",
		"8@xzr",
		"8@x00000000",
		"8@[x0, x1, lsl -1]",
	};
	struct usdt_arg args[3];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(x86_64); i++) {
		print_message("%s\n", x86_64[i]);
		assert_int_equal(usdt_args_parse_x86_64(x86_64[i], args, 1), -ENOTSUP);
	}
	for (size_t i = 0; i < ARRAY_SIZE(aarch64); i++) {
		print_message("%s\n", aarch64[i]);
		assert_int_equal(usdt_args_parse_aarch64(aarch64[i], args, 1), -ENOTSUP);
	}
	assert_int_equal(usdt_args_parse("", args, 1), -ENODATA);
	assert_int_equal(usdt_args_parse("  ", args, 1), -ENODATA);
	assert_int_equal(usdt_args_parse("", args, 0), 0);
}

/* ---- notes -------------------------------------------------------------------------------- */

/* As <sys/sdt.h> writes them, but for what is wrong on purpose. */
static const char notes[] =
	"#define STRING(text) \".asciz \\\"\" text \"\\\"\\n\"\n"
	"#define NOTE_OF(pc, base, semaphore, strings) __asm__(                         \\\n"
	"	\".pushsection .note.stapsdt,\\\"\\\",\\\"note\\\"\\n.balign 4\\n\"     \\\n"
	"	\".4byte 992f-991f,994f-993f,3\\n991: .asciz \\\"stapsdt\\\"\\n\"       \\\n"
	"	\"992: .balign 4\\n993: .8byte \" pc \"\\n.8byte \" base \"\\n\"        \\\n"
	"	\".8byte \" semaphore \"\\n\" strings \"994: .balign 4\\n.popsection\");\n"
	"#define NOTE(pc, semaphore, provider, name, args)                              \\\n"
	"	NOTE_OF(pc, \"0\", semaphore,                                           \\\n"
	"		STRING(provider) STRING(name) STRING(args))\n"
#if defined(__x86_64__)
	"#define A1 \"8@%rdi\"\n"
	"#define A3 \"8@%rdi 8@16(%rsp) 8@$5\"\n"
#else
	"#define A1 \"8@x0\"\n"
	"#define A3 \"8@x0 8@[sp, 16] 8@5\"\n"
#endif
	"#define ALLOC(pc, semaphore, args) NOTE(pc, semaphore, \"otel_memory\", \"alloc\", args)\n"
	"#define FREE(pc, semaphore, args) NOTE(pc, semaphore, \"otel_memory\", \"free\", args)\n"
	"__attribute__((used)) unsigned short before = 1, wanted = 0x1234;\n"
	"__attribute__((used)) static char bss[64];\n"
	"__attribute__((used)) void first(void) { __asm__(\"nop; nop; nop; nop\"); }\n"
	"__attribute__((used)) void second(void) { __asm__(\"nop; nop; nop; nop\"); }\n"
	"__attribute__((used)) void third(void) { __asm__(\"nop; nop; nop; nop\"); }\n";

/* Builds a library with those notes, and looks. The directory is removed. */
static int find(const char *rest, struct provider **provider)
{
	char directory[32], path[64];
	struct object *object;
	FILE *file;
	int err;

	make_directory(directory);
	snprintf(path, sizeof(path), "%s/a.c", directory);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fprintf(file, "%s%s", notes, rest) > 0);
	assert_int_equal(fclose(file), 0);
	run_tool("gcc -O2 -fPIC -shared -o %s/a.so %s", directory, path);
	snprintf(path, sizeof(path), "%s/a.so", directory);
	assert_int_equal(object_cache_open(cache, path, &object), 0);
	err = usdt_find(object, provider);
	object_unref(object);
	run_tool("rm -r %s", directory);
	return err;
}

static void test_found(void **state)
{
	static const uint8_t wanted[] = {0x34, 0x12};
	struct provider *provider;
	uint8_t bytes[2];

	(void)state;
	need_tool("gcc");
	assert_int_equal(find("ALLOC(\"first\", \"wanted\", A3) FREE(\"second\", \"0\", A1)\n"
			      "ALLOC(\"third\", \"wanted\", A3)\n"
			      /* The same once more; others' probes, and other names. */
			      "FREE(\"second\", \"0\", A1)\n"
			      "NOTE(\"first\", \"0\", \"libc\", \"alloc\", \"\")\n"
			      "NOTE(\"first\", \"0\", \"otel_memory\", \"alloc_v2\", \"\")\n"
			      "NOTE(\"first\", \"0\", \"otel_memory\", \"mmap\", \"\")\n",
			      &provider),
			 0);
	assert_int_equal(provider->count, 3);
	for (size_t i = 0; i < provider->count; i++) {
		const struct provider_fn *fn = &provider->fns[i];

		assert_true(object_is_code(provider->object, fn->offset));
		assert_int_equal(fn->fn->op, i == 1 ? OP_USDT_FREE : OP_USDT_ALLOC);
		assert_string_equal(fn->name, i == 1 ? "otel_memory:free" : "otel_memory:alloc");
		assert_int_equal(fn->note->spec.args[0].kind, USDT_REGISTER);
		if (i == 1) {
			assert_int_equal(fn->note->semaphore, 0);
			continue;
		}
		assert_int_equal(fn->note->spec.args[1].kind, USDT_MEMORY);
		assert_int_equal(fn->note->spec.args[1].value, 16);
		assert_int_equal(fn->note->spec.args[2].kind, USDT_CONSTANT);
		assert_int_equal(pread(object_fd(provider->object), bytes, sizeof(bytes),
				       (off_t)fn->note->semaphore),
				 sizeof(bytes));
		assert_memory_equal(bytes, wanted, sizeof(bytes));
	}
	assert_int_not_equal(provider->fns[0].offset, provider->fns[2].offset);
	provider_free(provider);
}

/* What prelink has moved: the note has the places of before, and where the base was then. */
static void test_moved(void **state)
{
	struct provider *provider, *moved;

	(void)state;
	need_tool("gcc");
#define BASE                                                                   \
	"__asm__(\".pushsection .stapsdt.base,\\\"a\\\"\\nbase: .space 1\\n\"" \
	"\".popsection\");\n"
	assert_int_equal(find(BASE "ALLOC(\"first\", \"wanted\", A3) FREE(\"second\", \"0\", A1)\n",
			      &provider),
			 0);
	assert_int_equal(find(BASE "NOTE_OF(\"first-64\", \"base-64\", \"wanted-64\", "
				   "STRING(\"otel_memory\") STRING(\"alloc\") STRING(A3))\n"
				   "FREE(\"second\", \"0\", A1)\n",
			      &moved),
			 0);
	assert_int_equal(moved->fns[0].offset, provider->fns[0].offset);
	assert_int_equal(moved->notes[0].semaphore, provider->notes[0].semaphore);
	provider_free(provider);
	provider_free(moved);
}

static void test_refused(void **state)
{
	static const char *const wrong[] = {
		"", /* nothing */
		"ALLOC(\"first\", \"0\", A3)",
		"FREE(\"first\", \"0\", A1)",
		/* one place for two */
		"ALLOC(\"first\", \"0\", A3) FREE(\"first\", \"0\", A1)",
		/* arguments that are missing, or cannot be read */
		"ALLOC(\"first\", \"0\", A1) FREE(\"second\", \"0\", A1)",
		"ALLOC(\"first\", \"0\", A3) FREE(\"second\", \"0\", \"\")",
		"ALLOC(\"first\", \"0\", A3) FREE(\"second\", \"0\", \"8@%xmm0\")",
		/* one bad copy of an inlined function is enough: its blocks would be missed */
		"ALLOC(\"first\", \"0\", A3) FREE(\"second\", \"0\", A1) ALLOC(\"third\", \"0\", "
		"\"8@x\")",
		/* places that are no code, or nowhere */
		"ALLOC(\"wanted\", \"0\", A3) FREE(\"second\", \"0\", A1)",
		"ALLOC(\"0xffffffffffff0000\", \"0\", A3) FREE(\"second\", \"0\", A1)",
		/* semaphores in code, nowhere, without bytes in the file, across two numbers */
		"ALLOC(\"first\", \"second\", A3) FREE(\"second\", \"0\", A1)",
		"ALLOC(\"first\", \"0x7fffffff0000\", A3) FREE(\"second\", \"0\", A1)",
		"ALLOC(\"first\", \"bss\", A3) FREE(\"second\", \"0\", A1)",
		"ALLOC(\"first\", \"wanted+1\", A3) FREE(\"second\", \"0\", A1)",
		/* notes that end too early: no such probe */
		"ALLOC(\"first\", \"0\", A3) NOTE_OF(\"second\", \"0\", \"0\", "
		"STRING(\"otel_memory\") STRING(\"free\") \".ascii \\\"8@x\\\"\\n\")",
		"ALLOC(\"first\", \"0\", A3) NOTE_OF(\"second\", \"0\", \"0\", "
		"STRING(\"otel_memory\") \".ascii \\\"free\\\"\\n\")",
		"ALLOC(\"first\", \"0\", A3) NOTE_OF(\"second\", \"0\", \"0\", \"\")",
		/* a note that claims to be longer than its section */
		"ALLOC(\"first\", \"0\", A3) __asm__(\".pushsection .note.stapsdt,\\\"\\\","
		"\\\"note\\\"\\n.4byte 8, 0x7fffffff, 3\\n.asciz \\\"stapsdt\\\"\\n.popsection\");",
	};
	struct provider *provider;

	(void)state;
	need_tool("gcc");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		print_message("%s\n", wrong[i]);
		assert_int_equal(find(wrong[i], &provider), -ENOENT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments_x86_64),
		cmocka_unit_test(test_arguments_aarch64),
		cmocka_unit_test(test_arguments_refused),
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, make_cache, free_cache);
}
