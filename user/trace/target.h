/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Targets: what is known of each, and their table. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_TARGET_H
#define MEMLEAKBPF_TRACE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/hash.h"
#include "user/freeze/freeze.h"
#include "user/model/guard_state.h"
#include "user/model/loss_room.h"
#include "user/model/process_end.h"
#include "user/target/image.h"
#include "user/runtime/runtime_target.h"
#include "user/trace/detach.h"
#include "user/trace/state.h"

/*
 * How far a target has come. It begins as one of the first two. Allowed are
 *	LAUNCHING  -> an end
 *	FOUND	   -> UNTRACED, TRACED, an end
 *	UNTRACED   -> TRACED, an end
 *	TRACED	   -> an end
 *	an end	   -> FORGOTTEN
 * where an end is REPLACED, EXITED or REMOVED: from then on the target is in no table.
 */
enum target_stage {
	TARGET_LAUNCHING, /* a child of ours before its exec: never reported */
	TARGET_FOUND,	  /* no allocator of it has probes yet */
	TARGET_UNTRACED,  /* and that it has none has been told: callbacks.untraced */
	TARGET_TRACED,	  /* it has probes, which has been told: callbacks.attached */
	TARGET_REPLACED,  /* it has become another program, which is a target of its own */
	TARGET_EXITED,
	TARGET_REMOVED,	  /* tracing it was given up: nobody is told of that */
	TARGET_FORGOTTEN, /* by the unwinder too, after its end */
};

/* The links of one object in one process. */
struct target_attachment {
	const struct probe_set *set; /* a known_object's */
	struct attachment *attachment;
	struct gated *gated;   /* gated.h: in place of the attachment; else NULL */
	struct keeper *keeper; /* anchor.h; NULL: none is needed, or could be made */
	bool removed;	       /* the probes have been found missing */
	uint64_t ready_ns;     /* CLOCK_MONOTONIC: since when it is complete */
	struct target_attachment *next;
};

/* A process that runs in a target's memory: sharers.h. */
struct sharer {
	pid_t pid;
	struct target_attachment *attachments; /* where links are for one process */
	struct sharer *next;
};

/* sums.c: as of the last trace_sum_live() */
struct target_sums {
	uint64_t live_bytes;
	double live_variance;			     /* of live_bytes, under sampling */
	uint64_t bad_accesses[MISUSE_GUARDED_KINDS]; /* found by guards, of each kind */
};

struct target {
	uint32_t id;	 /* the key */
	uint32_t parent; /* the target that has forked it; 0: none has */
	pid_t pid;
	char comm[16];
	/* NULL-terminated, owned, one allocation per proc_cmdline(); NULL: unknown */
	char **cmdline;
	pid_t anchor; /* anchor.h; the pid, as long as the main thread lives */
	int pidfd;    /* -1: a child, known by events only */
	enum target_stage stage;
	bool whole; /* traced from its first instruction: nothing was allocated before */
	bool late;  /* probes came after it had started to run */
	bool held;  /* the kernel has held it at its start: target_is_held() */
	bool bare;  /* has probes on return sites, so that its unwinders are watched */
	bool has_gate, has_probes; /* some allocator of it */
	char refusal[REASON_MAX];  /* target_refusal() */
	struct patched *patched;   /* its gates and guards: target_patched() */
	bool variables_told;	   /* trace_name_tls() has said that its time was over */
	struct target_sums sums;
	bool layered;	 /* has several allocators */
	bool tells;	 /* its allocations are what it tells by USDT probes: teller.h */
	bool tells_late; /* it could, but its functions had been traced already */
	bool has_names;	 /* the symbolizer knows the process */
	bool alive;	 /* TARGET_REMOVED: its process may go on */
	bool gone;	 /* its pidfd says so, while events are taken in: target_life.h */

	struct image *image;
	uint64_t published;	  /* image_generation() of what the unwinder has */
	struct image *next_image; /* an exec is under way: what the new program maps */
	struct target_attachment *attachments;
	struct sharer *sharers;
	/* of a command, known before its exec: kept so that they are the same objects after it */
	struct object **preloaded;
	size_t preloaded_count;

	uint64_t start_ns; /* CLOCK_MONOTONIC, of tracing it */
	/* It has run for long, and goes on while its first probes come: nothing waits for us. */
	bool runs;
	uint64_t snapshot_ns;		/* of its last snapshot, 0: none */
	struct peak_capture *peak;	/* peaks.h: NULL: nothing so far */
	struct stop *hold;		/* while it is held at its end, else NULL */
	struct captured *captured;	/* user/capture; NULL: nothing so far */
	struct runtime_target runtimes; /* target_runtimes.h */
	struct growth_watch *growth;	/* NULL: what it had at the beginning is unknown */
	uint64_t end_anon;		/* bytes of anonymous memory when it ended; 0: unknown */
	struct process_end end;		/* how, as far as that is known */
	struct cgroup_ooms *ooms; /* of its control groups, from the beginning; NULL: unknown */
	void *user_data;

	UT_hash_handle hh, hh_pid;
	struct target *next_ended; /* waiting to have its kernel state cleared */
};

static inline bool target_has_ended(const struct target *target)
{
	return target->stage >= TARGET_REPLACED;
}

/* What user/patch keeps of it, which is told how it stands now. NULL: of one that is in no table. */
struct patched *target_patched(const struct target *target);

/* An id for a new target, which has a row of the kernel's arrays to itself; 0: none is free. */
uint32_t target_id_take(struct trace *trace);
/* Nothing of the id is left anywhere, nor can come: another target may have its row. */
void target_id_give(struct trace *trace, uint32_t id);

/* In the tables, TARGET_FOUND, without an image. NULL when out of memory. */
struct target *target_new(struct trace *trace, uint32_t id, pid_t pid);
/* Frees one that is in no table any more. */
void target_free(struct trace *trace, struct target *target);
/* Takes it out of the tables, before it is freed or kept among the ended. */
void target_unlink(struct trace *trace, struct target *target);
/* NULL: there is none. */
struct target *target_by_id(const struct trace *trace, uint32_t id);
struct target *target_by_pid(const struct trace *trace, pid_t pid);

/* Reads comm and command line again, and opens what names need. */
void target_identify(struct trace *trace, struct target *target);

/* What is counted here, and not by the programs, of what has been lost on its account. */
void target_add_lost(const struct target *target, uint64_t lost[LOSSES_ROOM]);

/* None of its code has run: it waits for us. */
bool target_is_held(const struct trace *trace, const struct target *target);

/* TARGET_* of the kernel's table, of all processes that count for it. */
uint32_t target_flags(const struct trace *trace, const struct target *target);
/* Enters it in the kernel's table: from then on its allocations count. 0 or -errno, logged. */
int target_register(struct trace *trace, const struct target *target);
/* Takes it out of the kernel's table. */
void target_unregister(struct trace *trace, const struct target *target);
/* Threads of targets look at the kernel's table anew. */
void targets_changed(struct trace *trace);

/* Its probes come off. What has ended and waits to be cleared holds no descriptors. */
void target_release(struct trace *trace, struct target *target);
/* Forgets a process that ran in the target's memory, its probes first. */
void target_drop_sharer(struct trace *trace, struct target *target, pid_t pid);
/* It has become another program, which has no gates. */
void target_forget_gates(struct trace *trace, struct target *target);
/* Takes the set's probes out of the target and its sharers; NULL: all probes. */
void target_detach(struct trace *trace, struct target *target, const struct probe_set *set);

#endif
