/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The generated skeleton of the BPF programs, behind the types that it takes for declared. */
#ifndef MEMLEAKBPF_TRACE_SKELETON_H
#define MEMLEAKBPF_TRACE_SKELETON_H

#include "bpf/abi.h"
#include "bpf/config.h"
#include "bpf/thread.h"
#include "bpf/unwind_abi.h"

#include "memleakbpf.skel.h"

#endif
