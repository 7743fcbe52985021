/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Walking a stack by unwind tables: the interface of bpf/unwind.bpf.c to the probe programs. */
#ifndef MEMLEAKBPF_BPF_UNWIND_H
#define MEMLEAKBPF_BPF_UNWIND_H

#include "bpf/abi.h"
#include "bpf/stack_end.h"
#include "bpf/unwind_abi.h"

/* Words of stack read at once: many small reads cost more than a few large ones. */
#define UNWIND_WINDOW_WORDS 64
/* Rules that a thread remembers; a power of two. */
#define UNWIND_CACHE_SIZE 64
/*
 * Whole walks that a thread remembers (bpf/unwind_trail.h): in sets of so many ways. Powers of two;
 * the number of a trail fits 8 bits.
 */
#define UNWIND_TRAILS	  256
#define UNWIND_TRAIL_WAYS 8
/* The words of stack that one walk may have read, and that all trails of a thread hold: powers of two. */
#define UNWIND_TRAIL_WORDS 64
#define UNWIND_TRAIL_ROOM  4096
/* How far from where a walk begins a word may lie, as bits of the distance in bytes. */
#define UNWIND_TRAIL_REACH 19
#define UNWIND_WORD_BITS   48

/* struct unwind_state.flags, set by the caller. */
#define UNWIND_FP_ONLY 1u /* --stack fp: no object has tables */
/* The walk begins inside of a function, not at its entry: the stack there is the function's own. */
#define UNWIND_INSIDE 2u
/* The target has a JVM: the walk asks unwind_frame_size() about code without a file. */
#define UNWIND_HOTSPOT 4u
/* The target has V8: it hears of frames of code without rows, and changes nothing. */
#define UNWIND_V8 8u

/* What unwind_frame_size() says beside a size: */
#define UNWIND_FRAME_OTHER	 0    /* is left like any code without rows */
#define UNWIND_FRAME_INTERPRETED (-1) /* a frame of HotSpot's interpreter */
#define UNWIND_FRAME_LOST	 (-2) /* the JVM should know, and does not */

struct unwind_regs {
	uint64_t pc, sp, fp;
	uint64_t lr; /* AArch64 */
};

/* What was found out about a place: a thread calls from the same ones again and again. */
struct unwind_cached {
	uint64_t pc_rule; /* place << 16 | rule; 0: empty */
	uint64_t token;	  /* the place's part of the stack's hash */
};

/*
 * All that a walk depended on: the registers at its beginning, the words of stack it read, and the
 * generation of its tables. While these are the same, a new walk would lead to the same stack.
 * Comparing them is several times quicker.
 */
struct unwind_trail {
	struct unwind_regs regs;
	uint32_t target_id;
	uint32_t generation;
	uint32_t count;	  /* words read; more than UNWIND_TRAIL_WORDS: some are missing here */
	uint32_t uses_fp; /* not 0: the first frame pointer mattered; without it, any will do */
	uint64_t other;	  /* not 0: it depended on more, or on words that are far away */
	uint64_t words
		[UNWIND_TRAIL_WORDS]; /* UNWIND_WORD_BITS of each, above them its place: address - regs.sp, in words */
};

/* A trail that is kept. Its words are in struct unwind_trails. */
struct unwind_kept {
	struct unwind_regs regs;
	uint32_t target_id; /* 0: empty */
	uint32_t generation;
	uint64_t number; /* what the stack was found to be */
	uint64_t start;	 /* unwind_trails.used when its words were written */
	uint16_t count;	 /* words */
	uint8_t uses_fp;
	uint8_t pad;
	uint32_t tag; /* of unwind_state.key: all ways of a set are looked through by it */
};

/*
 * The trails of a thread. The room for words is filled round and round, whichever trail they belong
 * to. Most walks read few words, so it holds several times more of them than if each had room for
 * the longest. A trail whose words have been written over is forgotten. Starts as all zeros.
 */
struct unwind_trails {
	uint64_t used; /* words written so far */
	uint8_t last;  /* the trail that was taken last */
	uint8_t pad[7];
	uint8_t next[UNWIND_TRAILS]; /* which was taken after this one */
	struct unwind_kept kept[UNWIND_TRAILS];
	/* As in struct unwind_trail. The last one's go on behind the end. */
	uint64_t words[UNWIND_TRAIL_ROOM + UNWIND_TRAIL_WORDS];
};

/*
 * Scratch of a thread's walks. It lives in a map value that belongs to the thread. It is too large
 * for the BPF stack, and a preempted program would share a per-CPU buffer. Starts as all zeros. For
 * each walk the caller sets regs, target_id, max_frames and flags; hash is the result.
 */
struct unwind_state {
	struct unwind_regs regs; /* of the frame being looked at */
	uint32_t target_id;
	uint32_t flags;
	uint32_t max_frames; /* at most ABI_MAX_FRAMES */

	uint8_t end;   /* enum stack_end */
	uint8_t first; /* frame 0: at an allocator's entry, nothing has been pushed yet */
	uint8_t exact; /* pc is where execution stopped, not a return address */
	/* nothing vouches for the frame pointer that gave pc: UNWIND_WEAK, UNWIND_PUSHED */
	uint8_t weak;
	uint8_t first_fp; /* regs.fp is still the walk's first */
	uint8_t pad[3];

	uint64_t hash;
	uint64_t hash_before; /* STACK_END_NO_MAPPING: without the last frame and the end */
	uint64_t fp_at;	      /* the frame pointer is still in memory here; 0: it is in regs */
	uint64_t
		c_sp; /* where the walk left the thread's own stack for a goroutine's; 0: it has not */

	/* The mapping that holds pc, kept as neighbours mostly share it. Empty: map_end = 0. */
	uint64_t map_start, map_end, map_base;
	uint32_t directory, pages, object;
	uint32_t asked; /* the kernel said so: may differ at the next walk */

	uint64_t set;	     /* of the target, for this walk */
	uint32_t generation; /* of the cache */
	uint32_t remaps;     /* of the target, for this walk; kernels before 5.15 */
	uint64_t window_at;  /* address of window[0]; 0: nothing read yet */
	uint64_t window[UNWIND_WINDOW_WORDS];
	struct unwind_cached cache[UNWIND_CACHE_SIZE];
	struct unwind_trail trail; /* of this walk */
	/* Where its trail is to be kept: unwind_trail_find(); 0: nobody has looked for it. */
	uint64_t key;
	uint64_t remembered;		    /* walks whose trail was to be kept, kept or not */
	const struct unwind_memory *memory; /* in user space: where tables and stack are */
};

/* What the kernel says of an address that no set of mappings knows. */
enum unwind_answer {
	UNWIND_KNOWN,	 /* the mapping is filled in */
	UNWIND_NOT_CODE, /* nothing executable is there */
	UNWIND_UNKNOWN,
};

/*
 * Each step is invertible in the hash, so two stacks that differ in one frame only never collide.
 * The multiplier is 2^64 / golden ratio.
 */
static inline uint64_t unwind_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ (hash >> 32);
}

/* The id of a stack: of the walk, and of the other facts about it. Never 0. */
static inline uint64_t unwind_mix_ids(uint64_t walk_id, uint64_t other)
{
	return unwind_mix(walk_id, other * 0xc2b2ae3d27d4eb4full) ?: 1;
}

/*
 * Of RUNTIME_INTERPRETERS. Without a branch, of which the verifier would follow both ways through all
 * that comes behind.
 */
#define RUNTIME_MIX(constant, name, text) \
	^hashes->of[RUNTIME_##constant] * (0x9e3779b97f4a7c15ull * (2 * RUNTIME_##constant + 1))
static inline uint64_t runtime_mix_interpreters(uint64_t walk_id,
						const struct runtime_hashes *hashes)
{
	return walk_id RUNTIME_INTERPRETERS(RUNTIME_MIX);
}

/* The walk's id alone, if it is in no function of a runtime. */
static inline uint64_t runtime_stack_id(uint64_t walk_id, const struct runtime_hashes *runtime)
{
	if (runtime->of[RUNTIME_PYTHON])
		walk_id = unwind_mix_ids(walk_id, runtime->of[RUNTIME_PYTHON]);
	if (runtime->of[RUNTIME_JVM])
		walk_id = unwind_mix_ids(walk_id, runtime->of[RUNTIME_JVM]);
	if (runtime->of[RUNTIME_V8])
		walk_id = unwind_mix_ids(walk_id, runtime->of[RUNTIME_V8]);
	return runtime_mix_interpreters(walk_id, runtime);
}

#ifdef __bpf__
/* These exist twice: unwind_managed.bpf.c. */
#ifdef MEMLEAKBPF_MANAGED
#define unwind_step  managed_unwind_step
#define unwind_stack managed_unwind_stack
#endif

/*
 * Walks up from state->regs. Fills event->frames ([0] = regs.pc, then return addresses),
 * frame_count and end, and state->hash. That is 64 bits over (object, offset) of each frame and the
 * end, the same wherever things are mapped; never 0. Returns the number of frames.
 */
int unwind_stack(struct unwind_state *state, struct stack_event *event);

/* A thread that walks so often gets room for its trails: most threads never do. */
#define UNWIND_WALKS_BEFORE_TRAILS 8
/* Where it could not be had, it is tried again after so many walks more. */
#define UNWIND_WALKS_BETWEEN 256

/*
 * Instead of unwind_stack(). Returns the number that unwind_remember() was given for the very stack
 * that the thread has now, if it has not forgotten it. Else ABI_NO_SLOT, and nothing has changed.
 */
uint64_t unwind_recall(struct unwind_state *state);

/*
 * After unwind_stack(): its stack is `number` from now on. Does nothing if the walk cannot be
 * remembered.
 */
int unwind_remember(struct unwind_state *state, uint64_t number);

/*
 * After a walk that ended with STACK_END_NO_MAPPING: fills *event with all that user space needs to
 * go on with it. The stack id is then a hash over all words of the copied stack that could be
 * return addresses. So stacks with the same id are walked alike. 0 when the stack cannot be read.
 */
int unwind_copy(struct unwind_state *state, struct stack_copy_event *event);

/*
 * The target's memory [start, start + size) has a new meaning (mmap): mappings known there no
 * longer count. Called in the kernel at the moment of the mapping, for user space may be late.
 */
int unwind_remapped(uint32_t target_id, uint64_t start, uint64_t size);

/*
 * bpf/runtime/java.bpf.c: unwind_frame_size(), of a frame whose code is no file's. It is entered in what is known of the thread's stack
 * (bpf/runtime/java.h).
 */
int hotspot_look(const struct unwind_state *state);
/* bpf/runtime/v8.bpf.c: takes down a frame of code without rows. UNWIND_FRAME_OTHER. */
int v8_look(const struct unwind_state *state);

/* A forked child has its parent's mappings until user space gives it its own. */
int unwind_forked(uint32_t parent_id, uint32_t child_id);
#endif

#endif
