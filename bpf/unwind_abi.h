/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The unwind tables that user space writes and the BPF unwinder reads.
 *
 * Storage is one address space of 32-bit words, cut into chunks of UNWIND_CHUNK_WORDS. A chunk is a
 * BPF array of its own, added when it is needed. So memory grows with the tables; a thing in one
 * piece never crosses a chunk. Three things live in it:
 *
 * - page: the rows of UNWIND_PAGE_SIZE bytes of text. First come UNWIND_PAGE_INDEX 16-bit numbers,
 *   one per 256 bytes of text and one more. Each is the number of the first row at or after that
 *   place. Then come the rows, one word each: low 16 bits of the address << 16 | rule. Row 0 is
 *   always at the page's first byte. About 5 bytes a row in all.
 * - directory: for each page of an object's text segment, the word where the page begins, 0 when it
 *   has no rows.
 * - set: the executable mappings of a process, struct unwind_mapping, sorted by address. First the
 *   start addresses alone (8 bytes each, for the search), padded to UNWIND_SET_ALIGN, then the
 *   mappings.
 */
#ifndef MEMLEAKBPF_BPF_UNWIND_ABI_H
#define MEMLEAKBPF_BPF_UNWIND_ABI_H

#include "bpf/types.h"

#ifdef __bpf__
typedef __s16 int16_t;
#endif

#define UNWIND_CHUNK_WORDS   65536u /* 256 KiB */
#define UNWIND_CHUNK_BYTES   (UNWIND_CHUNK_WORDS * 4u)
#define UNWIND_MAX_CHUNKS    4096u /* 1 GiB: about 200 million rows */
#define UNWIND_PAGE_SHIFT    16
#define UNWIND_PAGE_SIZE     (1u << UNWIND_PAGE_SHIFT)
#define UNWIND_BUCKET_SHIFT  8
#define UNWIND_PAGE_BUCKETS  (1u << (UNWIND_PAGE_SHIFT - UNWIND_BUCKET_SHIFT))
#define UNWIND_PAGE_INDEX    (UNWIND_PAGE_BUCKETS + 2) /* one more for the end, one to fill the word */
#define UNWIND_PAGE_HEADER   (UNWIND_PAGE_INDEX / 2) /* words before the rows */
#define UNWIND_MAX_PAGE_ROWS (UNWIND_CHUNK_WORDS - UNWIND_PAGE_HEADER)
#define UNWIND_MAX_RULES     16384u
#define UNWIND_SET_ALIGN     32u
#define UNWIND_MAX_MAPPINGS  4096u /* per process */

/* How to find the canonical frame address. Registers are those of the frame being left. */
enum unwind_cfa {
	UNWIND_CFA_NONE = 0,	/* no rows for this code */
	UNWIND_CFA_END,		/* the thread's first frame: there is no caller */
	UNWIND_CFA_UNSUPPORTED, /* rows exist that a rule cannot express */
	UNWIND_CFA_SIGNAL,	/* kernel's signal frame: all registers are in memory at sp */
	UNWIND_CFA_SP,		/* sp + cfa_off */
	UNWIND_CFA_FP,		/* fp + cfa_off */
	UNWIND_CFA_SP_DEREF,	/* *(sp + cfa_off) + cfa_add */
	UNWIND_CFA_FP_DEREF,	/* *(fp + cfa_off) + cfa_add */
	UNWIND_CFA_PLT,		/* sp + cfa_off + ((pc & 15) >= cfa_add ? 8 : 0); x86-64 */
	/*
	 * Go's change from the thread's own stack to a goroutine's (user/unwind/go_rows.c). The
	 * goroutine is at *(sp + cfa_off), the end of its stack at + cfa_add there. The caller's
	 * frame begins *(sp + ra_off) below that, with the return address at + fp_off.
	 */
	UNWIND_CFA_GO_CALL,
	/*
	 * And back to the C that had called Go. Its frame on the thread's stack lies cfa_off, or up
	 * to 8 more, above the sp of the change before. The return address is at + ra_off, the
	 * frame pointer at + fp_off there.
	 */
	UNWIND_CFA_GO_CALLBACK,
};

/* Where the caller's frame pointer is. */
enum unwind_fp {
	UNWIND_FP_SAME = 0, /* still in the register */
	UNWIND_FP_CFA,	    /* *(cfa + fp_off) */
	UNWIND_FP_FP,	    /* *(fp + fp_off), fp being this frame's */
	UNWIND_FP_LOST,
};

/* Where the return address is. */
enum unwind_ra {
	UNWIND_RA_CFA = 0, /* *(cfa + ra_off) */
	UNWIND_RA_LR,	   /* still in the link register; aarch64 */
};

struct unwind_rule {
	uint8_t cfa;	/* enum unwind_cfa */
	uint8_t fp : 4; /* enum unwind_fp */
	uint8_t ra : 4; /* enum unwind_ra */
	int16_t cfa_add;
	int32_t cfa_off; /* all offsets in bytes */
	int32_t fp_off;
	int32_t ra_off;
};
_Static_assert(sizeof(struct unwind_rule) == 16, "ABI");

/* Rules that are always there, at these numbers. */
#define UNWIND_RULE_NONE	0
#define UNWIND_RULE_END		1
#define UNWIND_RULE_UNSUPPORTED 2
#define UNWIND_RULE_SIGNAL	3

/* One executable mapping of a process. */
struct unwind_mapping {
	uint64_t end; /* first address after it */
	/* address of the directory's first page; with no pages: of the file's first byte */
	uint64_t base;
	uint32_t directory; /* word where the directory begins */
	uint32_t pages;	    /* in the directory; 0: code without rows */
	uint32_t object;    /* object_id(), for the stack's hash; 0: anonymous memory (JIT) */
	uint32_t stale;	    /* set by the kernel side: another file has been mapped here since */
};
_Static_assert(sizeof(struct unwind_mapping) == 32, "ABI");

/* The mappings of a target; row target id % ABI_TARGET_SLOTS of unwind_targets. */
struct unwind_target {
	/* first word | number of mappings << 32; read and written in one piece; 0: none */
	uint64_t set;
	/* the set's owner: the row may have had another target before */
	uint32_t target_id;
	uint32_t generation; /* changes whenever a mapping may have changed */
	uint32_t remaps;     /* mappings made since the start, of any kind */
	/* of these, mappings that found no set, or covered too large a part of it */
	uint32_t unmarked;
	/*
	 * `unmarked` before user space read the set's mappings: while they differ, the set is not
	 * to be trusted
	 */
	uint32_t valid_from;
	uint32_t pad;
};
_Static_assert(sizeof(struct unwind_target) == 32, "ABI");

/* Set by user space before the programs are loaded. */
struct unwind_config {
	uint8_t has_find_vma; /* bpf_find_vma() is there: kernel >= 5.17 */
	uint8_t pad[3];
	uint32_t page_size; /* of the kernel's memory, in bytes */
};

/* Tables by file, for code that has been mapped since user space last looked. */
#define UNWIND_MAX_OBJECTS 16384
#define UNWIND_OBJECT_SEGMENTS \
	4 /* executable ones; files with more are found through their mappings only (node has 3) */

struct unwind_object_key {
	uint64_t ino;
	uint32_t dev; /* as in the kernel's super_block: major << 20 | minor */
	uint32_t pad;
};

struct unwind_object_segment {
	uint64_t offset, end; /* of the file, covered by the segment; whole pages */
	/* address of the directory's first page, if the file's first byte were at address 0 */
	uint64_t delta;
	uint32_t directory;
	uint32_t pages;
};

struct unwind_object {
	struct unwind_object_segment segments[UNWIND_OBJECT_SEGMENTS];
	uint32_t id; /* object_id() */
	uint32_t pad;
};
_Static_assert(sizeof(struct unwind_object) == 136, "ABI");

/* A new mapping over more known ones than this makes the whole set invalid. */
#define UNWIND_MAX_REMAPPED 16

#endif
