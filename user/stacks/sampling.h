/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The floating-point side of sampling (bpf/sample.h has the method). */
#ifndef MEMLEAKBPF_STACKS_SAMPLING_H
#define MEMLEAKBPF_STACKS_SAMPLING_H

#include "bpf/config.h"

/* Fills the tables that the BPF programs interpolate in. */
void sampling_tables(struct sample_tables *tables);

/* The standard error, in bytes, of a sum whose variance counter this is. */
double sampling_error(int64_t variance, uint64_t sample_bytes);
/*
 * The same where each sample counts as the bytes since the last one, `every` on average. The
 * variance of a sum is then, without bias, the sum times `every`.
 */
double sampling_error_weighed(uint64_t bytes, uint64_t every);

#endif
