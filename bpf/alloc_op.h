/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The programs' operations at a call: for allocator functions, and for some others. */
#ifndef MEMLEAKBPF_BPF_ALLOC_OP_H
#define MEMLEAKBPF_BPF_ALLOC_OP_H

/* An allocator function's task; the probe's cookie describes its arguments. */
enum alloc_op {
	OP_NONE = 0,
	OP_ALLOC,     /* returns a new block: malloc, calloc, aligned_alloc, operator new … */
	OP_ALLOC_OUT, /* stores the new block through ptr_arg and returns 0: posix_memalign */
	OP_REALLOC,   /* resizes ptr_arg's block */
	OP_FREE,      /* frees ptr_arg's block */
	OP_MMAP,      /* maps size_arg bytes, if the call is anonymous or private */
	OP_MREMAP,
	OP_MUNMAP, /* ptr_arg, size_arg */
	/*
	 * allocates nothing: begins to unwind the stack, or continues: _Unwind_RaiseException,
	 * longjmp
	 */
	OP_UNWIND,
	/* C++ operator built on another allocator: names its block's family, with --check-frees */
	OP_NAMED,
	OP_LEAVE, /* ends the process: _exit, _Exit */
	OP_CATCH, /* the frame that catches a C++ exception calls it: __cxa_begin_catch */
	/* the dynamic loader calls it when libraries are mapped and none of their code has run */
	OP_LOADED,
	OP_USDT_ALLOC, /* otel_memory:alloc: the allocator reports a sample */
	OP_USDT_FREE,  /* otel_memory:free: and its end */
	OP_SCOPE,      /* a function whose calls are scopes: bpf/scope_abi.h */
	OP_CODE_END,   /* frees one of Python's code objects: bpf/runtime/python.h */
};

#endif
