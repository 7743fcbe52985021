// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Why these are functions of their own: bpf/sample.h. */
#include "bpf/sample.h"

#include "bpf/sample_compute.h"
