/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the calls of a scope's function end: its `ret` instructions, and its jumps to other
 * functions. returns_find() must know them all or give up; this takes those that it finds. The
 * stack pointer later shows a return that was missed (bpf/scope.h).
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
