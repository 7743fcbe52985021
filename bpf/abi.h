/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The contract between the BPF programs and user space: keys and values of the shared maps, records
 * in the ring buffer, the probe cookie. Fixed-width types only; every struct's size is asserted so
 * that both sides see the same layout.
 */
#ifndef MEMLEAKBPF_BPF_ABI_H
#define MEMLEAKBPF_BPF_ABI_H

#include "bpf/lost_cause.h"
#include "bpf/types.h"

#define ABI_MAX_FRAMES	128 /* pcs in one stack, the probe's own place included */
#define ABI_MAX_PENDING 4   /* allocator calls of one thread under way on different stacks */
/*
 * Rows of the arrays with a row for each target. A target's row is its id modulo this, and belongs
 * to it alone: bpf/number.h gives out an id only if its row is free.
 */
#define ABI_TARGET_SLOTS 16384
#define ABI_NO_SLOT	 0xffffffffu

/*
 * The cookie of a probe, packed into the 64 bits that the kernel hands to the program. Arguments
 * count from 1, 0 is none.
 */
union probe_cookie {
	uint64_t value;
	struct {
		uint8_t op; /* enum alloc_op */
		uint8_t size_arg;
		uint8_t count_arg;
		uint8_t ptr_arg;
		/*
		 * may call another probed function: its return is wanted even if it is not recorded
		 */
		uint8_t nests;
		uint8_t bare;	/* no return probe: alloc_return is on its `ret` instructions */
		uint8_t family; /* enum alloc_family */
		/* a C++ operator: allocates the one block that it returns, and no other */
		uint8_t one_block : 1;
		/* a user's own function: 1 + its row of `own_functions`; 0: has none */
		uint8_t own : 7;
	};
	struct {
		uint8_t loaded_op, loaded_reserved[3];
		/* OP_LOADED: from the probe to the loader's struct r_debug; 0: unknown */
		int32_t debugger_view;
	};
	struct {
		uint8_t scope_op;
		uint8_t scope_tail; /* the probe is on a jump to another function: SCOPE_TAIL */
		uint16_t scope_function; /* OP_SCOPE: number of the function, */
		uint32_t scope_tag;	 /* and the row of `scope_tags` that describes its tag */
	};
	struct {
		uint8_t usdt_op, usdt_reserved[3];
		uint32_t usdt_row; /* OP_USDT_*: of `usdt_specs` */
	};
};
_Static_assert(sizeof(union probe_cookie) == 8, "a cookie is 64 bits");

/*
 * The cookie of a gate's probe (bpf/told.h): enum alloc_op, and above it the address in the process
 * at which stacks begin. Addresses have less than 56 bits on both machines.
 */
static inline union probe_cookie told_cookie(uint8_t op, uint64_t pc)
{
	return (union probe_cookie){.value = pc << 8 | op};
}

static inline uint64_t told_cookie_pc(union probe_cookie cookie)
{
	return cookie.value >> 8;
}

static inline uint8_t told_cookie_op(union probe_cookie cookie)
{
	return (uint8_t)cookie.value;
}

/*
 * Marks the cookie's place in the programs of bpf/old.bpf.c. It is a valid cookie, of a probe that
 * does much, so that loading them shows something.
 */
#define ABI_FIXED_COOKIE      0x6b6d010103010203ull
#define ABI_FIXED_COOKIE_TEXT "0x6b6d010103010203"

/*
 * The counters of one (target, stack): a row of the array `counters`, which user space maps and
 * reads without system calls. Under sampling bytes are estimates and counts have 16 fractional
 * bits.
 */
struct stack_counters {
	uint64_t alloc_bytes;
	uint64_t alloc_count;
	uint64_t free_bytes;
	uint64_t free_count;
	int64_t variance; /* of the live bytes, in units of mean^2 / 2^16; under sampling only */
};
_Static_assert(sizeof(struct stack_counters) == 40, "ABI");

/* The owner of a counter slot: a row of `slot_info`, written once before the slot is used. */
struct slot_info {
	uint64_t stack_id;  /* 0: allocations whose stack could not be recorded */
	uint32_t target_id; /* 0: free slot */
	uint8_t end;	    /* enum stack_end */
	/*
	 * the target weighs its blocks: bytes are estimates, counts have 16 fractional bits, and
	 * there is no variance
	 */
	uint8_t weighed;
	uint8_t arena;	 /* its blocks are a runtime's arenas: struct pool_row */
	uint8_t managed; /* 1: counts as one of shared.managed_slots */
};
_Static_assert(sizeof(struct slot_info) == 16, "ABI");

/*
 * Ages found by the walk over the live map, one row per slot. User space clears it before each
 * walk.
 */
struct slot_age {
	uint64_t oldest_ns;   /* bpf_ktime_get_ns() of the oldest live block; 0: none */
	uint64_t older_bytes; /* live blocks older than the threshold */
	uint64_t older_count;
};
_Static_assert(sizeof(struct slot_age) == 24, "ABI");

/* The last signal to a process that may end it, and who has sent it: bpf/process.bpf.c. */
struct signal_sent {
	uint32_t signal; /* 0: there was none */
	uint32_t sender; /* process, in the initial pid namespace; 0: the kernel */
	uint32_t how;	 /* enum signal_how */
	uint32_t pad;
	char comm[16]; /* the sender's */
};
_Static_assert(sizeof(struct signal_sent) == 32, "ABI");
/* Numbers are those of enum end_sent (user/model/process_end.h). */
enum signal_how {
	SIGNAL_BY_SENDER,
	SIGNAL_BY_ITSELF,
	SIGNAL_AGAIN, /* by the process itself, after `sender` had sent the same */
};

struct target_stats {
	uint64_t unknown_frees;
	uint64_t nested; /* allocator calls inside another one: owned by the outer call */
	/* set by user space: this target has ended and its blocks may be removed */
	uint64_t swept_id;
	/*
	 * when it last went on after a hold at its start (bpf/hold.h), or for loaded libraries
	 * (bpf/loaded.bpf.c); 0: never
	 */
	uint64_t loaded_ns;
	/*
	 * Set by user space: the thread by whose memory the kernel finds the process for probes
	 * (user/trace/anchor.h); its end is told. 0: the main thread.
	 */
	uint64_t anchor;
	uint64_t anchor_ended; /* 1: it has ended, and probes may have missed something since */
	/* TARGET_TELLS: mean bytes between its samples, by their weights; 0: none so far */
	uint64_t tells_every;
	/*
	 * With config.sample_levels: how many samples there were, and how many of their blocks are
	 * live.
	 */
	uint64_t samples, live_samples;
	uint64_t walks; /* of stacks that the thread did not remember */
	struct signal_sent sent;
	uint64_t lost[LOST_CAUSES];
};
_Static_assert(sizeof(struct target_stats) == 8 * (10 + LOST_CAUSES) + sizeof(struct signal_sent),
	       "ABI");

struct live_key {
	uint64_t address;
	uint32_t target_id;
	uint32_t pad;
};
_Static_assert(sizeof(struct live_key) == 16, "ABI");

struct live_value {
	uint64_t size;
	uint32_t slot;
	/* the kernel's ticks, low 32 bits: reading them takes no time, bpf_ktime_get_ns() 35 ns */
	uint32_t time;
	/*
	 * How many bytes it stands for, by the target (TARGET_TELLS); 0: by its size and the
	 * sampling rate. With the map's own 72 bytes an entry takes 96 either way. With --scope, a
	 * block without such a weight has here the call of its birth: the mark of bpf/scope_abi.h,
	 * whose highest bit is set. With config.sample_levels, a gate's sample has LIVE_LEVEL_MARK
	 * and its level.
	 */
	uint64_t weighed;
};
#define LIVE_LEVEL_MARK (1ull << 63)
#define LIVE_LEVEL_MAX	10 /* as in user/gate/stub_layout.h */
_Static_assert(sizeof(struct live_value) == 24, "ABI");

/* A block that was freed: a record of `noted_frees`. */
struct noted_free {
	uint64_t address;
	struct live_value value;
};
_Static_assert(sizeof(struct noted_free) == 32, "ABI");

struct stack_key {
	uint64_t stack_id;
	uint32_t target_id;
	uint32_t scope; /* --scope: its node of bpf/scope_abi.h; 0: none */
};
_Static_assert(sizeof(struct stack_key) == 16, "ABI");

/* The traced processes, by tgid in the initial pid namespace. */
struct target_info {
	uint32_t id;
	uint32_t flags;	 /* TARGET_* */
	uint32_t leaver; /* the thread that ends it; 0: none so far */
	uint32_t victim; /* the kernel has chosen it to be killed, as memory ran out */
};
#define TARGET_FOLLOW 1u /* forked children become targets */
/* runs in its parent's memory until it execs: counts for the parent's id */
#define TARGET_VFORK   2u
#define TARGET_WHOLE   8u /* traced from its first instruction: an unseen address was not allocated */
#define TARGET_LAYERED 4u /* has several allocators, one of which may be built on another */
/* reports its allocations by USDT probes: these count, and no calls of functions */
#define TARGET_TELLS 16u
/*
 * has that language (enum runtime), of which the language's rows know (bpf/runtime). Not in the table
 * of targets: threads find it out when they look at that anew
 */
#define TARGET_RUNTIME(runtime) (32u << ((runtime)-1))
#define TARGET_PYTHON		TARGET_RUNTIME(RUNTIME_PYTHON)
#define TARGET_JAVA		TARGET_RUNTIME(RUNTIME_JVM)
#define TARGET_V8		TARGET_RUNTIME(RUNTIME_V8)
/* What a thread of it is in is known by following frames that are not on its stack. */
#define TARGET_OR(constant, name, text) | TARGET_RUNTIME(RUNTIME_##constant)
#define TARGET_INTERPRETED		(TARGET_PYTHON RUNTIME_INTERPRETERS(TARGET_OR))

/*
 * A runtime that cuts up its own mappings (CPython's arenas, PHP's chunks): which of the target's
 * mappings are its.
 */
struct pool_row {
	uint64_t start, end; /* of the runtime's code: the mapping's caller lies there */
	uint64_t sizes[2];   /* the sizes of its mappings, in bytes; both 0: any */
};
_Static_assert(sizeof(struct pool_row) == 32, "ABI");

struct bad_free_key {
	uint32_t target_id;
	uint8_t kind;			   /* enum bad_free_kind */
	uint8_t alloc_family, free_family; /* enum alloc_family */
	uint8_t pad;
	/* Counter slots, which stand for stacks; ABI_NO_SLOT: none. */
	uint32_t alloc_slot, first_slot, free_slot; /* first: of the free before this one */
};
_Static_assert(sizeof(struct bad_free_key) == 20, "ABI");

struct bad_free_value {
	uint64_t count;
	uint64_t address; /* of the first one: the freed address, */
	uint64_t block;	  /* and where its block begins */
	uint64_t size;	  /* of the block; 0: unknown */
};
_Static_assert(sizeof(struct bad_free_value) == 32, "ABI");

/* Remembered about a block that has been freed. */
struct freed_block {
	uint64_t size;
	uint32_t alloc_slot, free_slot;
};
_Static_assert(sizeof(struct freed_block) == 16, "ABI");

/*
 * The next id of a target's row; 0: that was the last one. Rows are used in turn, so that takes
 * 2^32 targets.
 */
static inline uint32_t abi_next_id_of_row(uint32_t id)
{
	return id > 0xffffffffu - ABI_TARGET_SLOTS ? 0 : id + ABI_TARGET_SLOTS;
}

/* Records in the ring buffer. */
enum event_type {
	EVENT_STACK = 1, /* struct stack_event: a stack seen for the first time */
	EVENT_FORK, /* struct process_event: target_id = the child's, other_id = the parent's */
	/*
	 * target_id = the new program's, 0: it is not traced; other_id = the program that ended by
	 * it
	 */
	EVENT_EXEC,
	EVENT_EXIT,  /* target_id ended */
	EVENT_VFORK, /* the process `pid` runs in target_id's memory until it execs or exits */
	/* it has exited, or has execed and is not followed */
	EVENT_VFORK_EXIT,
	EVENT_LEAVE,  /* target_id is about to end, and waits for a moment to be held */
	EVENT_LOADED, /* target_id has mapped libraries, and waits until their probes are in */
	EVENT_ANCHOR_ENDED, /* the thread `pid` of target_id has ended, others go on */
	EVENT_STACK_COPY,   /* struct stack_copy_event: one that user space has to finish */
	/* of a language, before the first stack that needs it; the type is RUNTIME_EVENT() */
	EVENT_RUNTIME,
	EVENT_PEAK, /* target_id has more live bytes than when user space looked last: bpf/peak.h */
	EVENT_SAMPLES,	   /* there are shared.samples_alarm of them: bpf/told.h */
	EVENT_GUARD_TOUCH, /* bpf/guard_abi.h */
};

/* What an EVENT_RUNTIME tells; of other languages than these each has its own structures (bpf/runtime). */
enum runtime_event_kind {
	RUNTIME_CHAIN,	/* struct runtime_chain_event */
	RUNTIME_FAILED, /* struct runtime_failed_event */
	RUNTIME_CODE,	/* what a function is called */
	RUNTIME_MORE,	/* what else there is to know */
};

/* The type of an event of that language (enum runtime) and kind, of which the lowest byte is EVENT_RUNTIME. */
#define RUNTIME_EVENT(runtime, kind) \
	((uint32_t)EVENT_RUNTIME | (uint32_t)(runtime) << 8 | (uint32_t)(kind) << 16)

static inline int event_is_of_runtime(uint32_t type)
{
	return (uint8_t)type == EVENT_RUNTIME;
}

struct event_header {
	uint32_t type;
	uint32_t target_id;
	uint64_t time_ns; /* bpf_ktime_get_ns() */
};

/* By enum runtime: over the functions of it that a stack is in (RUNTIME_CHAIN); 0: in none. */
struct runtime_hashes {
	uint64_t of[RUNTIMES_FOLLOWED];
};

struct stack_event {
	struct event_header header;
	uint64_t stack_id;
	struct runtime_hashes runtime; /* all 0: the id is the walk's */
	/* the walk's part of the id; for a copy, user space's finishing gives it */
	uint64_t walk_id;
	uint32_t slot;
	uint32_t tid;
	uint16_t frame_count;
	uint8_t end;   /* enum stack_end */
	uint8_t arena; /* a runtime has mapped it: struct pool_row */
	uint8_t pad[4];
	/* only frame_count of them are sent; [0] is the probe's place, the rest return addresses */
	uint64_t frames[ABI_MAX_FRAMES];
};
_Static_assert(sizeof(struct stack_event) == 48 + 8 * RUNTIMES_FOLLOWED + 8 * ABI_MAX_FRAMES,
	       "ABI");

/*
 * A stack whose walk met code that user space has not told the unwinder about yet (a library that
 * was opened a moment ago). It has all that user space needs to go on with the walk. Its stack id
 * is a provisional one.
 */
#define ABI_COPY_SIZE 16384
struct stack_copy_event {
	struct stack_event stack; /* its last frame is the one with unknown code */
	uint64_t pc, sp, fp, lr;  /* registers in that frame */
	uint64_t hash;		  /* of the frames before it */
	uint8_t exact, first;	  /* as in struct unwind_state */
	uint8_t pad[2];
	uint32_t size; /* bytes copied, from sp upwards */
	uint64_t words[ABI_COPY_SIZE / 8];
};
_Static_assert(sizeof(struct stack_copy_event) == sizeof(struct stack_event) + 48 + ABI_COPY_SIZE,
	       "ABI");

struct process_event {
	struct event_header header;
	uint32_t other_id;
	uint32_t pid; /* of the process that target_id names */
	union {
		uint32_t parent_pid; /* EVENT_FORK */
		/* EVENT_EXIT, EVENT_LEAVE: its end in wait(2)'s form; ABI_END_VICTIM */
		uint32_t end;
	};
	union {
		/* EVENT_EXIT: anonymous, resident or swapped out; 0: unknown */
		uint32_t anon_pages;
		struct {
			/* EVENT_FORK, EVENT_EXEC: it waits until this has been handled */
			uint8_t held;
			/* EVENT_EXEC: 1: not the main thread called it */
			uint8_t by_thread;
			/* EVENT_VFORK_EXIT: 1: it has ended, and never became another program */
			uint8_t ended;
			uint8_t pad;
		};
	};
	char comm[16];
};
_Static_assert(sizeof(struct process_event) == 48, "ABI");
#define ABI_END_VICTIM (1u << 16) /* target_info.victim */

#endif
