/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What frames of Perl's are called, as the programs have copied it. Private to user/runtime/perl. */
#ifndef MEMLEAKBPF_RUNTIME_PERL_NAMES_H
#define MEMLEAKBPF_RUNTIME_PERL_NAMES_H

#include "bpf/runtime/perl_abi.h"
#include "user/runtime/interpreter.h"

void perl_names_add(struct runtimes *runtimes, struct runtime_target *target,
		    const struct perl_code_event *event);

interpreter_frame_fn perl_names_frame;

#endif
