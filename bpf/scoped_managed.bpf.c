// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The same for --scope: bpf/managed.bpf.c, bpf/scoped.bpf.c. */
#define MEMLEAKBPF_MANAGED
#define MEMLEAKBPF_FIGURES
#define MEMLEAKBPF_SCOPES

#define alloc_enter   scoped_managed_enter
#define alloc_session scoped_managed_session
#define free_enter    scoped_checked_free_enter
#define gate_alloc    scoped_managed_gate

#include "bpf/alloc.bpf.c"
#include "bpf/told.bpf.c"
