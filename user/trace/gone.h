/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Targets that have ended, though no event has said so. */
#ifndef MEMLEAKBPF_TRACE_GONE_H
#define MEMLEAKBPF_TRACE_GONE_H

#include <stdbool.h>

struct trace;

/* Marks them; true: there are some. */
bool gone_look(struct trace *trace);

/* Ends those that are marked. */
void gone_end(struct trace *trace);

#endif
