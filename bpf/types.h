/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Integers of fixed width, with the names of stdint.h on both sides. */
#ifndef MEMLEAKBPF_BPF_TYPES_H
#define MEMLEAKBPF_BPF_TYPES_H

#ifdef __bpf__
#include "vmlinux/vmlinux.h"
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __s32 int32_t;
typedef __u64 uint64_t;
typedef __s64 int64_t;
#else
#include <stdint.h>
#endif

#define RSS_MAX_CPUS 4096 /* bpf/rss.h */

#endif
