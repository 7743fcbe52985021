/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Perl's own stacks: what user space says of a target's interpreter, and what the programs send of the subroutines that it is in.
 * Structures: intrpvar.h (the interpreter), cop.h (PERL_SI, PERL_CONTEXT, COP), cv.h, gv.h, hv.h (HEK, xpvhv_aux).
 */
#ifndef MEMLEAKBPF_BPF_PERL_ABI_H
#define MEMLEAKBPF_BPF_PERL_ABI_H

#include "bpf/runtime/runtime_abi.h"
#include "bpf/unwind.h"

#define PERL_TEXT_BYTES 256

/*
 * A stack of contexts: where they are, the stack before it, the number of the innermost one (lower
 * half), whose it is (upper half).
 */
#define PERL_INFO_CONTEXTS  1
#define PERL_INFO_PREV	    2
#define PERL_INFO_INDEX	    4
#define PERL_INFO_TYPE	    5
#define PERL_INFO_WORDS	    6
#define PERL_INFO_MAIN	    1
#define PERL_CONTEXT_WORDS  13
#define PERL_CONTEXT_BYTES  (8 * PERL_CONTEXT_WORDS)
#define PERL_CONTEXT_COP    2 /* where it was entered */
#define PERL_CONTEXT_RETURN 6 /* what comes next; 0: C has called it */
#define PERL_CONTEXT_CV	    9
/* Its first byte. */
#define PERL_KIND(word)	 ((word)&15)
#define PERL_KIND_SUB	 9
#define PERL_KIND_FORMAT 10
#define PERL_KIND_EVAL	 11
#define PERL_IS_FAKE(word) \
	((word)&0x80) /* a block in a regular expression, or try: none to caller() either */

/* Of a statement from byte 32 on: its line (the upper half of a word), its file. */
#define PERL_COP_LINE  0
#define PERL_COP_FILE  2
#define PERL_COP_WORDS 3

/* A value: its body, and in the upper half of a word its type. */
#define PERL_TYPE(word) ((word) >> 32 & 0xff)
#define PERL_TYPE_GLOB	9
#define PERL_TYPE_HASH	12
#define PERL_TYPE_CODE	13
#define PERL_TYPE_FORM	14

/* Of a subroutine's body: its package, where it is named (a glob, or with the flag a name), its flags (the upper half). */
#define PERL_CODE_STASH	  4
#define PERL_CODE_GLOB	  7
#define PERL_CODE_FLAGS	  11
#define PERL_CODE_WORDS	  12
#define PERL_CODE_NAMED	  0x8000u
#define PERL_CODE_LEXICAL 0x10000u /* its name has no package */
/* Of a glob's body. */
#define PERL_GLOB_NAME	4
#define PERL_GLOB_STASH 5
/*
 * A package's further part: its name, or where its names are, and how many (upper half). Below 0
 * the first name is not in use.
 */
#define PERL_STASH_NAME	 0
#define PERL_STASH_COUNT 3
#define PERL_STASH_WORDS 4

/* The interpreter of a target. Offsets are in bytes. */
struct perl_row {
	uint64_t key; /* the variable that has the key by which a thread has its interpreter */
	uint64_t thread_data; /* glibc: from the thread's pointer to what it has set for keys */
	uint16_t cop,
		info; /* in the interpreter: the statement that runs, and the stack of contexts */
	uint16_t stash_names; /* in a package's body */
	uint16_t bytes;	      /* of an interpreter */
};
_Static_assert(sizeof(struct perl_row) == 24, "ABI");

/*
 * struct runtime_call: what the subroutine is called, over that and its file, and the line; and where C has called it.
 */
#define PERL_ENTRY RUNTIME_ENTRY
#define PERL_NAMED (1ull << 63) /* in a code that is made of a name and a package */
#define PERL_EVAL  1		/* in place of a CV: eval, require, use */
#define PERL_MAIN  2		/* what is in no subroutine */
#define PERL_LEFT \
	3 /* a subroutine that is left, and freed with that: what it was called is no more */

/* RUNTIME_CODE: what is called there, as it runs. Texts as they are. */
struct perl_code_event {
	struct event_header header;
	struct runtime_call call; /* without PERL_ENTRY */
	uint32_t function_length; /* of which PERL_TEXT_BYTES are sent; 0: it has none, */
	uint32_t package_length, file_length; /* or there is none */
	uint32_t unread;		      /* a text that is there could not be read */
	uint8_t function[PERL_TEXT_BYTES], package[PERL_TEXT_BYTES], file[PERL_TEXT_BYTES];
};
_Static_assert(sizeof(struct perl_code_event) == 56 + 3 * PERL_TEXT_BYTES, "ABI");

/* Why a chain could not be followed. */
enum perl_failure {
	PERL_FOLLOWED,
	PERL_UNREADABLE, /* a context or what it leads to is in no memory */
	PERL_NO_CODE,	 /* what a context runs is no subroutine */
	PERL_NO_NAME,	 /* what it is named by is no glob */
};

#endif
