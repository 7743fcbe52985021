/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which class has a virtual table (Itanium C++ ABI 2.5.2, 2.9.5), by what is in the process. Internal to the
 * files of classes.h.
 */
#ifndef MEMLEAKBPF_INSPECT_CLASS_CXX_H
#define MEMLEAKBPF_INSPECT_CLASS_CXX_H

#include "user/inspect/class_groups.h"
#include "user/inspect/class_memory.h"

struct class_cxx;

/* Both outlive it. NULL when out of memory. */
struct class_cxx *class_cxx_new(struct class_memory *memory, struct class_groups *groups);
void class_cxx_free(struct class_cxx *cxx); /* NULL is fine */

/*
 * The group of whole objects whose first word this is, remembered; with `array` of arrays of them.
 * CLASS_NO_GROUP: it is no pointer into a virtual table, or into that of a base which is not the
 * first. 0 or -ENOMEM.
 */
int class_cxx_group(struct class_cxx *cxx, uint64_t word, bool array, uint32_t *group);

#endif
