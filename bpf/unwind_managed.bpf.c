// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The walk once more, with the frames of Java and V8 (bpf/managed.h). */
#define MEMLEAKBPF_MANAGED

#include "bpf/unwind.bpf.c"
