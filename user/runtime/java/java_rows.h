/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Targets that have a JVM: the programs are told of its code. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_JAVA_ROWS_H
#define MEMLEAKBPF_RUNTIME_JAVA_ROWS_H

#include "user/runtime/runtime_ops.h"

/* For runtime_ops.look. */
void java_rows_look(struct runtimes *runtimes, struct runtime_target *target);

/* Is it known where the target's JVM has its code? Looks where it was not, for it comes into being after its library. */
bool java_rows_ready(struct runtimes *runtimes, struct runtime_target *target);

#endif
