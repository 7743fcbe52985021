/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a symbolizer may do beside looking into the symbol tables. */
#ifndef MEMLEAKBPF_SYMBOL_SYMBOLIZER_OPTIONS_H
#define MEMLEAKBPF_SYMBOL_SYMBOLIZER_OPTIONS_H

#include <stdbool.h>

struct symbolizer_options {
	bool inlines;	 /* expand inlined calls */
	bool debuginfod; /* ask the servers in DEBUGINFOD_URLS when there is no debug file here */
};

#endif
