/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parts of the BPF object that a kernel may refuse. One table has a row for each program, and
 * for each map that some kernels lack. A row says what the part is for, and what is done without
 * it. Private to user/trace, and its tests.
 */
#ifndef MEMLEAKBPF_TRACE_REFUSED_H
#define MEMLEAKBPF_TRACE_REFUSED_H

#include "user/model/missing.h"
#include "user/trace/state.h"

/* Bits of trace_options.left_out: what no other option says. */
#define LEFT_OUT_WALKS	 (1u << 0) /* live_ages, live_sweep: user space walks */
#define LEFT_OUT_CLOCK	 (1u << 1) /* live_clock_read: no ages */
#define LEFT_OUT_MAPPING (1u << 2) /* on_mapping */
#define LEFT_OUT_TYPES	 (1u << 3) /* tracepoints by BTF types: raw.bpf.c's programs */
#define LEFT_OUT_AT_END	 (1u << 4) /* what a process has at its end */
#define LEFT_OUT_VICTIM	 (1u << 5) /* on_victim */
#define LEFT_OUT_SIGNALS (1u << 6) /* on_signal */

/* What it costs not to have the kernel's clock. */
#define REFUSED_NO_CLOCK "ages of blocks are not known, and there is no --snapshot=fork"

struct refused_row {
	const char *what;     /* a stable name, of struct missing_part */
	const char *programs; /* with spaces between */
	const char *maps;     /* likewise; NULL: none */
	bool judged;	      /* only where the verifier has complained of the program */
	bool copies;	      /* it copies the kernel's memory: refused_without_copies() */
	const char *purpose;  /* what it is for: "probes on allocators" */
	/* What is done instead: changes the options. False: it has been tried, or there is nothing. */
	bool (*instead)(struct trace_options *options);
	const char *costs; /* struct missing_part; NULL: nothing that anybody notices */
};

/* The table. A program may have several rows, which are tried in their order. */
const struct refused_row *refused_rows(size_t *count);
/* Is the program, or map, one of the row's? NULL or "" is none. */
bool refused_row_has(const struct refused_row *row, const char *program, const char *map);

/* Before loading, after all else has been chosen: sets autoload as options->left_out says. */
void refused_choose(struct memleakbpf *skel, const struct trace_options *options);

/*
 * Loads the object that `open` has opened and configured (0, or -errno, logged), and again without
 * what the kernel refuses, each row once. What is missing then is said, and in trace->missing. 0 or
 * -errno, logged.
 */
int refused_load(struct trace *trace, int (*open)(struct trace *trace));

/*
 * For kernels where programs may not copy the kernel's memory (options.typed_reads), before the
 * first load. Leaves out what cannot be had without, says so, and notes it in trace->missing.
 */
void refused_without_copies(struct trace *trace);

/* Something else that is missing is said, and in trace->missing: as missing_add(). */
void refused_note(struct trace *trace, const char *what, const char *costs, int err,
		  const char *culprit);

#endif
