/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose thread-local variable an address of an inspected process is. Internal to user/inspect. */
#ifndef MEMLEAKBPF_INSPECT_THREAD_LOCALS_H
#define MEMLEAKBPF_INSPECT_THREAD_LOCALS_H

#include "user/heap/held_by.h"
#include "user/inspect/class_memory.h"
#include "user/process/memory_image.h"

struct thread_locals;

/*
 * `entry` is where the program begins to run (AT_ENTRY; 0: unknown). Memory and files outlive it. No file is
 * read before the first question. NULL when out of memory.
 */
struct thread_locals *thread_locals_new(const struct memory_image *memory,
					const struct class_files *files, uint64_t entry);
void thread_locals_free(struct thread_locals *locals); /* NULL is fine */

/* As held_names.thread_variable: 0 and *out, which lives as long as this; -ENOENT; -ENOMEM. */
int thread_locals_name(struct thread_locals *locals, uint64_t address, struct thread_variable *out);

#endif
