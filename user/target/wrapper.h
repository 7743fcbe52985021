/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tells which allocator functions only hand on to another one (operator delete jumping to free). If
 * both carried a probe, one block would be freed twice, the second time as an unknown one.
 */
#ifndef MEMLEAKBPF_TARGET_WRAPPER_H
#define MEMLEAKBPF_TARGET_WRAPPER_H

#include <libelf.h>
#include <stdbool.h>

struct provider;
struct provider_fn;
struct provider_options;

/*
 * Removes short C++ operators and freeing functions from the provider that call or jump to another
 * of its functions of the same kind. The call is direct or by the object's own PLT. The user's own
 * functions stay, and so do functions that cannot be read.
 */
void wrapper_remove(struct provider *provider, Elf *elf, const struct provider_options *options);

/* Is a function of the provider such a one, whatever it does? */
bool wrapper_hands_on(struct provider *provider, Elf *elf, const struct provider_fn *fn);

#endif
