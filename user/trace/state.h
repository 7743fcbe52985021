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

struct trace {
	struct trace_options options;
	struct trace_callbacks callbacks;
	struct memleakbpf *skel;
	struct attach_programs programs;
	struct later later;
	struct patches *patches; /* target_patches.h */
	struct misuses *misuses;
	struct guard_block *guard_blocks; /* slots.h; NULL: without options.guard */
	char refusal[REASON_MAX];	  /* trace_refusal() */
	bool refused_go;		  /* trace_refused_go() */
	struct missing_parts missing;	  /* refused.h */
	bool lifts_filters; /* what trace_needs.suspend_filters asks for is there still */
	struct event_queue *queue;
	int epoll_fd;
	int ends_fd;	/* an epoll of its own, of targets' pidfds: target_life.h */
	int sharers_fd; /* a timer: sharers.h */
	int stats_fd;	/* -1: the kernel does not count the programs' run time */

	struct slots *slots; /* the counters of stacks */
	struct figures *figures;
	struct blocks *blocks; /* the live ones */
	struct captures *captures;

	struct object_cache *objects;
	/* The rows of the programs' map that are taken: usdt_rows.h. */
	struct usdt_spec usdt_specs[USDT_SPECS];
	uint32_t usdt_spec_count;
	struct known_object *known; /* uthash by id: known_objects.h */
	uint64_t own_found;	    /* trace_own_functions() */
	struct target *targets;	    /* uthash by target id; ended ones leave it: target.h */
	struct target *by_pid;	    /* the same ones, by pid */
	struct target *ended;	    /* list: reported, kernel state not cleared yet: reclaim.h */
	size_t ended_count;
	struct spawn_table *spawns;
	struct stack_table *stacks;
	struct runtimes *runtimes;   /* target_runtimes.h */
	struct scopes *scopes;	     /* NULL: without --scope; scopes.h */
	struct runtime_asker *asker; /* NULL: nobody asks */
	struct symbolizer *symbolizer;
	struct known_layout *layouts; /* uthash by object_id(): thread_variables.h */

	struct first_chunks *first_chunks; /* until there is: */
	struct unwind_publisher *unwind;
	uint64_t reclaimed_ns; /* when its memory was last: target_mappings.c */
	/* Whose mappings UNWIND_OWN_TARGET has, at which image_generation(): target_mappings.h. */
	uint32_t own_target;
	uint64_t own_generation;

	uint64_t maps_lost;    /* records of mappings, when that was last looked at */
	uint64_t events_lost;  /* events of processes, likewise */
	bool probe_events;     /* single probes have names in tracefs: user/kernel/probe_event.h */
	bool hurrying;	       /* events.c */
	int usual_nice;	       /* while it does */
	uint64_t held_ns;      /* when a process was held last */
	bool events_unhandled; /* no memory to follow what an event told */
};

#endif
