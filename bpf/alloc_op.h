/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs are to do at a call: the operations of allocator functions, and of a few others. */
#ifndef MEMLEAKBPF_BPF_ALLOC_OP_H
#define MEMLEAKBPF_BPF_ALLOC_OP_H

/* What an allocator function does; its arguments are described by the probe's cookie. */
enum alloc_op {
	OP_NONE = 0,
	OP_ALLOC,     /* returns a new block: malloc, calloc, aligned_alloc, operator new … */
	OP_ALLOC_OUT, /* stores the new block through ptr_arg and returns 0: posix_memalign */
	OP_REALLOC,   /* resizes ptr_arg's block */
	OP_FREE,      /* frees ptr_arg's block */
	OP_MMAP,      /* maps size_arg bytes, when the call is anonymous or private */
	OP_MREMAP,
	OP_MUNMAP, /* ptr_arg, size_arg */
	/*
	 * allocates nothing: begins to unwind the stack, or goes on with it:
	 * _Unwind_RaiseException, longjmp
	 */
	OP_UNWIND,
	/* C++ operator built on another allocator: tells whose block it is, with --check-frees */
	OP_NAMED,
	OP_LEAVE, /* ends the process: _exit, _Exit */
	OP_CATCH, /* called by the frame that catches a C++ exception: __cxa_begin_catch */
	/* called by the dynamic loader when libraries are mapped and none of their code has run */
	OP_LOADED,
	OP_USDT_ALLOC, /* otel_memory:alloc: the allocator tells of a sample */
	OP_USDT_FREE,  /* otel_memory:free: and of its end */
	OP_SCOPE,      /* a function whose calls are scopes: bpf/scope_abi.h */
	OP_CODE_END,   /* frees a code object of Python's: bpf/runtime/python.h */
};

#endif
