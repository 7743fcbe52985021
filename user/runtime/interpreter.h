/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the languages of RUNTIME_INTERPRETERS have in common: their frames lie in memory of the
 * interpreter's own, which its object says how to find. Private to user/runtime.
 */
#ifndef MEMLEAKBPF_RUNTIME_INTERPRETER_H
#define MEMLEAKBPF_RUNTIME_INTERPRETER_H

#include "user/base/reason.h"
#include "user/runtime/interpreter_stack.h"
#include "user/runtime/runtime_codes.h"
#include "user/runtime/runtime_ops.h"

/* The interpreter of a target: the beginning of a language's state. */
struct interpreter_state {
	struct object *object;
	uint64_t bias;		 /* over link-time addresses */
	uint64_t start, end;	 /* where its code is mapped, */
	uint64_t offset;	 /* and from which offset of the file on */
	const char *version;	 /* whoever has this has it; NULL, "": unknown */
	bool entered;		 /* the row is in the programs' map */
	uint64_t exec, exec_end; /* the function that runs the language's: offsets in the file */
	struct runtime_codes codes;
};

struct interpreter_kind {
	const struct runtime_ops *language;
	size_t size;  /* of a state; zeroed at first, but for what is said here */
	bool by_libc; /* a thread's frames are found by how its C library keeps them */
	/*
	 * Finds out how the target's frames are followed, of which all but version, exec, exec_end and
	 * entered is known, and calls runtime_rows_enter(). -errno, with the reason.
	 */
	int (*enter)(struct runtimes *runtimes, struct runtime_target *target,
		     struct interpreter_state *state, char reason[static REASON_MAX]);
	void (*free_code)(struct runtime_code *code); /* NULL: free() */
};

/* For runtime_ops.look. */
void interpreter_look(struct runtimes *runtimes, struct runtime_target *target,
		      const struct interpreter_kind *kind);
/* For runtime_ops.free; frees the state. */
void interpreter_free(struct interpreter_state *state);
/* For runtime_ops.weave. */
bool interpreter_weave(struct runtimes *runtimes, struct runtime_target *target,
		       enum runtime runtime, interpreter_frame_fn *frame, uint64_t hash,
		       struct stack_draft *draft);

/*
 * For runtime_ops.doctor. What runs are its `functions`. err: its frames are not known, for the reason,
 * if there is one; else the reason is what there is to add.
 */
void interpreter_doctor(char text[static RUNTIME_DOCTOR_TEXT], const char *language,
			const char *version, const char *functions, int err, const char *reason);
/* Of those whose threads are found by glibc's ways only. 0, or -ENOTSUP with the reason. */
int interpreter_check_libc(const struct image *image, char reason[static REASON_MAX]);

#endif
