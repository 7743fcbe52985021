/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the arguments of a USDT probe are, as its note says in the assembler's words:
 * "8@%rdi -4@$5 8@16(%rsp)". Format: SystemTap's wiki, UserSpaceProbeImplementation, and what
 * <sys/sdt.h> has gcc and clang write. The text is somebody else's.
 */
#ifndef MEMLEAKBPF_TARGET_USDT_ARGS_H
#define MEMLEAKBPF_TARGET_USDT_ARGS_H

#include <stddef.h>

#include "bpf/usdt_abi.h"

/*
 * Fills in the first `count` arguments, and does not look at the others. Nothing is logged.
 *
 * - 0: all are there
 * - -ENODATA: there are fewer
 * - -ENOTSUP: an argument is no integer in a register, no integer in memory that registers point
 *   to, and no constant
 */
int usdt_args_parse(const char *text, struct usdt_arg *args, size_t count);

/* The same for notes of a given architecture, whatever this machine's is. */
int usdt_args_parse_x86_64(const char *text, struct usdt_arg *args, size_t count);
int usdt_args_parse_aarch64(const char *text, struct usdt_arg *args, size_t count);

#endif
