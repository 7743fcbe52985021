/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of `doctor` that looks at a process. */
#ifndef MEMLEAKBPF_CLI_DOCTOR_TARGET_H
#define MEMLEAKBPF_CLI_DOCTOR_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Prints on standard output a process's allocators and each probe that would be placed: function,
 * place, instruction, kind and class of cost. With `verbose` also why it is placed there. Attaches
 * nothing. 0, or -errno (logged) when the process could not be traced.
 */
int doctor_target(pid_t pid, bool verbose);

#endif
