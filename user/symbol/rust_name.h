/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cost of demangling a mangled name of Rust (v0, RFC 2603): private to user/symbol. */
#ifndef MEMLEAKBPF_SYMBOL_RUST_NAME_H
#define MEMLEAKBPF_SYMBOL_RUST_NAME_H

#include <stdbool.h>

/* The caller refuses a longer name. */
#define RUST_NAME_MAX 4096

/*
 * Would libiberty count so many lifetimes of a binder that nobody waits for it? `name` begins with
 * "_R" and is shorter than RUST_NAME_MAX. True as well where the name can be read in two ways.
 */
bool rust_name_takes_forever(const char *name);

#endif
