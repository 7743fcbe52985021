// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The same for traces that keep figures: bpf/managed.bpf.c, bpf/figures.bpf.c. */
#define MEMLEAKBPF_MANAGED
#define MEMLEAKBPF_FIGURES

#define alloc_enter   figures_managed_enter
#define alloc_session figures_managed_session
#define free_enter    figures_checked_free_enter
#define gate_alloc    figures_managed_gate

#include "bpf/alloc.bpf.c"
#include "bpf/told.bpf.c"
