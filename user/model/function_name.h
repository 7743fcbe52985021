/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shortens the names of C++ and Rust functions, as demanglers write them, to what a person reads.
 * The names may hold any bytes: targets choose them.
 */
#ifndef MEMLEAKBPF_MODEL_FUNCTION_NAME_H
#define MEMLEAKBPF_MODEL_FUNCTION_NAME_H

#include <stddef.h>

/*
 * Returns where the qualified name begins, behind a return type: "void std::sort<int*>(int*, int*)"
 * has it at "std::sort". A name without a return type begins at 0.
 */
size_t function_name_scope(const char *name);

/* Returns the length from there up to the parameters: "std::sort<int*>". */
size_t function_name_length(const char *scope);

#define FUNCTION_NAME_MAX 4224 /* as long as names of frames get (user/symbol/symbol.h) */

/*
 * Writes the name for people: no return type, template arguments as "<..>", std::basic_string<char,
 * ...> as std::string. It leaves out inline namespaces of standard libraries. A name with unmatched
 * brackets stays as it is. Returns buf.
 */
char *function_name_fold(char buf[static FUNCTION_NAME_MAX], const char *name);

/*
 * Folds the names within a line of text: "a block of 16 B from shop::Basket<int>::put()". Returns
 * buf.
 */
char *function_name_fold_within(char buf[static FUNCTION_NAME_MAX], const char *text);

/* Folds, and leaves out the text within the parentheses, if there is any: "shop::put(..)". */
char *function_name_cut(char buf[static FUNCTION_NAME_MAX], const char *name);

#endif
