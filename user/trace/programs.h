/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which BPF programs are loaded. For user/trace, and its tests. */
#ifndef MEMLEAKBPF_TRACE_PROGRAMS_H
#define MEMLEAKBPF_TRACE_PROGRAMS_H

#include "user/probe/attach.h"
#include "user/trace/skeleton.h"
#include "user/trace/trace.h"

/*
 * Before loading: which programs are loaded for the attach mode and kind of kernel in `options`,
 * and what attach.h gets.
 */
void programs_choose(struct memleakbpf *skel, const struct trace_options *options,
		     struct attach_programs *out);

/* Only the programs that know runtimes have the map: it is made with the first of them. */
bool programs_is_runtime_map(const struct memleakbpf *skel, const struct bpf_map *map);

/* A program that knows runtimes, and the one that goes on in it for targets that have one: bpf/managed.h. */
struct programs_managed {
	struct bpf_program *program;
	const struct bpf_program *usual;
	const struct bpf_map *slot;
};

#define PROGRAMS_MANAGED 3

/* Those of the kind that `options` asks for; of some the usual one is not loaded. `used`: programs_choose() has made it. */
void programs_managed(const struct memleakbpf *skel, const struct trace_options *options,
		      const struct attach_programs *used,
		      struct programs_managed out[static PROGRAMS_MANAGED]);

#endif
