/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is known of objects: which have probes, and which. Shared by all targets, and kept for a
 * while when none maps them any more. Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_KNOWN_OBJECTS_H
#define MEMLEAKBPF_TRACE_KNOWN_OBJECTS_H

#include <stdint.h>

#include "user/base/hash.h"
#include "bpf/unwind_abi.h"
#include "user/process/object.h"
#include "user/runtime/runtime_object.h"
#include "user/trace/state.h"

/* What an object may have functions for that get probes. */
enum known_role {
	KNOWN_TELLER, /* tells its allocations by USDT probes; its functions get none then */
	KNOWN_ALLOCATOR,
	KNOWN_UNWINDER,	 /* unwinds stacks: exceptions, longjmp */
	KNOWN_LEAVER,	 /* ends the process; with hold_at_end */
	KNOWN_OPERATORS, /* C++'s, without an allocator; with check_frees */
	KNOWN_LOADER,	 /* loads libraries; with wait_loaded */
	KNOWN_SCOPES,	 /* functions that are scopes, with options.scopes */
	KNOWN_MAPPER,	 /* maps memory; for targets whose runtime has a pool: pool_rows.h */
	KNOWN_CODE_END,	 /* frees code objects of CPython; for targets whose interpreter it is */
	KNOWN_ROLES,
};

struct known_probes {
	struct probe_set *set;	   /* NULL: no such functions, or nobody wants to know */
	struct attachment *in_all; /* CHILDREN_SYSTEMWIDE: in every process that maps the object */
	uint64_t ready_ns; /* CLOCK_MONOTONIC: since when in_all is complete; 0: it is not */
};

struct known_object {
	uint64_t id;		       /* object_id(): the key */
	struct unwind_object_key file; /* as the kernel side has it; of the vdso all 0 */
	struct known_probes probes[KNOWN_ROLES];
	struct runtime_object *runtime;
	bool told; /* known_object_tell_kernel() */
	UT_hash_handle hh;
};

/* The known_object, NULL: there is none (of no object, too). */
struct known_object *known_object_find(const struct trace *trace, const struct object *object);
/*
 * The known_object, made when it is new, and its allocator's probes attached (systemwide). NULL when
 * out of memory. It stays while a target maps the object.
 */
struct known_object *known_object_get(struct trace *trace, struct object *object);
/*
 * Its probes are in all targets: who loads it need not wait (bpf/loaded.bpf.c). Once. Not of one that
 * tells its allocations: that changes how a target is traced.
 */
void known_object_tell_kernel(const struct trace *trace, struct known_object *known);
void known_objects_free(struct trace *trace);

/* Its probes of that role; NULL: it has none, or nothing is known. */
const struct probe_set *known_probes_of(const struct trace *trace, const struct object *object,
					enum known_role role);

/* Puts the probes into every process that maps the object, once. 0, or -errno, logged. */
int known_probes_attach_all(struct trace *trace, struct known_probes *probes);

#endif
