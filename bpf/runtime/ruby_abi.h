/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ruby's own stacks, as CRuby has them. User space says this of a target's interpreter, and the
 * programs send this of the code that it runs. Sources of the structures:
 *
 * - vm_core.h: rb_execution_context_t, rb_control_frame_t, rb_iseq_constant_body
 * - iseq.c: lines
 * - internal/imemo.h, include/ruby/internal/core/rstring.h and rarray.h
 */
#ifndef MEMLEAKBPF_BPF_RUBY_ABI_H
#define MEMLEAKBPF_BPF_RUBY_ABI_H

#include "bpf/runtime/runtime_abi.h"
#include "bpf/unwind.h"

#define RUBY_BODY_WORDS	  24 /* of a body are read at the most, */
#define RUBY_OBJECT_WORDS 5  /* and of an object: no slot is smaller */
#define RUBY_CODE_WORDS	  16 /* of code are looked through: an instruction has fewer operands */
#define RUBY_TEXT_BYTES	  256

/* An object's flags. */
#define RUBY_TYPE(flags)      ((flags)&0x1f)
#define RUBY_STRING	      0x05
#define RUBY_ARRAY	      0x07
#define RUBY_IMEMO	      0x1a
#define RUBY_SYMBOL	      0x14
#define RUBY_IS_ISEQ(flags)   (RUBY_TYPE(flags) == RUBY_IMEMO && ((flags) >> 12 & 15) == 7)
#define RUBY_IS_METHOD(flags) (RUBY_TYPE(flags) == RUBY_IMEMO && ((flags) >> 12 & 15) == 6)

/* A control frame's words, */
#define RUBY_FRAME_PC	 0
#define RUBY_FRAME_ISEQ	 2
#define RUBY_FRAME_EP	 4
#define RUBY_FRAME_WORDS 5 /* which are in front in all versions, */
/*
 * and the words up to the one that its `ep` leads to: the way to its method, and its flags. C has
 * called it; it is a method in C.
 */
#define RUBY_ENV_METHOD	    0
#define RUBY_ENV_FLAGS	    2
#define RUBY_ENV_WORDS	    3
#define RUBY_FLAG_FINISH    0x20
#define RUBY_IS_OF_C(flags) (((flags)&0x7fff0001) == 0x55550001)

/* The word of a method that leads to what defines it; and of that: the function in C, and by which ID it was defined. */
#define RUBY_METHOD_DEFINITION 2
#define RUBY_DEFINED_FUNCTION  1
#define RUBY_DEFINED_ID	       4

/* An iseq's words, and of its body. */
#define RUBY_ISEQ_FLAGS	  0
#define RUBY_ISEQ_BODY	  2
#define RUBY_BODY_SIZE	  0 /* the upper half: how many words of code it has, */
#define RUBY_BODY_ENCODED 1 /* and where */

/* The interpreter of a target. Offsets are in bytes. */
struct ruby_row {
	uint64_t
		module_slot; /* where the loader has written its number for thread-local variables; 0: it is `module` */
	uint64_t module;
	uint64_t
		context; /* in the block of that number: what leads to the thread's execution context */
	uint16_t frame_bytes;		/* a control frame's size */
	uint16_t body_bytes;		/* of a body tell what it is */
	uint16_t body_path, body_label; /* in a body: objects */
	/* The runs of instructions of one line, how many there are, and the table that leads to them; an entry's size. */
	uint16_t body_infos, body_info_count, body_info_table, info_bytes;
	uint64_t length_in_flags; /* 1: of a short string */
	uint64_t code, code_end;  /* the interpreter's own */
	/* What IDs are called (symbol.h: rb_symbols_t); 0: not known, and methods in C are left out. IDs up to last_operator are numbers. */
	uint64_t symbols, last_operator;
};
_Static_assert(sizeof(struct ruby_row) == 80, "ABI");

/*
 * struct runtime_call's place: the word of its code that the frame's pc names; and where C has called it. Its code: the iseq; of a
 * method in C, which has no other place than RUBY_OF_C: what defines it.
 */
#define RUBY_ENTRY RUNTIME_ENTRY
#define RUBY_OF_C  0x40000000u

/* RUNTIME_CODE: what is called there, as it runs. Texts as they are, whatever their encoding. Methods in C have but a name. */
struct ruby_code_event {
	struct event_header header;
	struct runtime_call call; /* without RUBY_ENTRY */
	/* Of the call; and of the instruction where the frame's pc stands, which runs if it calls nothing. 0: unknown. */
	uint32_t line, line_at;
	/* Where the interpreter has the latter instruction, and the one before it. 0: unknown. */
	uint64_t code_at, code_before;
	uint32_t function_length, file_length; /* of which RUBY_TEXT_BYTES are sent; 0: unknown */
	uint8_t function[RUBY_TEXT_BYTES], file[RUBY_TEXT_BYTES];
};
_Static_assert(sizeof(struct ruby_code_event) == 72 + 2 * RUBY_TEXT_BYTES, "ABI");

/* Why a chain could not be followed. */
enum ruby_failure {
	RUBY_FOLLOWED,
	RUBY_UNREADABLE, /* a frame or what it leads to is in no memory */
	RUBY_NO_CODE,	 /* what a frame runs is no iseq and no method */
	RUBY_ELSEWHERE,	 /* a frame's pc is not in its code */
	RUBY_NO_STACK,	 /* the thread's frames are not on its stack */
};

#endif
