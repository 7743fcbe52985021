/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A target's Perl: what is known of it, and of its subroutines. Private to user/runtime/perl. */
#ifndef MEMLEAKBPF_RUNTIME_TARGET_PERL_H
#define MEMLEAKBPF_RUNTIME_TARGET_PERL_H

#include "user/runtime/interpreter.h"
#include "user/runtime/perl/perl_engine.h"

struct target_perl {
	struct interpreter_state interpreter;
	struct perl_runtime runtime;
};

#endif
