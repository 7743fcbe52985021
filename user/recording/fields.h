/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A message is a table. A row says which member of a struct a field is, and how it is written. The
 * writer, the reader and the made-up inputs of tests all go by the rows. So a new field is a row
 * and nothing else. Private to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_FIELDS_H
#define MEMLEAKBPF_RECORDING_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/recording/wire.h"

struct recording_out; /* recording_names.h */
struct recording_in;

/* How a member stands in the file. */
enum field_form {
	FORM_NUMBER,	   /* unsigned, of 1 (a bool), 4 or 8 bytes: varint */
	FORM_SIGNED,	   /* int64_t: zigzag */
	FORM_PID,	   /* pid_t: varint; beyond its range it is passed over */
	FORM_FIXED,	   /* uint64_t: 8 bytes */
	FORM_DOUBLE,	   /* double: 8 bytes */
	FORM_FLAG,	   /* bool: a bit of a varint, all of whose rows follow each other */
	FORM_STRING,	   /* const char *: number of a string, 0 for NULL */
	FORM_STRING_BYTES, /* const char *, and a size_t that says how long it is: the same */
	FORM_TEXT,	   /* char *, owned: bytes, left out if NULL */
	FORM_CHARS,	   /* char[]: bytes; read with a NUL behind them, and cut for that */
	FORM_LIST,	   /* uint64_t[]: packed varints */
	FORM_LOST, /* uint64_t[], by enum lost_cause: the same, by the file's numbers of the causes */
	FORM_PART,  /* a struct: a message, left out where all of it is zero */
	FORM_PARTS, /* a pointer to structs, owned, and a size_t: a message for each */
	FORM_OWN,   /* by functions of its own */
};

/* A row; one without a number ends the table. */
struct field {
	unsigned number;
	enum field_form form;
	bool if_any;	 /* 0, NULL and nothing are left out; of a list the zeros at its end */
	unsigned bit;	 /* FORM_FLAG */
	size_t at, size; /* the member's */
	size_t count_at; /* FORM_STRING_BYTES, FORM_PARTS: of how many bytes or structs */
	/* FORM_PART, FORM_PARTS; of FORM_OWN for who makes up messages, NULL: it is none */
	const struct field *parts;
	size_t part_size, most; /* FORM_PARTS: more are left out, and refused */
	const void *blank;	/* FORM_PARTS: what one is before it is read; NULL: all zero */
	/*
	 * FORM_OWN: adds what there is of the whole struct to the open message; takes such a field
	 * in. 0, -ENOMEM or recording_refuse().
	 */
	int (*put)(struct recording_out *out, unsigned number, const void *from);
	int (*take)(struct recording_in *in, const struct wire_field *field, void *to);
};

#define FIELD_AT(type, member) .at = offsetof(type, member), .size = sizeof(((type *)0)->member)
/* Of a member of one of two sizes: with any other there is a division by zero. */
#define FIELD_SIZED(type, member, a, b)                                                   \
	.at = offsetof(type, member) /                                                    \
	      (sizeof(((type *)0)->member) == (a) || sizeof(((type *)0)->member) == (b)), \
	.size = sizeof(((type *)0)->member)
#define FIELD_ROW(n, how, ...)                                 \
	{                                                      \
		.number = (n), .form = FORM_##how, __VA_ARGS__ \
	}

#define FIELD_NUMBER(n, type, member) FIELD_ROW(n, NUMBER, FIELD_SIZED(type, member, 8, 8))
#define FIELD_IF_ANY(n, type, member) \
	FIELD_ROW(n, NUMBER, .if_any = true, FIELD_SIZED(type, member, 8, 8))
/* Of a bool, an enum or a number of 32 bits. */
#define FIELD_SMALL(n, type, member) FIELD_ROW(n, NUMBER, FIELD_SIZED(type, member, 1, 4))
#define FIELD_SMALL_IF_ANY(n, type, member) \
	FIELD_ROW(n, NUMBER, .if_any = true, FIELD_SIZED(type, member, 1, 4))
#define FIELD_SIGNED(n, type, member) FIELD_ROW(n, SIGNED, FIELD_SIZED(type, member, 8, 8))
#define FIELD_PID(n, type, member)    FIELD_ROW(n, PID, FIELD_SIZED(type, member, 4, 4))
#define FIELD_FIXED(n, type, member)  FIELD_ROW(n, FIXED, FIELD_SIZED(type, member, 8, 8))
#define FIELD_DOUBLE(n, type, member) FIELD_ROW(n, DOUBLE, FIELD_SIZED(type, member, 8, 8))
#define FIELD_FLAG(n, which, type, member) \
	FIELD_ROW(n, FLAG, .bit = (which), FIELD_SIZED(type, member, 1, 1))
#define FIELD_FLAG_IF_ANY(n, which, type, member) \
	FIELD_ROW(n, FLAG, .if_any = true, .bit = (which), FIELD_SIZED(type, member, 1, 1))
#define FIELD_STRING(n, type, member) \
	FIELD_ROW(n, STRING, .if_any = true, FIELD_SIZED(type, member, 8, 4))
#define FIELD_STRING_ALWAYS(n, type, member) FIELD_ROW(n, STRING, FIELD_SIZED(type, member, 8, 4))
#define FIELD_STRING_BYTES(n, type, member, count)                                    \
	FIELD_ROW(n, STRING_BYTES, .if_any = true, .count_at = offsetof(type, count), \
		  FIELD_SIZED(type, member, 8, 4))
#define FIELD_TEXT(n, type, member)  FIELD_ROW(n, TEXT, FIELD_SIZED(type, member, 8, 4))
#define FIELD_CHARS(n, type, member) FIELD_ROW(n, CHARS, FIELD_AT(type, member))
#define FIELD_CHARS_IF_ANY(n, type, member) \
	FIELD_ROW(n, CHARS, .if_any = true, FIELD_AT(type, member))
#define FIELD_LIST(n, type, member) FIELD_ROW(n, LIST, FIELD_AT(type, member))
#define FIELD_LIST_IF_ANY(n, type, member) \
	FIELD_ROW(n, LIST, .if_any = true, FIELD_AT(type, member))
#define FIELD_LOST(n, type, member) FIELD_ROW(n, LOST, FIELD_AT(type, member))
#define FIELD_LOST_IF_ANY(n, type, member) \
	FIELD_ROW(n, LOST, .if_any = true, FIELD_AT(type, member))
#define FIELD_PART(n, type, member, table) \
	FIELD_ROW(n, PART, .parts = (table), FIELD_AT(type, member))
#define FIELD_PARTS(n, type, member, count, table, limit, before)                        \
	FIELD_ROW(n, PARTS, .parts = (table), .part_size = sizeof(*((type *)0)->member), \
		  .most = (limit), .blank = (before), .count_at = offsetof(type, count), \
		  FIELD_AT(type, member))
#define FIELD_OWN(n, name) FIELD_OWN_PARTS(n, name, NULL)
#define FIELD_OWN_PARTS(n, name, table) \
	FIELD_ROW(n, OWN, .put = put_##name, .take = take_##name, .parts = (table))
/* Of a file's own, before its table. */
#define FIELD_OWN_FUNCTIONS(name)                                                            \
	static int put_##name(struct recording_out *out, unsigned number, const void *from); \
	static int take_##name(struct recording_in *in, const struct wire_field *f, void *to)

/* Enters the strings of the rows into the table of names. 0 or -errno. */
int fields_name(struct recording_out *out, const struct field *table, const void *from);

/* Adds the fields to the open message, in the order of the rows. 0 or the error of a put(). */
int fields_put(struct recording_out *out, const struct field *table, const void *from);
/* The same of those that are not as `last` has them; there are no rows of FORM_OWN among them. */
int fields_put_changed(struct recording_out *out, const struct field *table, const void *from,
		       const void *last);

/* As a message in the one that is open. */
int fields_put_part(struct recording_out *out, unsigned number, const struct field *table,
		    const void *from);
/*
 * Sets the members whose fields the message has; what no row knows is passed over, and so is a field
 * of another wire type. `why` is for the one that cannot be read. 0, -ENOMEM or recording_refuse().
 */
int fields_take(struct recording_in *in, const struct field *table, struct wire_reader message,
		void *to, const char *why);

#endif
