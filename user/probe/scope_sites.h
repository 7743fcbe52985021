/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the calls of a function that is a scope end: its `ret` instructions, and its jumps to other
 * functions. Unlike returns_find(), which must know them all or give up, this takes what there is: a
 * return that is not seen is found out later, by the stack pointer (bpf/scope.h).
 */
#ifndef MEMLEAKBPF_PROBE_SCOPE_SITES_H
#define MEMLEAKBPF_PROBE_SCOPE_SITES_H

struct probe_set;

/*
 * Adds the set's functions' sites to its probes: PROBE_SCOPE_RETURN and PROBE_SCOPE_TAIL. 0 or
 * -ENOMEM.
 */
int scope_sites_add(struct probe_set *set);

#endif
