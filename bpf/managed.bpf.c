// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The programs that walk stacks once more, with what reads the stacks of runtimes (bpf/managed.h). */
#define MEMLEAKBPF_MANAGED

#define alloc_enter   managed_enter
#define alloc_session managed_session
#define free_enter    checked_free_enter
#define gate_alloc    managed_gate

#include "bpf/alloc.bpf.c"
#include "bpf/told.bpf.c"
