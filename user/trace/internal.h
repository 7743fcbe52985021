/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of user/trace, and by nobody else. */
#ifndef MEMLEAKBPF_TRACE_INTERNAL_H
#define MEMLEAKBPF_TRACE_INTERNAL_H

#include <uthash.h>

#include "bpf/abi.h"
#include "bpf/config.h"
#include "bpf/thread.h"
#include "bpf/unwind_abi.h"
#include "memleakbpf.skel.h"
#include "user/freeze/freeze.h"
#include "user/target/image.h"
#include "user/target/mapwatch.h"
#include "user/trace/copies.h"
#include "user/trace/sleepers.h"
#include "user/trace/spawn.h"
#include "user/trace/stacks.h"
#include "user/unwind/publish.h"
#include "user/trace/trace.h"

/*
 * An object that has been looked at: its probes, or none. Shared by all targets, and kept for a
 * while when none maps it any more.
 */
struct known_object {
	uint64_t id;		       /* object_id(): the key */
	struct unwind_object_key file; /* as the kernel side has it; of the vdso all 0 */
	struct probe_set *probes;      /* NULL: not a provider */
	struct attachment *in_all;     /* CHILDREN_EXACT: in every process that maps the object */
	struct probe_set *unwinder;    /* NULL: does not unwind stacks */
	struct attachment *unwinder_in_all;
	/* C++'s, without an allocator; NULL: none, or frees are not checked */
	struct probe_set *operators;
	struct attachment *operators_in_all;
	/* NULL: has no function that ends a process, or nobody wants to know */
	struct probe_set *leaver;
	struct attachment *leaver_in_all;
	struct probe_set *loader; /* NULL: no dynamic loader, or nobody is to wait in it */
	struct attachment *loader_in_all;
	/* CLOCK_MONOTONIC: since when they are in every process; 0: they are not */
	uint64_t probes_ns, loader_ns;
	UT_hash_handle hh;
};

/* The links of one object in one process. */
struct target_attachment {
	const struct probe_set *set; /* a known_object's */
	struct attachment *attachment;
	uint64_t ready_ns; /* CLOCK_MONOTONIC: since when it is complete */
	struct target_attachment *next;
};

struct target {
	uint32_t id; /* the key */
	pid_t pid;
	char comm[16];
	/* NULL-terminated, owned, one allocation per proc_cmdline(); NULL: unknown */
	char **cmdline;
	struct image *image;
	uint64_t published;	  /* image_generation() of what the unwinder has */
	struct image *next_image; /* an exec is under way: what the new program maps */
	struct target_attachment *attachments;
	uint64_t start_ns;    /* CLOCK_MONOTONIC, of tracing it */
	uint64_t snapshot_ns; /* of its last snapshot, 0: none */
	/* of a command, known before its exec: kept so that they are the same objects after it */
	struct object **preloaded;
	size_t preloaded_count;
	int pidfd;	   /* -1: a child, known by events only */
	bool announced;	   /* callbacks.attached has been called */
	bool untraced;	   /* callbacks.untraced has been called */
	bool launching;	   /* a child of ours before its exec: never reported */
	bool whole;	   /* traced from its first instruction: nothing was allocated before */
	bool late;	   /* probes came after it had started to run */
	bool bare;	   /* has probes on return sites, so that its unwinders are watched */
	bool layered;	   /* has several allocators */
	struct stop *hold; /* while it is held at its end, else NULL */
	bool gone;	   /* while events are taken in: its pidfd says that it has ended */
	bool copy_refused; /* --snapshot=fork was not possible, which has been said */
	struct freeze_forks forks; /* that were made for it */
	bool ended, exited;
	bool forgotten; /* by the unwinder, after its end */
	bool noted;	/* by the symbolizer */
	void *user_data;
	UT_hash_handle hh, hh_pid;
	struct target *next_ended; /* waiting to have its kernel state cleared */
};

/* A record of the kernel that waits for its turn in time order. */
struct queued_event {
	uint64_t time_ns;
	uint64_t sequence; /* keeps the order of equal times */
	struct process_event *process;
	struct stack_event *stack;
	struct mapwatch_record *map;
	struct stop *hold; /* of an EVENT_LEAVE: the process is being held; NULL: it was too late */
};

struct trace {
	struct trace_options options;
	struct trace_callbacks callbacks;
	struct memleakbpf *skel;
	struct sleepers *sleepers; /* NULL: the kernel cannot, all threads are stopped */
	struct attach_programs programs;
	struct ring_buffer *ring;
	struct copies *copies;
	struct mapwatch *mapwatch;
	int epoll_fd;
	uint32_t last_even_id; /* half of it; kernels before 5.15: the odd ids are the kernel's */
	int stats_fd;	       /* -1: the kernel does not count the programs' run time */

	/* The kernel's arrays, mapped. */
	struct stack_counters *counters;
	struct slot_info *slot_infos;
	struct slot_age *slot_ages;
	struct target_stats *stats;

	struct object_cache *objects;
	struct unwind_publisher *unwind;
	uint32_t own_target; /* whose mappings UNWIND_OWN_TARGET has, at which image_generation() */
	uint64_t own_generation;
	struct known_object *known; /* uthash by id */
	struct target *targets;	    /* uthash by target id; ended ones leave it */
	struct target *by_pid;	    /* the same ones, by pid */
	struct target *ended;	    /* list: reported, kernel state not cleared yet */
	size_t ended_count;
	struct stack_table *stacks;
	struct spawn_table *spawns;
	struct symbolizer *symbolizer;
	struct known_layout *layouts; /* uthash by object_id(): thread_variables.c */

	struct queued_event *queue;
	size_t queue_count, queue_room;
	uint64_t sequence;
	uint64_t ages_ns, ages_end_ns; /* of the last walk over the live map */
	uint64_t maps_lost;	       /* mapwatch_lost() when it was last looked at */
	bool queue_failed;	       /* out of memory while queueing */
	bool ring_refilled;	       /* events came while records of mappings were read */
};

/*
 * Before loading: which programs are loaded for the attach mode and kind of kernel in `options`,
 * and what attach.h gets.
 */
void trace_choose_programs(struct memleakbpf *skel, const struct trace_options *options,
			   struct attach_programs *out);

/* targets.c */
struct target *target_new(struct trace *trace, uint32_t id, pid_t pid);
void target_free(struct trace *trace, struct target *target);
struct target *target_by_id(struct trace *trace, uint32_t id);
struct target *target_by_pid(struct trace *trace, pid_t pid);
/*
 * Gives the unwinder the mappings, if they have changed since. Failures are logged: stacks then end
 * early, and say so.
 */
void target_publish(struct trace *trace, struct target *target);
/* Reads comm and command line again, and opens what names need. */
void target_identify(struct trace *trace, struct target *target);
/* Takes it out of the tables, before it is freed or kept among the ended. */
void target_unlink(struct trace *trace, struct target *target);
/*
 * Finds providers among the image's objects and attaches where that has not been done. Returns how
 * many objects have probes, or -errno.
 */
int target_attach_image(struct trace *trace, struct target *target);
void target_announce(struct trace *trace, struct target *target);
/* Reports the end, and queues the target for clearing. */
void target_end(struct trace *trace, struct target *target, bool exited);
int target_attach_object(struct trace *trace, struct target *target, struct known_object *known);
/* Does it map an allocator whose probes are in place? */
bool target_has_probes(const struct trace *trace, const struct target *target);
/*
 * Takes in what has come until now of a target that has just been registered, and leaves out what
 * was mapped before we began to look at it: /proc had that. 1 when it became another program
 * meanwhile, of which no event says so as the kernel did not know the target yet; 0, or -errno.
 */
int events_settle(struct trace *trace, const struct target *target);
/* It is ending: calls callbacks.untraced if there was nothing in it to be traced. */
void target_tell_untraced(struct trace *trace, struct target *target);
/* What unwinds stacks, in all objects known so far, for a target that needs it. */
int target_attach_unwinders(struct trace *trace, struct target *target);
/*
 * Likewise what ends it, with hold_at_end, the C++ operators, with check_frees, and where it loads
 * libraries, with wait_loaded.
 */
int target_attach_watched(struct trace *trace, struct target *target);

/* thread_variables.c */
void thread_variables_free(struct trace *trace);

/* Threads of targets look at the table of targets anew. */
void targets_changed(struct trace *trace);

/* known.c */
/* Takes the set's probes out of the target; NULL: all probes. */
void target_detach(struct trace *trace, struct target *target, const struct probe_set *set);
/*
 * attachment_free(). The kernel waits meanwhile until running programs have ended, those too that
 * wait for us: they go on at once.
 */
void trace_detach(struct trace *trace, struct attachment *attachment);
/* The known_object, NULL: there is none (of no object, too). */
struct known_object *known_object_find(const struct trace *trace, const struct object *object);
/*
 * The known_object, made and (in exact mode) attached when it is new. NULL when out of memory. It
 * stays while a target maps the object.
 */
struct known_object *known_object_get(struct trace *trace, struct object *object);
void known_objects_free(struct trace *trace);

/* bad_frees.c */
int bad_frees_read(const struct trace *trace, struct snapshot *snapshot);

/* events.c */
int events_open(struct trace *trace);
/*
 * Makes the mappings that the target had at the last record those of UNWIND_OWN_TARGET: they are
 * not always the present ones, which the kernel has to be told. 0 or -errno.
 */
int target_walk_here(struct trace *trace, const struct target *target);

/* reader.c */
int reader_map_arrays(struct trace *trace);
void reader_unmap_arrays(struct trace *trace);
/* For the ages of live blocks; 0 or -errno. */
int reader_clock(struct trace *trace, struct live_clock *out);
/*
 * As trace_snapshot(), which decides by itself whether the live map is walked for the blocks' ages.
 */
int reader_snapshot(struct trace *trace, struct target *target, bool ages, struct snapshot **out);
/* Blocks in the live map, all targets together: what a walk over it costs. */
uint64_t reader_live_blocks(const struct trace *trace);
/*
 * For each of *slots slots the index of its stack in the snapshot, or UINT32_MAX; free() it. NULL
 * when out of memory.
 */
uint32_t *reader_stacks_by_slot(const struct trace *trace, const struct snapshot *snapshot,
				uint32_t *slots);
/* Clears slots, stacks and blocks of the ended targets and frees them. */
void reader_reclaim(struct trace *trace);

#endif
