// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rust v0 writes the number of a type's lifetimes in base 62 between G and _ (RFC 2603, <binder>).
 * libiberty counts them one by one, even if it prints nothing, so nobody can stop it: seven digits
 * take longer than anybody waits. Three are more than any program has.
 *
 * A crate's hash or an identifier may hold the same characters, so the name is parsed by the RFC's
 * grammar. A back reference makes libiberty read on at an earlier place. One that leads to no
 * beginning of a path, a type or a constant could make it read a hash as a binder. It is refused.
 */
#include "user/symbol/rust_name.h"

#include <stdint.h>
#include <string.h>

/* libiberty gives up at 1,024; each level here is one call. */
#define RUST_DEPTH_MAX 300

struct rust_parser {
	const char *text; /* behind "_R" */
	size_t at;
	unsigned depth;
	bool failed; /* no such name, or one with a long binder */
	/* a bit for each place of the text at which a path, a type or a constant begins */
	uint64_t begins[RUST_NAME_MAX / 64];
};

static void rust_parse_path(struct rust_parser *p);
static void rust_parse_type(struct rust_parser *p);
static void rust_parse_const(struct rust_parser *p);

static bool rust_eat(struct rust_parser *p, char c)
{
	if (p->failed || p->text[p->at] != c)
		return false;
	p->at++;
	return true;
}

static char rust_next(struct rust_parser *p)
{
	char c = p->failed ? '\0' : p->text[p->at];

	if (c)
		p->at++;
	else
		p->failed = true;
	return c;
}

static const char rust_digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* Parses digits and the _ behind them. Returns how many digits these are. */
static size_t rust_parse_base62(struct rust_parser *p)
{
	size_t count = strspn(p->text + p->at, rust_digits);

	p->at += count;
	if (!rust_eat(p, '_'))
		p->failed = true;
	return count;
}

static void rust_parse_backref(struct rust_parser *p, size_t tag)
{
	size_t from = p->at, count = rust_parse_base62(p), to = 0;

	for (size_t i = 0; !p->failed && i < count; i++) {
		to = to * 62 + (size_t)(strchr(rust_digits, p->text[from + i]) - rust_digits);
		p->failed = to >= RUST_NAME_MAX;
	}
	to += count ? 1 : 0;
	if (to >= tag || !(p->begins[to / 64] & 1ull << to % 64))
		p->failed = true;
}

static void rust_parse_identifier(struct rust_parser *p)
{
	size_t len = 0;

	if (rust_eat(p, 's'))
		rust_parse_base62(p);
	rust_eat(p, 'u');
	if (p->failed || p->text[p->at] < '0' || p->text[p->at] > '9') {
		p->failed = true;
		return;
	}
	/* A leading 0 is the whole number. */
	do
		len = len * 10 + (size_t)(rust_next(p) - '0');
	while (len && len < RUST_NAME_MAX && p->text[p->at] >= '0' && p->text[p->at] <= '9');
	rust_eat(p, '_');
	if (strnlen(p->text + p->at, len) < len)
		p->failed = true;
	else
		p->at += len;
}

static void rust_parse_binder(struct rust_parser *p)
{
	if (rust_eat(p, 'G') && rust_parse_base62(p) > 2)
		p->failed = true;
}

static void rust_parse_argument(struct rust_parser *p)
{
	if (rust_eat(p, 'L'))
		rust_parse_base62(p);
	else if (rust_eat(p, 'K'))
		rust_parse_const(p);
	else
		rust_parse_type(p);
}

static void rust_parse_until_end(struct rust_parser *p, void (*parse)(struct rust_parser *))
{
	while (!p->failed && !rust_eat(p, 'E'))
		parse(p);
}

/* Enters a path, a type or a constant. */
static bool rust_enter(struct rust_parser *p)
{
	if (p->failed || ++p->depth > RUST_DEPTH_MAX)
		p->failed = true;
	else
		p->begins[p->at / 64] |= 1ull << p->at % 64;
	return !p->failed;
}

static void rust_parse_impl_path(struct rust_parser *p)
{
	if (rust_eat(p, 's'))
		rust_parse_base62(p);
	rust_parse_path(p);
}

static void rust_parse_path(struct rust_parser *p)
{
	size_t tag = p->at;

	if (!rust_enter(p))
		return;
	switch (rust_next(p)) {
	case 'C':
		rust_parse_identifier(p);
		break;
	case 'M':
		rust_parse_impl_path(p);
		rust_parse_type(p);
		break;
	case 'X':
		rust_parse_impl_path(p);
		rust_parse_type(p);
		rust_parse_path(p);
		break;
	case 'Y':
		rust_parse_type(p);
		rust_parse_path(p);
		break;
	case 'N':
		rust_next(p);
		rust_parse_path(p);
		rust_parse_identifier(p);
		break;
	case 'I':
		rust_parse_path(p);
		rust_parse_until_end(p, rust_parse_argument);
		break;
	case 'B':
		rust_parse_backref(p, tag);
		break;
	default:
		p->failed = true;
	}
	p->depth--;
}

static void rust_parse_function(struct rust_parser *p)
{
	rust_parse_binder(p);
	rust_eat(p, 'U');
	if (rust_eat(p, 'K') && !rust_eat(p, 'C'))
		rust_parse_identifier(p);
	rust_parse_until_end(p, rust_parse_type);
	rust_parse_type(p);
}

static void rust_parse_dyn_trait(struct rust_parser *p)
{
	rust_parse_path(p);
	while (rust_eat(p, 'p')) {
		rust_parse_identifier(p);
		rust_parse_type(p);
	}
}

static void rust_parse_dyn(struct rust_parser *p)
{
	rust_parse_binder(p);
	rust_parse_until_end(p, rust_parse_dyn_trait);
	if (!rust_eat(p, 'L'))
		p->failed = true;
	rust_parse_base62(p);
}

static void rust_parse_type(struct rust_parser *p)
{
	size_t tag = p->at;
	char c;

	if (!rust_enter(p))
		return;
	c = rust_next(p);
	switch (c) {
	case 'A':
		rust_parse_type(p);
		rust_parse_const(p);
		break;
	case 'R':
	case 'Q':
		if (rust_eat(p, 'L'))
			rust_parse_base62(p);
		rust_parse_type(p);
		break;
	case 'S':
	case 'P':
	case 'O':
		rust_parse_type(p);
		break;
	case 'T':
		rust_parse_until_end(p, rust_parse_type);
		break;
	case 'F':
		rust_parse_function(p);
		break;
	case 'D':
		rust_parse_dyn(p);
		break;
	case 'B':
		rust_parse_backref(p, tag);
		break;
	default:
		/* Basic types are small letters. */
		if (c >= 'a' && c <= 'z')
			break;
		p->at = tag;
		rust_parse_path(p);
	}
	p->depth--;
}

static void rust_parse_const(struct rust_parser *p)
{
	size_t tag = p->at;

	if (!rust_enter(p))
		return;
	if (rust_eat(p, 'B')) {
		rust_parse_backref(p, tag);
	} else if (!rust_eat(p, 'p')) {
		rust_parse_type(p);
		rust_eat(p, 'n');
		p->at += p->failed ? 0 : strspn(p->text + p->at, "0123456789abcdef");
		if (!rust_eat(p, '_'))
			p->failed = true;
	}
	p->depth--;
}

/*
 * Do the characters hold a long binder anywhere? One follows an F or a D. Most names need no more
 * than this test.
 */
static bool rust_may_have_binder(const char *name)
{
	for (const char *at = strchr(name, 'G'); at; at = strchr(at + 1, 'G')) {
		size_t count = strspn(at + 1, rust_digits);

		if (count > 2 && at[1 + count] == '_' && (at[-1] == 'F' || at[-1] == 'D'))
			return true;
	}
	return false;
}

bool rust_name_takes_forever(const char *name)
{
	struct rust_parser p = {.text = name + 2};

	if (!rust_may_have_binder(name))
		return false;
	p.at = strspn(p.text, "0123456789");
	rust_parse_path(&p);
	/* The crate of the instantiation may follow, and a suffix. */
	if (p.text[p.at] && p.text[p.at] != '.' && p.text[p.at] != '$')
		rust_parse_path(&p);
	return p.failed;
}
