/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of functions of C++ and Rust, as demanglers write them: what of one a person reads. Any
 * bytes may come, for targets choose their own names.
 */
#ifndef MEMLEAKBPF_MODEL_FUNCTION_NAME_H
#define MEMLEAKBPF_MODEL_FUNCTION_NAME_H

#include <stddef.h>

/*
 * Where the qualified name begins, behind a return type: "void std::sort<int*>(int*, int*)" has it
 * at "std::sort". A name without one begins at 0.
 */
size_t function_name_scope(const char *name);

/* How long it is from there on, up to the parameters: "std::sort<int*>". */
size_t function_name_length(const char *scope);

#define FUNCTION_NAME_MAX 4224 /* as long as names of frames get (user/symbol/symbol.h) */

/*
 * The name for people: without its return type, template arguments as "<..>", inline namespaces of
 * standard libraries left out, std::basic_string<char, ...> as std::string. A name that does not
 * read as one (brackets without partners) stays as it is. Returns buf.
 */
char *function_name_fold(char buf[static FUNCTION_NAME_MAX], const char *name);

/* The same of names within a line of text, "a block of 16 B from shop::Basket<int>::put()". Returns buf. */
char *function_name_fold_within(char buf[static FUNCTION_NAME_MAX], const char *text);

/* Folds and leaves out what is within the parentheses, if there is anything: "shop::put(..)". */
char *function_name_cut(char buf[static FUNCTION_NAME_MAX], const char *name);

#endif
