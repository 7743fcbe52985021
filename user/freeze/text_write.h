/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes code of a process that stands still, for the process that holds it (tracer.c). Internal
 * to user/freeze.
 */
#ifndef MEMLEAKBPF_FREEZE_TEXT_WRITE_H
#define MEMLEAKBPF_FREEZE_TEXT_WRITE_H

#include <stddef.h>

#include "user/base/reason.h"
#include "user/freeze/stop.h"
#include "user/freeze/tracees.h"

/* As stop_write(). All threads must stand still, with their registers read. */
int text_write(const struct tracees *all, const struct stop_piece *pieces, size_t count,
	       char reason[static REASON_MAX]);

#endif
