/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The floating-point side of sampling (bpf/sample.h has the method). */
#ifndef MEMLEAKBPF_TRACE_SAMPLING_H
#define MEMLEAKBPF_TRACE_SAMPLING_H

#include "bpf/config.h"

/* Fills the tables that the BPF programs interpolate in. */
void sampling_tables(struct sample_tables *tables);

/* The standard error, in bytes, of a sum whose variance counter this is. */
double sampling_error(int64_t variance, uint64_t sample_bytes);

#endif
