// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Demangles C++ (Itanium ABI) and Rust (legacy and v0) names through libiberty. Mangled names come
 * from the target's files. A name of a few hundred bytes can stand for one of gigabytes, as each
 * substitution doubles it. So we take the text piece by piece, and stop when it is long enough.
 * libiberty's recursion limit stays on.
 */
#include "user/symbol/symbol.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "user/symbol/rust_name.h"

#define DEMANGLE_INPUT_MAX  RUST_NAME_MAX
#define DEMANGLE_OUTPUT_MAX 4000 /* fits what the string pool keeps */

#define DEMANGLE_OPTIONS (DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO)

struct output {
	jmp_buf full;
	size_t used;
	char text[DEMANGLE_OUTPUT_MAX + sizeof("...")];
};

static void demangle_append(const char *piece, size_t len, void *data)
{
	struct output *output = data;
	size_t room = DEMANGLE_OUTPUT_MAX - output->used;

	/* An empty piece may come as NULL. */
	if (len == 0)
		return;
	if (len <= room) {
		memcpy(output->text + output->used, piece, len);
		output->used += len;
		return;
	}
	memcpy(output->text + output->used, piece, room);
	output->used = DEMANGLE_OUTPUT_MAX;
	memcpy(output->text + output->used, "...", 3);
	output->used += 3;
	/*
	 * The callback interface cannot say "enough". It keeps its state on the stack only, as it
	 * is meant for use where malloc is not safe. So a jump out of it loses nothing; Rust's
	 * punycode buffer is the one exception.
	 */
	longjmp(output->full, 1);
}

static bool demangle_into(const char *name, struct output *output)
{
	/*
	 * Rust first, as in libiberty's own automatic style: legacy Rust names are well-formed C++
	 * ones too.
	 */
	if (setjmp(output->full) != 0)
		return true;
	if (rust_demangle_callback(name, DEMANGLE_OPTIONS, demangle_append, output))
		return true;
	output->used = 0;
	if (setjmp(output->full) != 0)
		return true;
	return cplus_demangle_v3_callback(name, DEMANGLE_OPTIONS, demangle_append, output) != 0;
}

char *symbol_demangle(const char *name)
{
	struct output *output;
	char *result = NULL;

	if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0 &&
	    strncmp(name, "__Z", 3) != 0 && strncmp(name, "_GLOBAL_", 8) != 0)
		return NULL;
	if (strnlen(name, DEMANGLE_INPUT_MAX) == DEMANGLE_INPUT_MAX)
		return NULL;
	if (!strncmp(name, "_R", 2) && rust_name_takes_forever(name))
		return NULL;
	output = calloc(1, sizeof(*output));
	if (!output)
		return NULL;
	if (demangle_into(name, output) && output->used)
		result = strndup(output->text, output->used);
	free(output);
	return result;
}
