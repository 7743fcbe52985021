/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a trace holds. Its parts are in headers of their own; private to user/trace, whose users see
 * trace.h.
 */
#ifndef MEMLEAKBPF_TRACE_STATE_H
#define MEMLEAKBPF_TRACE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/usdt_abi.h"
#include "user/model/missing.h"
#include "user/probe/attach.h"
#include "user/trace/trace.h"

/* later.h */
#define LATER_PROGRAMS 8

struct later_program {
	const struct bpf_program *program; /* of the skeleton */
	int fd;				   /* -errno: the kernel has refused it */
};

struct later {
	struct later_program loaded[LATER_PROGRAMS];
	size_t count;
	bool runtimes; /* those that follow runtimes have been asked for */
	int runtimes_err;
};

/* trace_refusal(), trace_refused_go() */
struct refusal {
	char reason[REASON_MAX];
	bool go;
};

/* Descriptors of the trace's own; -1: not open. */
struct trace_fds {
	int all;     /* an epoll of all that trace_process() waits for */
	int ends;    /* an epoll of the targets' pidfds: target_life.h */
	int sharers; /* a timer: sharers.h */
	int stats;   /* while it is open the kernel counts the programs' run time: cost.h */
};

/* usdt_rows.h: the rows of the programs' map that are taken */
struct usdt_rows {
	struct usdt_spec specs[USDT_SPECS];
	uint32_t count;
};

/* target_mappings.h */
struct mapped {
	uint64_t reclaimed_ns; /* when the unwinder's memory was reclaimed last */
	/* UNWIND_OWN_TARGET has the mappings of that target at that image_generation() */
	uint32_t own_target;
	uint64_t own_generation;
};

/* events.c, target_life.c: as of the last look at the kernel's events */
struct events_seen {
	uint64_t maps_lost;   /* records of mappings */
	uint64_t events_lost; /* events of processes */
	bool unhandled;	      /* there was no memory to follow what an event told */
};

/* hurry.h */
struct hurry {
	bool on;
	int usual_nice;	  /* while it is on */
	uint64_t held_ns; /* when a process was held last */
};

struct trace {
	struct trace_options options;
	struct trace_callbacks callbacks;
	struct trace_fds fds;

	/* The programs: which are there, what the kernel has refused of them. */
	struct memleakbpf *skel;
	struct attach_programs programs;
	struct later later;
	struct missing_parts missing; /* refused.h */
	struct usdt_rows usdt;
	bool probe_events;  /* single probes have names in tracefs: user/kernel/probe_event.h */
	bool lifts_filters; /* the privileges for trace_needs.suspend_filters are there still */

	/* What the rooms below keep: rooms.h. */
	struct slots *slots;
	struct stack_table *stacks;
	struct figures *figures;
	struct blocks *blocks;
	struct captures *captures;
	struct misuses *misuses;
	struct guard_block *guard_blocks;  /* NULL: without options.guard */
	struct patches *patches;	   /* target_patches.h */
	struct scopes *scopes;		   /* NULL: without --scope */
	struct runtimes *runtimes;	   /* runtime_host.h */
	struct runtime_asker *asker;	   /* NULL: nobody asks */
	struct first_chunks *first_chunks; /* until there is an unwinder */
	struct unwind_publisher *unwind;
	struct mapped mapped;
	struct symbolizer *symbolizer;

	/* Objects of targets. */
	struct object_cache *objects;
	struct known_object *known;   /* uthash by id: known_objects.h */
	uint64_t own_found;	      /* trace_own_functions() */
	struct known_layout *layouts; /* uthash by object_id(): thread_variables.h */

	/* Targets: target.h. */
	struct target *targets; /* uthash by target id; ended ones leave it */
	struct target *by_pid;	/* the same ones, by pid */
	struct target *ended;	/* list: reported, kernel state not cleared yet: reclaim.h */
	size_t ended_count;
	struct spawn_table *spawns;
	struct refusal refused;

	/* What the kernel tells. */
	struct event_queue *queue;
	struct events_seen seen;
	struct hurry hurry;
};

#endif
