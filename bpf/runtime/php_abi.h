/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * PHP's own frames: what user space says of a target's interpreter, and what the programs send of the functions that it runs.
 * Structures: Zend/zend_compile.h (zend_execute_data, zend_op_array, zend_op), Zend/zend_types.h (zend_string), Zend/zend.h
 * (zend_class_entry).
 */
#ifndef MEMLEAKBPF_BPF_PHP_ABI_H
#define MEMLEAKBPF_BPF_PHP_ABI_H

#include "bpf/runtime/runtime_abi.h"
#include "bpf/unwind.h"

/* A frame's words: where it is, what it runs, how it was called (the lower half), what has called it. */
#define PHP_FRAME_OPLINE 0
#define PHP_FRAME_FUNC	 3
#define PHP_FRAME_CALL	 5
#define PHP_FRAME_PREV	 6
#define PHP_FRAME_WORDS	 7
/* C has called it: the function that runs PHP's returns behind it. */
#define PHP_CALL_TOP 0x20000u

/* A function's words, of each kind, and which kind the first byte says; */
#define PHP_FUNC_KIND	0
#define PHP_FUNC_NAME	1
#define PHP_FUNC_SCOPE	2
#define PHP_FUNC_WORDS	3
#define PHP_IS_INTERNAL 1 /* written in C */
#define PHP_IS_USER	2
#define PHP_IS_EVAL	4
/* and of one that is written in PHP, up to where its file's name and first line stand. */
#define PHP_BODY_WORDS 24

/* An instruction's words: what runs it; its line (the lower half), and above that which one it is. */
#define PHP_OP_HANDLER 0
#define PHP_OP_LINE    3
#define PHP_OP_WORDS   4

/* A string's words in front of its bytes. The type is in the upper half of the first. */
#define PHP_STRING_HASH	    1
#define PHP_STRING_LENGTH   2
#define PHP_STRING_WORDS    3
#define PHP_IS_STRING(word) (((word) >> 32 & 15) == 6)
#define PHP_CLASS_NAME	    1 /* a class's word */

#define PHP_TEXT_BYTES 256
#define PHP_MAX_OPS    128 /* of a function are told */

/* The interpreter of a target. Offsets are in bytes, of a function that is written in PHP. */
struct php_row {
	uint64_t
		current; /* where it has the innermost frame: executor_globals.current_execute_data */
	uint64_t code, code_end;	  /* its code */
	uint16_t body_last, body_opcodes; /* how many instructions, where they are */
	uint16_t body_file, body_line;	  /* the file's name, the function's first line */
};
_Static_assert(sizeof(struct php_row) == 32, "ABI");

/* struct runtime_call's place: the number of the instruction where the frame stands; and what has called it is C. Its code: the function. */
#define PHP_ENTRY   RUNTIME_ENTRY
#define PHP_NOWHERE 0x7fffffffu /* in none of its own, or it is written in C */

/* How an instruction is run: from row.code on, 0: elsewhere. */
struct php_op {
	uint32_t handler, line;
};

/* RUNTIME_CODE: what is called there, as it runs. Texts as they are. */
struct php_code_event {
	struct event_header header;
	struct runtime_call call; /* without PHP_ENTRY */
	uint32_t line;		  /* where it stands; 0: unknown */
	uint32_t opcode;	  /* of that instruction */
	uint32_t handler;	  /* as struct php_op has it */
	uint32_t kind;		  /* PHP_IS_... */
	uint32_t
		function_length; /* of which PHP_TEXT_BYTES are sent; 0: it has none (a file's code), */
	uint32_t class_length, file_length; /* or there is none */
	uint32_t unread;		    /* a text that is there could not be read */
	uint32_t op_count; /* all of its instructions; 0: more than PHP_MAX_OPS, or unreadable */
	uint32_t pad;
	uint8_t function[PHP_TEXT_BYTES], class[PHP_TEXT_BYTES], file[PHP_TEXT_BYTES];
	struct php_op ops[PHP_MAX_OPS]; /* only op_count are sent */
};
_Static_assert(sizeof(struct php_code_event) == 80 + 3 * PHP_TEXT_BYTES + 8 * PHP_MAX_OPS, "ABI");

/* Why a chain could not be followed. */
enum php_failure {
	PHP_FOLLOWED,
	PHP_UNREADABLE, /* a frame or what it leads to is in no memory */
	PHP_NO_CODE,	/* what a frame runs is no function */
	PHP_NO_NAME,	/* its name, its class's or its file's is no string */
};

#endif
