/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_FREEZE_CUT_SHORT_H
#define MEMLEAKBPF_FREEZE_CUT_SHORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * The numbers of the system calls that a stop may cut short: those that signal(7) names under
 * "Interruption of system calls and library functions by stop signals", with all by which a socket
 * with a timeout may be waited for; and those of asynchronous input and output. *count of them.
 */
const uint16_t *cut_short_calls(size_t *count);

#endif
