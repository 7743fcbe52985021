/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose thread-local variable an address of an inspected process is. Internal to user/inspect. */
#ifndef MEMLEAKBPF_INSPECT_THREAD_LOCALS_H
#define MEMLEAKBPF_INSPECT_THREAD_LOCALS_H

#include "user/heap/held_by.h"
#include "user/inspect/class_memory.h"
#include "user/process/memory_image.h"

struct thread_locals;

/* A process may map anything, any number of times, and have any number of threads: it takes no more time than that. */
struct thread_locals_limits {
	uint64_t looking_ns; /* for files that have such variables */
	uint64_t naming_ns; /* for threads that have what is asked for, of all questions together */
};

extern const struct thread_locals_limits thread_locals_usual;

/*
 * `entry` is where the program begins to run (AT_ENTRY; 0: unknown). Memory, files and limits outlive it. No file is
 * read before the first question. NULL when out of memory.
 */
struct thread_locals *thread_locals_new(const struct memory_image *memory,
					const struct class_files *files, uint64_t entry,
					const struct thread_locals_limits *limits);
void thread_locals_free(struct thread_locals *locals); /* NULL is fine */

/*
 * As held_names.thread_variable: 0 and *out, which lives as long as this; -ENOENT, also when the time is over, which is said
 * once; -ENOMEM.
 */
int thread_locals_name(struct thread_locals *locals, uint64_t address, struct thread_variable *out);

#endif
