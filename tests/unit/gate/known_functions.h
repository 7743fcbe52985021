/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of allocators that tests put gates before. Included once, behind in_process.h. */
#ifndef MEMLEAKBPF_TESTS_GATE_KNOWN_FUNCTIONS_H
#define MEMLEAKBPF_TESTS_GATE_KNOWN_FUNCTIONS_H

#include "user/gate/stub_layout.h"

#define ALIGNED "St11align_val_t"
#define NOTHROW "RKSt9nothrow_t"

/* As a tool would take them from the allocator table; malloc and calloc are said to be leaves. */
static const struct gated known_functions[] = {
	{"malloc", GATE_KIND_SIZE_1, 1, .calls_others = false},
	{"free", GATE_KIND_FREE, 1, .calls_others = true},
	{"calloc", GATE_KIND_CALLOC, 2, .calls_others = false},
	{"realloc", GATE_KIND_REALLOC, 2, .calls_others = true},
	{"reallocarray", GATE_KIND_REALLOC_ARRAY, 3, .calls_others = true},
	{"mi_reallocn", GATE_KIND_REALLOC_ARRAY, 3, .calls_others = true},
	{"mi_recalloc", GATE_KIND_REALLOC_ARRAY, 3, .calls_others = true},
	{"posix_memalign", GATE_KIND_POSIX, 3, .calls_others = true},
	{"memalign", GATE_KIND_SIZE_2, 2, .calls_others = true},
	{"aligned_alloc", GATE_KIND_SIZE_2, 2, .calls_others = true},
	{"valloc", GATE_KIND_SIZE_1, 1, .calls_others = true},
	{"pvalloc", GATE_KIND_SIZE_1, 1, .calls_others = true},
	/* With flags or an alignment behind the arguments that a stub looks at. */
	{"mallocx", GATE_KIND_SIZE_1, 2, .calls_others = true},
	{"rallocx", GATE_KIND_REALLOC, 3, .calls_others = true},
	{"mi_malloc_aligned", GATE_KIND_SIZE_1, 2, .calls_others = true},
	{"mi_calloc_aligned", GATE_KIND_CALLOC, 3, .calls_others = true},
	{"mi_realloc_aligned", GATE_KIND_REALLOC, 3, .calls_others = true},
	{"_Znwm", GATE_KIND_NEW, 1, .instead = "malloc"},
	{"_Znam", GATE_KIND_NEW, 1, .instead = "malloc"},
	{"_Znwm" NOTHROW, GATE_KIND_NEW, 2, .instead = "malloc"},
	{"_Znam" NOTHROW, GATE_KIND_NEW, 2, .instead = "malloc"},
	{"_Znwm" ALIGNED, GATE_KIND_NEW_ALIGNED, 2, .instead = "memalign"},
	{"_Znam" ALIGNED, GATE_KIND_NEW_ALIGNED, 2, .instead = "memalign"},
	{"_Znwm" ALIGNED NOTHROW, GATE_KIND_NEW_ALIGNED, 3, .instead = "memalign"},
	{"_Znam" ALIGNED NOTHROW, GATE_KIND_NEW_ALIGNED, 3, .instead = "memalign"},
	{"_ZdlPv", GATE_KIND_FREE, 1, .calls_others = true},
	{"_ZdaPv", GATE_KIND_FREE, 1, .calls_others = true},
	{"_ZdlPvm", GATE_KIND_FREE, 2, .calls_others = true},
	{"_ZdaPvm", GATE_KIND_FREE, 2, .calls_others = true},
	{"_ZdlPv" ALIGNED, GATE_KIND_FREE, 2, .calls_others = true},
	{"_ZdaPv" ALIGNED, GATE_KIND_FREE, 2, .calls_others = true},
	{"_ZdlPvm" ALIGNED, GATE_KIND_FREE, 3, .calls_others = true},
	{"_ZdaPvm" ALIGNED, GATE_KIND_FREE, 3, .calls_others = true},
};

#endif
