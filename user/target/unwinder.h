/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions that allocate nothing and are watched all the same. Those that unwind the stack:
 * exceptions and longjmp. Calls without a return probe leave no trace of their own when they are
 * left that way; these functions tell.
 */
#ifndef MEMLEAKBPF_TARGET_UNWINDER_H
#define MEMLEAKBPF_TARGET_UNWINDER_H

struct object;
struct provider;

/*
 * Finds them in an object, in .dynsym, or else in .symtab (static programs). 0 and *out (to be
 * freed with provider_free; its rows have OP_UNWIND and OP_CATCH), -ENOENT when there are none, or
 * -errno, not logged.
 */
int unwinder_find(struct object *object, struct provider **out);

/*
 * Finds C++'s operators new and delete, which in libstdc++ are built on malloc and free. The rows
 * are those of the allocator table, and the provider is `named`. Not for objects whose own
 * allocator has the operators.
 */
int operators_find(struct object *object, struct provider **out);

/*
 * Likewise those by which a process ends itself: _exit and _Exit, after all exit handlers; the row
 * has OP_LEAVE.
 */
int leaver_find(struct object *object, struct provider **out);

/*
 * Likewise, in .dynsym only, what a dynamic loader calls when it has mapped libraries; the row has
 * OP_LOADED.
 */
int loader_find(struct object *object, struct provider **out);

/*
 * Likewise, in .dynsym only, what maps and unmaps memory: mmap, mremap and munmap.
 * What a runtime with a pool of its own maps by them is traced (user/runtime/runtime.h).
 */
int mapper_find(struct object *object, struct provider **out);

#endif
