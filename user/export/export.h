/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One vtable for every output format. What a format is and can is asked here, and never told by its
 * name. An exporter is handed snapshots with the stacks to be shown, best first, which have their
 * frames; all stacks have theirs where the format wants_all. It reads nothing of the running system
 * and needs no root.
 */
#ifndef MEMLEAKBPF_EXPORT_EXPORT_H
#define MEMLEAKBPF_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "user/model/inspection.h"
#include "user/model/kernel_report.h"
#include "user/model/report.h"
#include "user/model/site.h"
#include "user/model/survey_report.h"

/* What a format that shows one number per stack shows. */
enum export_value {
	EXPORT_LIVE_BYTES,
	EXPORT_ALLOC_BYTES, /* since attach */
	EXPORT_GROWTH,	    /* of live bytes since the last snapshot, where it is positive */
	EXPORT_LIVE_COUNT,
	EXPORT_LOST_BYTES, /* definitely and indirectly lost; 0 without a verdict */
};

/* Whose way of writing suppressions. */
enum suppression_style {
	SUPPRESSION_NONE,
	SUPPRESSION_VALGRIND,
	SUPPRESSION_LEAKSANITIZER,
};

struct export_options {
	bool color;	 /* terminal escapes allowed */
	bool show_older; /* --older was given: show stack.older, and say so */
	uint64_t older_ns;
	size_t width;			     /* terminal columns, 0: unlimited */
	bool verbose;			     /* -v: addresses, stack ids, stack ends */
	bool brief;			     /* --short: a line for each row */
	bool whole;			     /* a row has all its stacks */
	bool leak_only;			     /* only stacks with lost blocks are shown: say so */
	enum suppression_style suppressions; /* for each stack shown: one that would hide it */
	enum export_value value;
	struct site_rules sites; /* --own, --not-own */
	enum site_by by;	 /* what a row is */
	bool redraw; /* a survey's table takes the place of the last one on the terminal */
	bool utf8;   /* the reader's characters may be other than ASCII: sparklines */
	/*
	 * The output is a regular file that holds nothing else: a document is written into it anew
	 * at every snapshot, not at the end only.
	 */
	bool rewrite;
};

struct exporter;
struct comparison;

/* How a format says what is no snapshot and has been found out once: by `doctor`, so far. */
enum export_findings {
	EXPORT_NO_FINDINGS, /* it does not */
	EXPORT_LINES,	    /* a line for each, for people */
	EXPORT_OBJECT,	    /* one JSON object */
};

struct exporter_format {
	const char *name; /* of -f */
	const char *help; /* one line for --help */
	/* reads snapshot->stacks, all of which must have their frames, and not `shown` */
	bool wants_all;
	bool keeps_old;	       /* of the file of -o what it held is kept as FILE.old */
	bool binary;	       /* no text: of no use on a terminal */
	bool rows;	       /* reads report->rows, where there are some: `shown` are rows then */
	bool says;	       /* it shows report->findings, which last reports have then */
	bool only_inspections; /* of anything else it shows nothing */
	bool wants_pss; /* snapshots are to have memory.pss, which costs more than the rest */
	/*
	 * of a recording it shows every snapshot; false: the last one of each target, unless a
	 * range is asked for
	 */
	bool history;
	/* why this build does not have it, NULL: it does; NULL itself: every build does */
	const char *(*unavailable)(void);
	struct exporter *(*open)(FILE *out, const struct export_options *options);
	/*
	 * `shown` are the stacks to print, best first, `shown_count` of them, or r->rows' (see
	 * above); snapshot->stacks may hold more, which count only in totals. Returns 0 or -errno of the failed write (-EPIPE,
	 * -ENOSPC …), not logged. Each call flushes.
	 */
	int (*snapshot)(struct exporter *e, const struct report *r,
			const struct stack *const *shown, size_t shown_count);
	/*
	 * The snapshots until the next call of it are of one time (`begins`), or have all come: a format
	 * may wait until then. As snapshot(). NULL: it does not ask.
	 */
	int (*round)(struct exporter *e, bool begins);
	/*
	 * What a survey knows at one time, the most suspect first; rows are all processes where the
	 * format wants_all, those to be shown where not. A drill's snapshot has a target_id of its
	 * own. As snapshot(). NULL: the format has no surveys.
	 */
	int (*survey)(struct exporter *e, const struct survey_report *report);
	/*
	 * What a look at a process has found, at most `top` of its groups and losses, which stand in the
	 * order that is wanted. As snapshot(). NULL: the format has no inspections.
	 */
	int (*inspection)(struct exporter *e, const struct inspection *inspection, size_t top);
	/* What is known of the kernel's own memory. As snapshot(). NULL: the format has none of it. */
	int (*kernel)(struct exporter *e, const struct kernel_report *report);
	/* of a look at a process it shows the profiles that runtimes keep themselves, as snapshot() */
	bool profiles;
	int (*close)(struct exporter *e); /* writes what is left, frees e; 0 or -errno */

	/*
	 * The rest needs no exporter.
	 *
	 * Prints a comparison whole and flushes; at most `top` stacks of those that grew and of
	 * those that shrank. NULL: the format has none. 0 or -errno, not logged.
	 */
	int (*compare)(FILE *out, const struct export_options *options, const struct comparison *c,
		       size_t top);
	enum export_findings findings;
};

/*
 * The format of `memleakbpf record`: no name of -f, for nothing but `report` and `diff` reads it.
 */
extern const struct exporter_format export_recording;

const struct exporter_format *export_find_format(const char *name); /* NULL: no such format */
const struct exporter_format *export_format_at(size_t index);	    /* NULL past the last */

/* What a format may be asked for. */
enum export_use {
	EXPORT_ANYTHING,
	EXPORT_SURVEYS,
	EXPORT_COMPARISONS,
	EXPORT_FINDINGS,
	EXPORT_INSPECTIONS,
	EXPORT_KERNEL,
	EXPORT_PROFILES, /* inspections, or the profiles that runtimes keep themselves */
};
bool export_can(const struct exporter_format *format, enum export_use use);

/* One stack as -f text shows it. */
void export_put_stack(FILE *out, const struct export_options *options, const struct report *r,
		      const struct stack *stack);

#define EXPORT_NAMES_MAX 128

/* The names of the formats that can, for messages: "text, json" with ", " between. Returns buf. */
char *export_names(char buf[static EXPORT_NAMES_MAX], enum export_use use, const char *between);

#endif
