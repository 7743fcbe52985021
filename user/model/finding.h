/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A report in a few sentences: what a person would say of its figures. user/analysis computes each one
 * from figures that the report has, and exporters print them.
 */
#ifndef MEMLEAKBPF_MODEL_FINDING_H
#define MEMLEAKBPF_MODEL_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum finding_kind {
	FINDING_LOST,	    /* a line whose blocks nothing points to any more */
	FINDING_GROWING,    /* a line that has ever more, or a kind of blocks */
	FINDING_MOST,	    /* who has most of what is live: no accusation */
	FINDING_HOLDS,	    /* the variable that most blocks hang on */
	FINDING_THREADS,    /* threads that nobody has joined */
	FINDING_MISUSES,    /* --check-frees, --guard */
	FINDING_CLEAR,	    /* nothing is lost, or live, of what was seen */
	FINDING_NOT_SEEN,   /* nothing can be said, for nothing was seen */
	FINDING_UNTRACED,   /* memory grew that no traced function has given out */
	FINDING_HEAP,	    /* a runtime's own heap, which is not traced */
	FINDING_SPACE,	    /* addresses grew, and memory did not */
	FINDING_FREE,	    /* free memory that an allocator keeps */
	FINDING_MEMORY,	    /* where the process's memory is */
	FINDING_INCOMPLETE, /* why figures are not complete */
	FINDING_NEXT,	    /* what to do next */
	FINDING_KINDS,
};

/* Where it is in the code. Unknown strings are NULL. All are owned. */
struct finding_place {
	char *function, *file, *module;
	uint32_t line;	/* 0: unknown */
	char *variable; /* of FINDING_HOLDS, in place of the others */
};

struct finding {
	enum finding_kind kind;
	char *text;	/* one sentence, not cleaned of names that others chose. Owned */
	uint64_t bytes; /* what it is about; 0: no bytes */
	double share;	/* 0 to 1, of what the sentence says; negative: there is none */
	struct finding_place where;
};

#define FINDINGS_ROOM  24
#define FINDINGS_SHOWN 5

struct findings {
	struct finding items[FINDINGS_ROOM];
	size_t count;
};

/* "lost", …: a stable name for JSON. */
const char *finding_kind_name(enum finding_kind kind);

/* A new last one, with its sentence as printf() makes it. NULL: no room, or no memory. */
struct finding *findings_add(struct findings *findings, enum finding_kind kind, uint64_t bytes,
			     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Drops what matters least, until there are at most `most`; their order stays. */
void findings_trim(struct findings *findings, size_t most);

/* Is there one of this kind? `findings` may be NULL: then there is not. */
bool findings_have(const struct findings *findings, enum finding_kind kind);

/* A copy, for who outlives the report. NULL: out of memory, or there are none. */
struct findings *findings_copy(const struct findings *findings);

void findings_free(struct findings *findings); /* NULL is fine */

#endif
