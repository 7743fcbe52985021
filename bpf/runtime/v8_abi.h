/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * JavaScript's own stacks, as V8 has them. User space says this of a target's V8, and the programs
 * send this of the functions that it is in. Pointers to objects of its heap are tagged, and
 * pointers are not compressed. Sources of the structures:
 *
 * - src/objects: js-function.tq, shared-function-info.tq, scope-info.tq, script.tq, string.tq
 * - src/execution/frame-constants.h
 */
#ifndef MEMLEAKBPF_BPF_V8_ABI_H
#define MEMLEAKBPF_BPF_V8_ABI_H

#include "bpf/runtime/runtime_abi.h"

/* Types of objects that are told apart. */
enum v8_kind {
	V8_FUNCTION,
	V8_SHARED, /* SharedFunctionInfo */
	V8_SCRIPT,
	V8_SCOPE,     /* ScopeInfo */
	V8_BYTECODES, /* BytecodeArray; none (0): where calls are is not known */
	V8_BYTES,     /* the array of bytes that its tables are */
	V8_CODE,
	/* Of optimised code; none (0): what it was made from is not known. */
	V8_DEOPT,	 /* an array of what leads back from it */
	V8_TRANSLATIONS, /* an array of bytes in that */
	V8_LITERALS,	 /* an array of weak pointers in that */
	V8_KINDS,
};

/* A map's instance_type is from `first` to `last`. */
struct v8_type {
	uint16_t first, last;
};

/* The V8 of a target. Offsets are in bytes, of an object from its beginning. */
struct v8_row {
	struct v8_type types[V8_KINDS];
	uint16_t strings;	 /* a string's type is below it */
	uint8_t map_type;	 /* in a map: its type, 16 bits */
	uint8_t function_shared; /* in a function: its SharedFunctionInfo; in that: */
	uint8_t shared_name;	 /* a name, or a ScopeInfo */
	uint8_t shared_script;	 /* in a script: */
	uint8_t script_source, script_name, script_line;
	/* In a ScopeInfo, in words behind the map: how many variables it has, and where the first is. */
	uint8_t scope_count, scope_first;
	uint8_t scope_place; /* where the function is, two words; 0: behind the variables */
	uint8_t shared_data; /* in a SharedFunctionInfo: its bytecodes, or the Code that has been made of them */
	/* In a BytecodeArray: where they begin, and the table of source positions. */
	uint8_t bytecodes_first, bytecodes_positions;
	/* In a Code: what it was made from, and behind that a table of how many bytes were made from each; which kind has both. */
	uint8_t code_bytecodes, code_baseline;
	/*
	 * And where its instructions are (0: in it, from code_own on). Its kind is in the lowest
	 * bits. Then its size in bytes, and an array of V8_DEOPT.
	 */
	uint8_t code_start, code_own, code_kind, code_size, code_deopt;
	uint8_t stream_code; /* so far in front of instructions a word leads to their Code; 0: they are in it */
	/*
	 * In an array of V8_DEOPT, in words: its literals, a number that no other code has, and
	 * where the places of the code begin.
	 */
	uint8_t deopt_literals, deopt_id, deopt_places;
	/* Words of a SharedFunctionInfo up to its number in its script, which has one itself; 0: where they are is not known. */
	uint8_t shared_words;
};
_Static_assert(sizeof(struct v8_row) == 68, "ABI");

/* Of strings; the same in all versions that were looked at, which user space makes sure of. */
#define V8_STRING_LENGTH   12 /* 32 bits */
#define V8_STRING_BYTES	   16 /* of a sequential one */
#define V8_STRING_FIRST	   16 /* what it is made of: actual, parent, first */
#define V8_STRING_SECOND   24 /* offset, second */
#define V8_STRING_DATA	   24 /* of an external one */
#define V8_STRING_FORM	   7
#define V8_STRING_ONE_BYTE 8
#define V8_FORM_SEQUENTIAL 0
#define V8_FORM_CONS	   1
#define V8_FORM_EXTERNAL   2
#define V8_FORM_SLICED	   3
#define V8_FORM_THIN	   5

/*
 * From the frame pointer down: the context, or the kind of the frame; the function. Unoptimised
 * code has, behind a number, the bytecodes, and where it is in them if these are interpreted.
 */
#define V8_FRAME_WORDS 5

/* So many words of a SharedFunctionInfo, the last of which may be another object's, and of a Script, up to its number. */
#define V8_SHARED_WORDS	 8
#define V8_SCRIPT_NUMBER 64
#define V8_SCRIPT_WORDS	 9

#define V8_KIND_MASK 15
/* Kinds behind that of baseline code are optimised: Maglev's and TurboFan's. */
#define V8_KINDS_OPTIMISED 2
#define V8_KIND_MAGLEV	   1
#define V8_CODE_ALIGN	   64

#define V8_ARRAY_LENGTH 8 /* a number */
#define V8_ARRAY_BYTES	16

/* Variables of a ScopeInfo whose names lie in it; of more, one word leads to them. */
#define V8_SCOPE_NAMES 75

#define V8_TEXT_BYTES  8192
#define V8_TABLE_BYTES 4096

/* What comes with a function, as V8 has it. */
enum v8_table {
	V8_POSITIONS, /* of its bytecodes in the source */
	V8_OFFSETS,   /* baseline code's: of what was made from each */
	V8_OPCODES,   /* baseline code's: the bytecodes */
	V8_TABLES,
};

#define V8_NUMBER(word)	   ((int32_t)((int64_t)(word) >> 32))
#define V8_IS_NUMBER(word) (!((word)&0xffffffff))
#define V8_IS_OBJECT(word) (((word)&3) == 1)

/* A string in so many parts; where it is made of fewer, the first ones are empty. */
#define V8_TEXT_PARTS 4

struct v8_text {
	struct runtime_text parts[V8_TEXT_PARTS];
};

/*
 * RUNTIME_CODE: a function, as it is being run. struct runtime_call has its SharedFunctionInfo, the
 * cookie over it, and the lower half of the return address in it. `at` has the bytes from its
 * beginning to the call, plus one (0: unknown). Bytecodes count to the call. Baseline code, which
 * has a cookie of its own, counts to the return address.
 */
struct v8_function_event {
	struct event_header header;
	uint64_t code;
	uint64_t script, source; /* its Script and that one's text, objects; 0: it has none */
	uint32_t cookie;
	uint32_t source_length; /* characters */
	int32_t start;		/* which of them it begins with; negative: unknown */
	int32_t first_line;	/* that the script begins with, from 0 on */
	struct v8_text name, inferred, file;
	/*
	 * The script up to the function's end, if it is no longer than that: so many bytes are
	 * sent. 0: it is longer, or cannot be read.
	 */
	uint32_t text_size;
	uint32_t text_width; /* bytes of a character */
	/* Of each table so many bytes are sent of so many; 0: it has none, or it cannot be read. */
	uint32_t sizes[V8_TABLES], lengths[V8_TABLES];
	uint32_t baseline; /* struct runtime_call's `at` is in baseline code */
	uint32_t bytes_size;
	uint8_t bytes[V8_TEXT_BYTES +
		      V8_TABLES *
			      V8_TABLE_BYTES]; /* the text and the tables, one behind the other */
};
_Static_assert(sizeof(struct v8_function_event) ==
		       96 + 3 * V8_TEXT_PARTS * (8 + RUNTIME_TEXT_BYTES) + V8_TEXT_BYTES +
			       V8_TABLES * V8_TABLE_BYTES,
	       "ABI");

#define V8_INLINED_MAX	      48
#define V8_LITERALS_MAX	      128 /* so many are looked through */
#define V8_PLACES_BYTES	      12288
#define V8_TRANSLATIONS_BYTES 16384
#define V8_SAFEPOINTS_BYTES   4096 /* some 500 calls */
#define V8_DEOPT_PLACE_BYTES  24   /* of bytecodes, in the translations, in the code: numbers */

/* A function that optimised code has been made from: by which literal its translations name it, and the event that it has come with. */
struct v8_inlined {
	uint64_t code;
	uint32_t cookie;
	uint32_t literal;
};
_Static_assert(sizeof(struct v8_inlined) == 16, "ABI");

/*
 * RUNTIME_MORE: optimised code, as it is being run. `code` and `cookie` as in struct runtime_call, whose `at` is in bytes from where the code begins to the
 * return address. V8 leaves it, where it is returned to, by an exit for each place, from `exits` on: those of `eager` others come first. A place of TurboFan's code says which call it is of; of Maglev's, a
 * table of its own does, which is sent then.
 */
struct v8_code_event {
	struct event_header header;
	uint64_t code;
	uint32_t cookie;
	uint32_t function_cookie; /* of the function itself: with `code` its event */
	uint32_t exits, eager, places;
	uint32_t inlined_count;
	struct v8_inlined inlined[V8_INLINED_MAX];
	/* How many are sent, and how many there are. */
	uint32_t places_size, translations_size, translations_length, safepoints_size;
	uint32_t bytes_size;
	uint32_t maglev; /* it is Maglev's */
	uint8_t bytes[V8_PLACES_BYTES + V8_TRANSLATIONS_BYTES + V8_SAFEPOINTS_BYTES];
};
_Static_assert(sizeof(struct v8_code_event) == 72 + 16 * V8_INLINED_MAX + V8_PLACES_BYTES +
						       V8_TRANSLATIONS_BYTES + V8_SAFEPOINTS_BYTES,
	       "ABI");

/* Why a frame of JavaScript's could not be followed. */
enum v8_failure {
	V8_FOLLOWED,
	V8_UNREADABLE, /* what its function leads to is in no memory */
	V8_NO_SHARED,  /* its function has no SharedFunctionInfo */
	V8_NO_PLACE,   /* its ScopeInfo does not say where it is */
};

#endif
