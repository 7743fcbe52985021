// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/target/usdt_args.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "user/base/util.h"

/* Longer ones are no operands. */
#define DIGITS_MAX   18
#define REGISTER_MAX 8

/* ---- what both have ------------------------------------------------------------------------- */

/* Consumes `c`, if it comes next. */
static bool args_take(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

/* A decimal number, consumed. False: there is none, or too long a one. */
static bool args_take_number(const char **p, int64_t *out)
{
	const char *c = *p;
	bool negative = *c == '-';
	int64_t value = 0;
	int digits = 0;

	c += negative;
	for (; *c >= '0' && *c <= '9'; c++, digits++) {
		if (digits == DIGITS_MAX)
			return false;
		value = value * 10 + (*c - '0');
	}
	if (!digits)
		return false;
	*p = c;
	*out = negative ? -value : value;
	return true;
}

/* "8@", "-4@": how wide it is, and whether it has a sign. */
static bool args_take_size(const char **p, struct usdt_arg *arg)
{
	int64_t size;

	if (!args_take_number(p, &size) || !args_take(p, '@'))
		return false;
	arg->is_signed = size < 0;
	size = size < 0 ? -size : size;
	arg->size = (uint8_t)size;
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Letters and digits, consumed; "" when there are none, or too many. */
static void args_take_name(const char **p, char name[static REGISTER_MAX])
{
	size_t len = 0;

	while ((*p)[len] && strchr("abcdefghijklmnopqrstuvwxyz0123456789", (*p)[len]))
		len++;
	name[0] = '\0';
	if (len >= REGISTER_MAX)
		return;
	memcpy(name, *p, len);
	name[len] = '\0';
	*p += len;
}

static bool args_is_end(const char *p)
{
	return *p == ' ' || *p == '\0';
}

static int args_parse(const char *text, struct usdt_arg *args, size_t count,
		      bool (*operand)(const char **p, struct usdt_arg *arg))
{
	for (size_t i = 0; i < count; i++) {
		struct usdt_arg *arg = &args[i];

		text += strspn(text, " ");
		if (!*text)
			return -ENODATA;
		*arg = (struct usdt_arg){.reg = USDT_NO_REGISTER, .index = USDT_NO_REGISTER};
		if (!args_take_size(&text, arg) || !operand(&text, arg) || !args_is_end(text))
			return -ENOTSUP;
	}
	return 0;
}

/* ---- x86_64 --------------------------------------------------------------------------------- */

/* In the order of struct pt_regs (<asm/ptrace.h>); "" where no operand can be. */
static const char *const x86_64_words[][4] = {
	{"r15", "r15d", "r15w", "r15b"},
	{"r14", "r14d", "r14w", "r14b"},
	{"r13", "r13d", "r13w", "r13b"},
	{"r12", "r12d", "r12w", "r12b"},
	{"rbp", "ebp", "bp", "bpl"},
	{"rbx", "ebx", "bx", "bl"},
	{"r11", "r11d", "r11w", "r11b"},
	{"r10", "r10d", "r10w", "r10b"},
	{"r9", "r9d", "r9w", "r9b"},
	{"r8", "r8d", "r8w", "r8b"},
	{"rax", "eax", "ax", "al"},
	{"rcx", "ecx", "cx", "cl"},
	{"rdx", "edx", "dx", "dl"},
	{"rsi", "esi", "si", "sil"},
	{"rdi", "edi", "di", "dil"},
	{"", "", "", ""}, /* orig_rax */
	{"", "", "", ""}, /* rip */
	{"", "", "", ""}, /* cs */
	{"", "", "", ""}, /* flags */
	{"rsp", "esp", "sp", "spl"},
};

/* "%rdi" and its narrower names; of addresses only the widest. */
static bool x86_64_take_register(const char **p, bool address, uint8_t *out)
{
	char name[REGISTER_MAX];

	if (!args_take(p, '%'))
		return false;
	args_take_name(p, name);
	for (size_t i = 0; *name && i < ARRAY_SIZE(x86_64_words); i++) {
		for (size_t j = 0; j < (address ? 1 : ARRAY_SIZE(x86_64_words[i])); j++) {
			if (strcmp(name, x86_64_words[i][j]) != 0)
				continue;
			*out = (uint8_t)i;
			return true;
		}
	}
	return false;
}

/* What stands behind "16(": "%rsp)", "%rax,%rdx)", "%rax,%rdx,8)". */
static bool x86_64_take_address(const char **p, struct usdt_arg *arg)
{
	int64_t scale = 1;

	if (!x86_64_take_register(p, true, &arg->reg))
		return false;
	if (args_take(p, ',')) {
		if (!x86_64_take_register(p, true, &arg->index))
			return false;
		if (args_take(p, ',') && !args_take_number(p, &scale))
			return false;
	}
	if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
		return false;
	while (scale >> (arg->shift + 1))
		arg->shift++;
	return args_take(p, ')');
}

static bool x86_64_take_operand(const char **p, struct usdt_arg *arg)
{
	if (args_take(p, '$')) {
		arg->kind = USDT_CONSTANT;
		return args_take_number(p, &arg->value);
	}
	if (**p == '%') {
		arg->kind = USDT_REGISTER;
		return x86_64_take_register(p, false, &arg->reg);
	}
	arg->kind = USDT_MEMORY;
	if (**p != '(' && !args_take_number(p, &arg->value))
		return false;
	return args_take(p, '(') && x86_64_take_address(p, arg);
}

int usdt_args_parse_x86_64(const char *text, struct usdt_arg *args, size_t count)
{
	return args_parse(text, args, count, x86_64_take_operand);
}

/* ---- aarch64 -------------------------------------------------------------------------------- */

#define AARCH64_SP 31 /* of struct user_pt_regs */

/* "x0", "w0", "sp"; of addresses no w. */
static bool aarch64_take_register(const char **p, bool address, uint8_t *out)
{
	char name[REGISTER_MAX];
	const char *digits = name + 1;
	int64_t number;

	args_take_name(p, name);
	*out = AARCH64_SP;
	if (!strcmp(name, "sp"))
		return true;
	if (name[0] != 'x' && (address || name[0] != 'w'))
		return false;
	if (!args_take_number(&digits, &number) || *digits || number < 0 || number > 30)
		return false;
	*out = (uint8_t)number;
	return true;
}

/* What stands behind "[": "sp]", "sp, 16]", "x0, x1]", "x0, x1, lsl 3]". */
static bool aarch64_take_address(const char **p, struct usdt_arg *arg)
{
	char name[REGISTER_MAX];
	int64_t shift = 0;

	if (!aarch64_take_register(p, true, &arg->reg))
		return false;
	if (args_take(p, ']'))
		return true;
	if (!args_take(p, ','))
		return false;
	*p += strspn(*p, " ");
	args_take(p, '#');
	if (args_take_number(p, &arg->value))
		return args_take(p, ']');
	if (!aarch64_take_register(p, true, &arg->index))
		return false;
	if (args_take(p, ',')) {
		*p += strspn(*p, " ");
		args_take_name(p, name);
		*p += strspn(*p, " ");
		args_take(p, '#');
		if (strcmp(name, "lsl") != 0 || !args_take_number(p, &shift))
			return false;
	}
	if (shift < 0 || shift > 3)
		return false;
	arg->shift = (uint8_t)shift;
	return args_take(p, ']');
}

static bool aarch64_take_operand(const char **p, struct usdt_arg *arg)
{
	if (args_take(p, '[')) {
		arg->kind = USDT_MEMORY;
		return aarch64_take_address(p, arg);
	}
	arg->kind = USDT_CONSTANT;
	if (args_take_number(p, &arg->value))
		return true;
	arg->kind = USDT_REGISTER;
	return aarch64_take_register(p, false, &arg->reg);
}

int usdt_args_parse_aarch64(const char *text, struct usdt_arg *args, size_t count)
{
	return args_parse(text, args, count, aarch64_take_operand);
}

/* ---- this machine's ------------------------------------------------------------------------- */

int usdt_args_parse(const char *text, struct usdt_arg *args, size_t count)
{
#if defined(__x86_64__)
	return usdt_args_parse_x86_64(text, args, count);
#else
	return usdt_args_parse_aarch64(text, args, count);
#endif
}
