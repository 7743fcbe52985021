/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that most traces never need: they are loaded when one is needed first. Most of a start is the
 * verifier's. Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_LATER_H
#define MEMLEAKBPF_TRACE_LATER_H

#include "user/trace/state.h"

/*
 * The program's descriptor, borrowed; one that was left out at the start is loaded now, in some
 * 100 ms. Or -errno, logged once. `trace`: struct trace *, as struct attach_programs has it.
 */
int later_load(void *trace, const struct bpf_program *program);

/* The same without loading it: -1 where it is not loaded. */
int later_fd(const struct trace *trace, const struct bpf_program *program);

/*
 * To be called before a target is entered in the rows of a runtime (TARGET_PYTHON and the like).
 * Loads the programs that follow runtimes, once. The usual programs go on in them (bpf/managed.h).
 * 0; or -errno where the kernel refuses them, which is logged once. Then no target may be entered.
 */
int later_runtimes(struct trace *trace, uint32_t runtime);

void later_free(struct trace *trace);

#endif
