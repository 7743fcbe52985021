/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where in a script V8's code calls: its tables of source positions (src/codegen/source-position-table.cc), and of baseline code's
 * offsets (src/baseline/bytecode-offset-iterator.cc). They are the target's, and may say anything.
 */
#ifndef MEMLEAKBPF_RUNTIME_V8_CALLS_H
#define MEMLEAKBPF_RUNTIME_V8_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define V8_OPCODES_MAX 256

/* How many bytes each bytecode has, its operands of 1, 2 or 4 bytes (Bytecodes::kBytecodeSizes). */
struct v8_opcodes {
	uint8_t sizes[3][V8_OPCODES_MAX];
	size_t count; /* of them there are; 0: it is not known */
};

/*
 * From `at` on the code is of that character of the script (the first is 0), or of that line. -1:
 * not known. `at` counts as in struct runtime_call.
 */
struct v8_place {
	uint32_t at;
	int32_t value;
};

/* In order. */
struct v8_places {
	struct v8_place *items;
	size_t count, room;
	uint32_t end; /* from there on nothing is known */
};

void v8_places_free(struct v8_places *places);

/* -1: it is not known. */
int32_t v8_places_find(const struct v8_places *places, uint32_t at);

/*
 * A table of the positions of bytecodes, or, unless `whole`, how it begins; `flags`: as V8 14 writes it. False: it is none, or out of memory; then there are no places.
 */
bool v8_places_read(struct v8_places *places, const uint8_t *table, size_t size, bool flags,
		    bool whole);

struct v8_baseline {
	const uint8_t *offsets, *bytecodes;
	size_t offsets_size, bytecodes_size; /* bytes, of how they begin */
};

/* Those of the code that has been made of bytecodes with these positions, in the same way. */
bool v8_places_of_code(struct v8_places *places, const struct v8_places *positions,
		       const struct v8_baseline *baseline, const struct v8_opcodes *opcodes);

#endif
