// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of languages, in the order in which stacks get their functions. Functions of V8 and
 * Java take the place of code that the walk has found. Functions of the other languages come
 * between the interpreter's own functions.
 */
#include "user/base/util.h"
#include "user/runtime/java/java_ops.h"
#include "user/runtime/perl/perl_rows.h"
#include "user/runtime/php/php_rows.h"
#include "user/runtime/python/python_rows.h"
#include "user/runtime/ruby/ruby_rows.h"
#include "user/runtime/runtime_ops.h"
#include "user/runtime/v8/v8_rows.h"

const struct runtime_ops *const runtime_languages[] = {
	&v8_ops, &java_ops, &python_ops, &ruby_ops, &php_ops, &perl_ops,
};
const size_t runtime_language_count = ARRAY_SIZE(runtime_languages);

/* RUNTIME_NONE is not one. */
_Static_assert(ARRAY_SIZE(runtime_languages) == RUNTIMES_FOLLOWED - 1, "a row for each language");

const struct runtime_ops *runtime_language(enum runtime runtime)
{
	for (size_t i = 0; i < runtime_language_count; i++) {
		if (runtime_languages[i]->runtime == runtime)
			return runtime_languages[i];
	}
	return NULL;
}
