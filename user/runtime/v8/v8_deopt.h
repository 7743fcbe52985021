/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tells which functions optimised code of V8 is in at a call. From its translations V8 makes the
 * interpreter's frames when it leaves the code (src/deoptimizer/translation-array.cc,
 * frame-translation-builder.cc). They are the target's, and may say anything.
 */
#ifndef MEMLEAKBPF_RUNTIME_V8_DEOPT_H
#define MEMLEAKBPF_RUNTIME_V8_DEOPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define V8_NESTED_MAX 64 /* functions in each other */

/* The instructions of a V8's translations. */
struct v8_translations_form {
	const char *operands; /* of each instruction, a digit: how many it has */
	/*
	 * The opcodes of three kinds. begins: the beginning. frames: a function's frame, with its
	 * place in the bytecodes and its number among the literals. builtins: a frame of one of
	 * V8's own functions.
	 */
	uint8_t begins[2], frames[2], builtins[2];
	uint8_t repeats; /* so many from the translation before; 0: there are none */
	bool doubled; /* an instruction is written as a number with a sign, and no beginning says where that translation is */
};

struct v8_translations {
	const struct v8_translations_form *form;
	const uint8_t *bytes;
	size_t size;
};

/* A function that the code is in. */
struct v8_nested {
	uint32_t literal;
	int32_t offset; /* of the call in its bytecodes; -1: it is being entered, or is V8's own */
	bool builtin;	/* that: of Maglev's code `literal` is the function that calls it */
};

/* What begins there, outermost function first. How many they are; 0: it is none, or not whole. */
size_t v8_translation_read(const struct v8_translations *translations, uint32_t at,
			   struct v8_nested out[static V8_NESTED_MAX]);

#endif
