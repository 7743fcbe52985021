/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions that the user has named: what success is of each, and how its calls went. */
#ifndef MEMLEAKBPF_TRACE_OWN_CALLS_H
#define MEMLEAKBPF_TRACE_OWN_CALLS_H

#include "bpf/own_function_abi.h"

struct provider_options;

/* Before the programs are loaded: tells them which result means success. */
void own_calls_configure(const struct provider_options *options,
			 struct own_function rows[static OWN_FUNCTIONS_MAX]);

#endif
