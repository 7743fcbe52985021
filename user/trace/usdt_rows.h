/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the arguments of USDT probes are, as the programs look it up. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_USDT_ROWS_H
#define MEMLEAKBPF_TRACE_USDT_ROWS_H

#include "user/trace/state.h"

/*
 * Gives the set's probes, which are USDT probes, their cookies: rows of the map, shared by all that
 * have their arguments in the same places. 0; -ENOSPC, logged, when there are too many different
 * ones; or -errno, logged.
 */
int usdt_rows_assign(struct trace *trace, struct probe_set *set);

#endif
