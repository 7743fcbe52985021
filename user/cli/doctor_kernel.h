/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of `doctor` that says what `memleakbpf kernel` can do here (user/kmem). */
#ifndef MEMLEAKBPF_CLI_DOCTOR_KERNEL_H
#define MEMLEAKBPF_CLI_DOCTOR_KERNEL_H

#include <stdbool.h>

#include "user/base/json_writer.h"
#include "user/base/reason.h"
#include "user/kernel/feature.h"

struct doctor_kernel {
	unsigned kinds;	      /* that probes can follow: bits of enum kernel_kind */
	char why[REASON_MAX]; /* if there are none */
	bool caches;	      /* /proc/slabinfo can be read */
	bool lines;	      /* the kernel counts its memory by line: /proc/allocinfo */
	bool names;	      /* /proc/kallsyms has addresses */
};

void doctor_kernel_read(struct features *features, struct doctor_kernel *out);

/* "slab, pages, percpu"; "" where there are none. */
void doctor_kernel_text(const struct doctor_kernel *kernel, char *text, size_t size);

/* The member "kernel_memory". */
void doctor_kernel_put(struct json *to, const struct doctor_kernel *kernel);

#endif
