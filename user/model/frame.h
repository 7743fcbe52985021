/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_MODEL_FRAME_H
#define MEMLEAKBPF_MODEL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whose code a frame is. Numbers are those of recordings. */
enum frame_kind {
	FRAME_KIND_NATIVE,
	FRAME_KIND_JIT, /* made while the program runs, by a runtime that is not known */
	FRAME_KIND_PYTHON,
	FRAME_KIND_JAVASCRIPT,
	FRAME_KIND_JAVA,
	FRAME_KIND_GO,
	FRAME_KIND_RUBY,
	FRAME_KIND_PHP,
	FRAME_KIND_PERL,
	FRAME_KIND_DOTNET,
	/* no code: stands in the place of mmap(), with which a runtime has enlarged its own pool */
	FRAME_KIND_ARENA,
	FRAME_KINDS,
};

/*
 * One frame of a stack with its names. Unknown strings are NULL, never "". Immutable once made.
 *
 * Native code and Go's lie in a file: module, offsets and build_id describe that file. Other kinds
 * are a runtime's frames (frame_managed()): `module` and `module_path` are the script's or the
 * class's file. They have an address only for compiled code (frame_is_code()).
 */
struct frame {
	enum frame_kind kind;
	const char *function; /* demangled */
	/* mangled, from the symbol table or the perf map; NULL when it is the same name */
	const char *symbol;
	const char *module; /* file name of the object; "[vdso]"; NULL for code without a file */
	const char *module_path; /* the object's whole path as the target sees it */
	const char *file;	 /* source file */
	/*
	 * of the call, or of the function's beginning where the runtime tells no more; 0: unknown
	 */
	uint32_t line;
	/* `line` is that of the function's beginning, since the call's is unknown */
	bool line_begins;
	bool inlined; /* an inlined call: the frame after it holds its code */
	/*
	 * function known: bytes from its start. Else the link-time virtual address in the module;
	 * without a module the plain address.
	 */
	uint64_t offset;
	/* link-time virtual address in the module, always; the plain address without a module */
	uint64_t module_offset;
	const uint8_t *build_id; /* of the module; NULL when it has none */
	size_t build_id_len;
};

/* "native", "python", …, as JSON has them. */
const char *frame_kind_name(enum frame_kind kind);

/*
 * A runtime's own frame. `function` and `file`, NULL where unknown, have to last as long as the
 * frame.
 */
struct frame frame_managed(enum frame_kind kind, const char *function, const char *file,
			   uint32_t line);

/* Is its module an object with code, and not a script? */
bool frame_in_object(const struct frame *frame);

/* Has it an address? False: an interpreter's frame, whose offsets mean nothing. */
bool frame_is_code(const struct frame *frame);

#define FRAME_WHERE_MAX 4224 /* a module of 4095 bytes, and a kind */

/* Where it is, for people: "libc.so.6", "server, go", "python"; "" when nothing is known. Returns buf. */
char *frame_where(const struct frame *frame, char buf[static FRAME_WHERE_MAX]);

#define FRAME_RUNTIME_MAX 32

/*
 * A name in a module's place for code that lies in no module: "[python]", like "[anon]" for memory.
 * NULL for code in an object, and for native code without a file. Returns buf or NULL.
 */
char *frame_runtime(const struct frame *frame, char buf[static FRAME_RUNTIME_MAX]);

/* Is it C++'s operator new or new[]? It calls malloc, and to its caller it is malloc. */
bool frame_is_operator_new(const struct frame *frame);

/*
 * Of the C and C++ libraries, or Rust's: on the way to very many allocations, so that its name says
 * nothing of this one.
 */
bool frame_is_library(const struct frame *frame);

/* Native, and allocates for whoever calls it, by its name: xmalloc, sqlite3Malloc, g_strdup_printf. */
bool frame_is_wrapper(const struct frame *frame);

/*
 * Which frame of a stack is "the one that allocated". Never frame 0, the allocation function, nor
 * one without a name.
 */
enum allocating {
	ALLOCATING_CALLER, /* called the allocation function: often only a wrapper */
	/* ... past operator new and the C and C++ libraries: a person would name it */
	ALLOCATING_PROGRAM,
};

/* The index of the innermost such frame; 0: none is known. */
size_t frames_allocating(const struct frame *const *frames, size_t count, enum allocating which);

#endif
