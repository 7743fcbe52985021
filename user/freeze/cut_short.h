/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_FREEZE_CUT_SHORT_H
#define MEMLEAKBPF_FREEZE_CUT_SHORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * The numbers of the system calls that a stop may cut short; *count of them. signal(7) names them
 * under "Interruption of system calls and library functions by stop signals". Added are all calls
 * that wait for a socket with a timeout, and those of asynchronous input and output.
 */
const uint16_t *cut_short_calls(size_t *count);

#endif
