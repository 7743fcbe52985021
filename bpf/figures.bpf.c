// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The programs on allocations and frees once more, for traces that keep figures (bpf/figures.h).
 * User space loads either these or the usual ones.
 */
#define MEMLEAKBPF_FIGURES

#define alloc_enter   figures_alloc_enter
#define alloc_leave   figures_alloc_leave
#define alloc_return  figures_alloc_return
#define alloc_session figures_alloc_session
#define free_enter    figures_free_enter
#define unmap_enter   figures_unmap_enter
#define gate_alloc    figures_gate_alloc
#define gate_free     figures_gate_free
#define gate_kept     figures_gate_kept
#define usdt_free     figures_usdt_free

#include "bpf/alloc.bpf.c"
#include "bpf/told.bpf.c"
#include "bpf/usdt.bpf.c"
