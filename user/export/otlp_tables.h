/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The dictionary of an OTLP request (opentelemetry-proto, profiles/v1development/profiles.proto): rows
 * that are named by their index, each of them once. Private to user/export.
 */
#ifndef MEMLEAKBPF_EXPORT_OTLP_TABLES_H
#define MEMLEAKBPF_EXPORT_OTLP_TABLES_H

#include <stdint.h>

#include "user/recording/wire.h"

/* Tables by their field of ProfilesDictionary. */
enum otlp_table {
	OTLP_MAPPINGS = 1,
	OTLP_LOCATIONS = 2,
	OTLP_FUNCTIONS = 3,
	OTLP_LINKS = 4,
	OTLP_STRINGS = 5,
	OTLP_ATTRIBUTES = 6,
	OTLP_STACKS = 7,
	OTLP_TABLES,
};

struct otlp_row;

struct otlp_tables {
	struct otlp_row *rows[OTLP_TABLES]; /* uthash by content, in the order of their indices */
	uint32_t counts[OTLP_TABLES];
	struct wire scratch;
	bool failed; /* out of memory: later indices mean nothing */
};

/* With row 0 of each table, which the format wants to be the zero value. */
void otlp_tables_init(struct otlp_tables *tables);
void otlp_tables_release(struct otlp_tables *tables);

/* The index of the row that has the content of `message`. */
uint32_t otlp_row(struct otlp_tables *tables, enum otlp_table table, const struct wire *message);

/* The index of a text in OTLP_STRINGS, 0 for NULL and "". */
uint32_t otlp_string(struct otlp_tables *tables, const char *text);

/* The index of an attribute in OTLP_ATTRIBUTES, whose value is a text. */
uint32_t otlp_attribute(struct otlp_tables *tables, const char *key, const char *text);

/* Adds all tables as the request's field `field`. */
void otlp_tables_put(struct otlp_tables *tables, struct wire *out, unsigned field);

/* As wire_uint(), without the zero that proto3 leaves out. */
void otlp_uint(struct wire *out, unsigned field, uint64_t value);

/* The field of an AnyValue: a text. */
enum any_value_field { ANY_VALUE_STRING = 1, ANY_VALUE_INT = 3 };

#endif
