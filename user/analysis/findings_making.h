/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of findings.h share: private to user/analysis. */
#ifndef MEMLEAKBPF_ANALYSIS_FINDINGS_MAKING_H
#define MEMLEAKBPF_ANALYSIS_FINDINGS_MAKING_H

#include "user/analysis/findings.h"
#include "user/base/parse.h"
#include "user/model/function_name.h"

#define FINDINGS_TOLD 8

/* What is being said. */
struct findings_making {
	const struct report *r;
	const struct snapshot *s;
	const struct report *lines; /* a row for each line */
	const struct site_rules *rules;
	struct findings *to;
	bool older;
	struct amount live; /* of all rows: what --older, suppressions and the like leave */
	uint64_t told_ids[FINDINGS_TOLD]; /* rows that have had their sentence */
	size_t told;
	bool failed;
};

static inline const char *findings_blocks(uint64_t count)
{
	return count == 1 ? "block" : "blocks";
}

static inline double findings_share(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

/*
 * Memory that no traced function gives out, where it grew by more than is live. And heaps of runtimes,
 * where what is live is spread over many lines.
 */
void findings_tell_elsewhere(struct findings_making *m, bool spread);

/* Sentences about the whole process, after those about lines of the program. */
void findings_tell_process(struct findings_making *m);

#define FINDINGS_WHERE_MAX (FUNCTION_NAME_MAX + 512)

/*
 * The frame that stands for a row of m->lines. NULL: no more than the allocation function is known.
 * And for people: "make_order (cart.cc:11)", "main (shop)", "libssl.so.3+0x3a210". Returns buf.
 */
const struct frame *findings_site(const struct findings_making *m, const struct stack *row);
char *findings_where(char buf[static FINDINGS_WHERE_MAX], const struct frame *frame);
/* Of NULL nothing but that it failed is kept. */
void findings_set_where(struct findings_making *m, struct finding *finding,
			const struct frame *frame);

#endif
