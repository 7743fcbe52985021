/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Interprets call frame instructions (DWARF 5 section 6.4.2) for the three registers that unwinding
 * needs.
 */
#ifndef MEMLEAKBPF_UNWIND_CFA_H
#define MEMLEAKBPF_UNWIND_CFA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind_abi.h"
#include "user/base/bytes.h"

/* LEB128 (DWARF 5 section 7.6). */
uint64_t cfa_read_uleb(struct bytes_reader *r);
int64_t cfa_read_sleb(struct bytes_reader *r);

/*
 * Reads a pointer in one of the DW_EH_PE_* encodings; `place` is the address of the byte at r->p.
 * Encodings that need more than that (indirect, relative to text, data or function) set `bad`.
 */
uint64_t cfa_read_encoded(struct bytes_reader *r, uint8_t encoding, uint64_t place);

enum cfa_how {
	CFA_HOW_DEFAULT = 0, /* register rule: what the ABI says */
	CFA_HOW_SAME,
	CFA_HOW_UNDEFINED,
	CFA_HOW_OFFSET, /* at CFA + offset; the CFA itself: register + offset */
	/* at the address that an expression gives; the CFA itself: the expression's value */
	CFA_HOW_EXPR,
	/* in another register, or a computed value: no real code here needs that */
	CFA_HOW_OTHER,
};

struct cfa_rule {
	enum cfa_how how;
	uint64_t reg; /* of the CFA */
	int64_t offset;
	const uint8_t *expr;
	size_t expr_len;
};

enum cfa_column { CFA_COLUMN_CFA, CFA_COLUMN_FP, CFA_COLUMN_RA, CFA_COLUMNS };

struct cfa_state {
	struct cfa_rule column[CFA_COLUMNS];
};

/* Is the same for all instructions of a CIE. */
struct cfa_context {
	uint16_t machine;
	bool signal_frame; /* 'S' in the augmentation */
	uint8_t encoding;  /* of pointers: DW_EH_PE_* */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_column;		 /* DWARF number of the return address column */
	const struct cfa_state *initial; /* after the CIE's instructions; NULL while these run */
};

/* Called with the rules that hold from `pc` on; pcs ascend. Non-zero stops the interpretation. */
typedef int (*cfa_emit)(void *arg, uint64_t pc, const struct cfa_state *state);

/*
 * Runs instructions over the code from `pc` to `end`, starting from *state and leaving the last
 * state there. `place` is the address of instructions[0] in the loaded section. emit may be NULL.
 * 0, emit's result, or -EINVAL for damaged instructions (rows before the damage have been emitted).
 */
int cfa_run(const struct cfa_context *context, struct cfa_state *state, const uint8_t *instructions,
	    const uint8_t *instructions_end, uint64_t place, uint64_t pc, uint64_t end,
	    cfa_emit emit, void *arg);

/* The compact rule for a state; UNWIND_CFA_UNSUPPORTED when it cannot be expressed. */
struct unwind_rule cfa_compact(const struct cfa_context *context, const struct cfa_state *state);

#endif
