/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the calls of a provider's functions return: returns_find() over the code of an object. */
#ifndef MEMLEAKBPF_PROBE_SITES_H
#define MEMLEAKBPF_PROBE_SITES_H

#include "user/probe/returns.h"

struct provider;
struct provider_fn;
struct sites;

struct sites *sites_new(const struct provider *provider); /* borrows it; NULL: out of memory */
void sites_free(struct sites *sites);			  /* NULL is fine */

/* As returns_find(), but out->sites are offsets in the file. */
int sites_find(struct sites *sites, const struct provider_fn *fn, struct returns *out);

#endif
