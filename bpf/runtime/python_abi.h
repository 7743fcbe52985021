/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Python's own stacks: what user space says of a target's interpreter, and what the programs send
 * of the functions that it is in. Structures: CPython's Include/internal/pycore_frame.h,
 * Include/cpython/code.h and unicodeobject.h.
 */
#ifndef MEMLEAKBPF_BPF_PYTHON_ABI_H
#define MEMLEAKBPF_BPF_PYTHON_ABI_H

#include "bpf/runtime/runtime_abi.h"

#define PYTHON_TABLE_BYTES 8192
#define PYTHON_NOWHERE	   0xffff

/* How a frame says which instruction it is at. */
enum python_place_form {
	PYTHON_PLACE_ADDRESS, /* in the code object, from `code_first` on */
	PYTHON_PLACE_UNITS,   /* an int: which; -1: it has not begun */
	PYTHON_PLACE_BYTES,   /* an int: its offset */
};

/* The interpreter of a target. Offsets are in bytes. */
struct python_row {
	uint64_t key; /* of its thread-specific data: a Py_tss_t {int initialised; int key} */
	/* What each object of these types has for its type. */
	uint64_t code_type, text_type, bytes_type;
	/* From the thread's own pointer to its first block of thread-specific data (glibc). */
	uint16_t thread_data;
	uint16_t state_frame;		 /* in the thread's state: the innermost frame, */
	uint16_t cframe_frame;		 /* or what has it here; PYTHON_NOWHERE: the frame itself */
	uint8_t frame_bytes, code_bytes; /* of a frame and of a code object are read */
	uint8_t frame_code, frame_back, frame_place;
	uint8_t place_form;  /* enum python_place_form */
	uint8_t frame_owner; /* the byte that tells where C has called Python ... */
	uint8_t owner_first; /* ... when it is from this */
	uint8_t owner_last;  /* to that */
	uint8_t owner_bare;  /* such a frame is no function's, but stands before one's */
	uint8_t code_line, code_file, code_name, code_qualname, code_table;
	uint8_t code_first;		/* instruction, behind all members */
	uint8_t text_ascii, text_other; /* where the characters are */
	uint8_t code_version;		/* a number of its own; 0: it has none */
	/* Number of the first instruction that shows a frame (not a generator's); 0: all do. */
	uint8_t code_traceable;
	uint8_t owner_generator;
	uint8_t code_bytecode; /* the bytes object with its instructions; 0: they are in it */
	/* 1: OP_CODE_END tells of each code object of the target's that is freed, before that. */
	uint8_t tells_code_ends;
	uint8_t pad[3];
};
_Static_assert(sizeof(struct python_row) == 64, "ABI");

/* struct runtime_call's place: unit of the instruction + 1 (0: it has not begun), and where C has called it. */
#define PYTHON_ENTRY RUNTIME_ENTRY

/* Of a code object's table of lines. */
enum python_table_state {
	PYTHON_TABLE_UNREAD, /* it could not be read, or is none */
	PYTHON_TABLE_CUT,
	PYTHON_TABLE_WHOLE,
};

/* RUNTIME_CODE: a code object, as the function runs. */
struct python_code_event {
	struct event_header header;
	uint64_t code;
	uint32_t cookie;
	int32_t first_line;
	struct runtime_text function, file;
	uint32_t table_size;  /* bytes of `table` that are sent */
	uint32_t table_state; /* enum python_table_state */
	uint8_t table[PYTHON_TABLE_BYTES];
};
_Static_assert(sizeof(struct python_code_event) ==
		       40 + 2 * (8 + RUNTIME_TEXT_BYTES) + PYTHON_TABLE_BYTES,
	       "ABI");

/* Why a chain could not be followed; each one counts as LOST_PYTHON. */
enum python_failure {
	PYTHON_FOLLOWED,
	PYTHON_UNREADABLE, /* a frame or a code object is in no memory */
	PYTHON_NO_CODE,	   /* a frame's code is no code object */
	PYTHON_ELSEWHERE,  /* a frame's instruction is not in its code */
	PYTHON_NO_STATE,   /* the thread's state is in no memory */
};

#endif
