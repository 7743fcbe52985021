/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The generated skeleton of the BPF programs, behind the types that it takes for declared, and the
 * object for kernels that cannot hold new processes (bpf/hold.h). It has the same maps, programs and
 * variables, but names no function of the kernel: one that the kernel does not have libbpf looks for
 * in the kernel's modules, for which it needs CAP_SYS_ADMIN, and gives up without.
 */
#ifndef MEMLEAKBPF_TRACE_SKELETON_H
#define MEMLEAKBPF_TRACE_SKELETON_H

#include <stdbool.h>

#include "bpf/abi.h"
#include "bpf/config.h"
#include "bpf/figures_abi.h"
#include "bpf/guard_abi.h"
#include "bpf/scope_abi.h"
#include "bpf/thread.h"
#include "bpf/unwind_abi.h"

#include "memleakbpf.skel.h"

/* As memleakbpf__open(). NULL with errno. */
struct memleakbpf *skeleton_open(bool hold);

#endif
