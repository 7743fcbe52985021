/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose thread-specific data a process has: by that some interpreters find a thread's frames. */
#ifndef MEMLEAKBPF_RUNTIME_RUNTIME_LIBC_H
#define MEMLEAKBPF_RUNTIME_RUNTIME_LIBC_H

#include "user/target/image.h"

enum runtime_libc {
	RUNTIME_LIBC_NONE, /* it is linked statically, or not mapped yet */
	RUNTIME_LIBC_GLIBC,
	RUNTIME_LIBC_OTHER, /* musl's: where it has them is not known */
};
enum runtime_libc runtime_libc_of(const struct image *image);

/* glibc on x86-64, nptl/descr.h: struct pthread's member specific_1stblock. */
#define GLIBC_THREAD_DATA 0x310

/* Why frames are not known. */
#define RUNTIME_OTHER_LIBC "with another C library than glibc that is not done yet"
#define RUNTIME_NO_LIBC	   "its C library is linked into it, or not mapped yet"

#endif
