/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The generated skeleton of the BPF programs, with the types that it takes for declared. There is a
 * second object for kernels that cannot hold new processes (bpf/hold.h). It has the same maps,
 * programs and variables, but names no function of the kernel. For an unknown function libbpf
 * searches the kernel's modules, for which it needs CAP_SYS_ADMIN. Without that it gives up.
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
