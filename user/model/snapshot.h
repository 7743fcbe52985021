/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A copy of one target's counters at one time, by user/trace or from a recording. The counts stay
 * as they are; deltas, trends, names, verdicts and suppressions are added later. analysis, export
 * and the offline commands see nothing else of the running system.
 */
#ifndef MEMLEAKBPF_MODEL_SNAPSHOT_H
#define MEMLEAKBPF_MODEL_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/stack_end.h"
#include "user/model/amount.h"
#include "user/model/guard_state.h"
#include "user/model/misuse.h"
#include "user/model/stack_figures.h"
#include "user/model/frame.h"
#include "user/model/loss_room.h"
#include "user/model/memory_growth.h"
#include "user/model/module_maps.h"
#include "user/model/process_end.h"
#include "user/model/scope_sums.h"
#include "user/model/missing.h"
#include "user/model/untraced_heaps.h"
#include "user/model/verdict.h"

struct stack {
	uint64_t id;	     /* the hash of the frames */
	struct amount live;  /* alloc - free */
	struct amount alloc; /* since attach */
	struct amount free;  /* of blocks allocated since attach */
	struct amount older; /* part of live that is older than --older; equals live without it */
	double error_bytes;  /* standard error of live.bytes under sampling, else 0 */
	uint64_t oldest_ns;  /* age of the oldest live block, 0: unknown */
	/* of live; only with snapshot.verdict.state VERDICT_TAKEN */
	struct amount verdict[VERDICT_CLASSES];
	/*
	 * What hangs on its definitely lost blocks, whichever stack has allocated it. And its own
	 * indirectly lost blocks that some stack counts in that way.
	 */
	struct amount kept, hangs;
	struct unjoined_threads unjoined; /* of threads begun here: their stacks are among `live` */
	/*
	 * for a reachable block: its holders, from the root on, a line each; NULL: not looked for.
	 * Owned.
	 */
	char *held_by;
	/* for a lost block, --contents: contents_len first bytes; NULL: none. Owned */
	char *contents;
	size_t contents_len;
	/* further figures that were asked for; NULL: none. Their memory is snapshot.figures */
	struct stack_figures *figures;
	bool truncated;	    /* deeper than the recorded frames */
	enum stack_end end; /* why the walk stopped */
	/*
	 * innermost first, inlined calls expanded; NULL: unknown, or the source finds them when
	 * asked
	 */
	const struct frame *const *frames;
	size_t frame_count;
	/* the trace's own number for the stack, by which it finds the raw frames again */
	uint32_t index;
	/* its innermost scope: an index into the snapshot's scopes, from 1; 0: none */
	uint32_t scope;
};

/* A process's memory as the kernel counts it, in bytes; 0: unknown. */
struct memory_use {
	uint64_t rss;  /* resident */
	uint64_t anon; /* the part of rss that is anonymous: heap, stacks */
	uint64_t pss;  /* resident; each shared page is divided by its number of users */
};

/* How a target's allocations were seen. Numbers are those of recordings. */
enum attached_by {
	ATTACHED_BY_UNKNOWN, /* an older recording, or a sum of different ones */
	ATTACHED_BY_SESSION,
	ATTACHED_BY_MULTI,
	ATTACHED_BY_SINGLE,
	ATTACHED_BY_USDT, /* the allocator samples by itself, and reports by USDT probes */
	ATTACHED_BY_GATE,
	ATTACHED_BY_GATE_AND_PROBES, /* several allocators, some of which cannot have a gate */
	ATTACHED_BY_KINDS,
};

struct snapshot {
	uint32_t target_id;   /* of the trace; never used twice, unlike pid */
	uint64_t time_ns;     /* CLOCK_REALTIME */
	uint64_t elapsed_ns;  /* since attach */
	uint64_t interval_ns; /* since the last snapshot, 0 for the first */
	pid_t pid;
	char comm[16];
	char *const *cmdline; /* NULL-terminated; NULL: unknown */
	bool final;	      /* the target has ended or tracing has */
	bool exited;	      /* the target has ended */
	bool execed;	      /* the target ended by becoming another program */
	/* by a survey: counts from a window's beginning to its end, and nothing follows */
	bool window;
	bool inspected; /* nothing was traced: stacks are kinds of blocks (struct inspection) */
	struct process_end end; /* with `exited` */
	bool surveyed;		/* of a process that a survey keeps: bad accesses, no stacks */
	bool children_late; /* informative: probes reached this process only after it had started */
	/* 0: every allocation was recorded; ATTACHED_BY_USDT: no sample has come so far */
	uint64_t sample_bytes;
	uint64_t attached; /* enum attached_by */
	struct amount live, alloc, free;
	/*
	 * of live: memory that a runtime has mapped for its own pool, one for all objects in it.
	 * The stack, whose first frame is FRAME_KIND_ARENA, is that of the object that found no
	 * room.
	 */
	struct amount arenas;
	struct untraced_heaps heaps;
	uint64_t unknown_frees;
	/* live blocks of all targets, if ages were not looked at for some stack; 0: they were */
	uint64_t ages_unread;
	/* by enum lost_cause; the target's own plus those that cannot be told apart by target */
	uint64_t lost[LOSSES_ROOM];
	uint64_t lost_anywhere[LOSSES_ROOM]; /* the latter part of them */
	struct missing_parts missing;	     /* of a live trace: what it does without */
	/* 0: one; else the sum of so many (user/analysis/merge.h), `ended` of which have ended */
	size_t processes;
	size_t ended;
	struct memory_use memory;
	struct growth growth;
	struct verdict verdict;
	bool frees_checked;			    /* --check-frees */
	struct guard_state guard;		    /* --guard */
	struct misuse_list misuses[MISUSE_FINDERS]; /* of each, sorted */
	bool scoped;				    /* --scope */
	struct scopes_list scopes;		    /* unsorted */
	struct figures_kept figures_kept;	    /* what there is in each stack's figures */
	struct peak peak;			    /* with figures_kept.peak */
	struct stack_figures *figures; /* of the stacks, so many as there are, in any order */
	struct module_maps *maps;      /* executable code at the time; NULL: unknown */
	struct stack *stacks;	       /* every stack with allocations, unsorted */
	size_t stack_count;
};

/*
 * Frees the snapshot with its stacks and command line; the frames belong to the symbolizer. NULL is
 * fine.
 */
void snapshot_free(struct snapshot *snapshot);

/* Sets live, alloc and free to the sums of the stacks. */
void snapshot_total(struct snapshot *snapshot);

/*
 * Turns the snapshot back to its process's peak, as near as that is known. Live blocks are those of
 * then, and count as all that was allocated; nothing else is known. Without a peak it does nothing.
 */
void snapshot_to_peak(struct snapshot *snapshot);

/* Bytes that are lost with its blocks, each counted with one stack alone. */
static inline uint64_t stack_lost_bytes(const struct stack *stack)
{
	uint64_t indirect = stack->verdict[VERDICT_INDIRECT].bytes, hangs = stack->hangs.bytes;

	return stack->verdict[VERDICT_DEFINITE].bytes + stack->kept.bytes +
	       (indirect > hangs ? indirect - hangs : 0);
}

/* Do all its live blocks hang on lost ones of other stacks? */
static inline bool stack_only_hangs(const struct stack *stack)
{
	return stack->live.count && stack->hangs.count == stack->verdict[VERDICT_INDIRECT].count &&
	       stack->hangs.count == stack->live.count;
}

/* Gives each stack figures of its own, all zero. 0 or -ENOMEM. */
int snapshot_add_figures(struct snapshot *snapshot);

/* Adds one stack to these sums: for callers that fill in one after the other anyway. */
static inline void snapshot_count(struct snapshot *snapshot, const struct stack *stack)
{
	amount_add(&snapshot->live, &stack->live);
	amount_add(&snapshot->alloc, &stack->alloc);
	amount_add(&snapshot->free, &stack->free);
}

/*
 * How the walks up the stacks ended: [end]; the last one counts allocations whose stack was not
 * recorded.
 */
struct stack_ends {
	uint64_t stacks[STACK_ENDS + 1];
	uint64_t allocs[STACK_ENDS + 1];
};

void snapshot_ends(const struct snapshot *snapshot, struct stack_ends *out);
/* "complete", …, "not_recorded" */
const char *snapshot_end_name(size_t index);

/* "session", …; NULL where the way is not known. */
const char *attached_by_name(uint64_t attached);

/* "complete", …: a stable name for JSON. */
const char *stack_end_name(enum stack_end end);

#endif
