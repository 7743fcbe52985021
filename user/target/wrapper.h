/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tells which allocator functions only hand on to another one (operator delete jumping to free):
 * where both carry a probe, one block is freed twice, and the second time as an unknown one.
 */
#ifndef MEMLEAKBPF_TARGET_WRAPPER_H
#define MEMLEAKBPF_TARGET_WRAPPER_H

#include <libelf.h>
#include <stdbool.h>

struct provider;
struct provider_fn;
struct provider_options;

/*
 * Removes from the provider the C++ operators and freeing functions that are short and directly
 * call or jump to another function of the provider of the same kind, be it through the object's own
 * PLT. The user's own functions stay. What cannot be read stays too.
 */
void wrapper_remove(struct provider *provider, Elf *elf, const struct provider_options *options);

/* Is a function of the provider such a one, whatever it does? */
bool wrapper_hands_on(struct provider *provider, Elf *elf, const struct provider_fn *fn);

#endif
