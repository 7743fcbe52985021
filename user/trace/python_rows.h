/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Targets that run CPython: the programs are told where it has its frames. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_PYTHON_ROWS_H
#define MEMLEAKBPF_TRACE_PYTHON_ROWS_H

#include "user/trace/target.h"

struct python_failed_event;

/*
 * Is there an interpreter in the target's image, and where? Then it is entered in the map; or it is said why
 * not. Each time that the image has changed: one in a library may be closed, and opened elsewhere. Failures
 * are logged.
 */
void python_rows_look(struct trace *trace, struct target *target);

/* Nothing more is wanted of the target's Python. */
void python_rows_drop(struct trace *trace, uint32_t target_id);

/* The programs cannot follow its frames. */
void python_rows_failed(const struct trace *trace, const struct python_failed_event *event);

#endif
