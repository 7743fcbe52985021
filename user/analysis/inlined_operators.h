/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * C++ operators of a program's own that the compiler has put into their callers: nothing calls them, so that a block
 * seems to have been allocated by malloc, or freed by free. Their frames say otherwise.
 */
#ifndef MEMLEAKBPF_ANALYSIS_INLINED_OPERATORS_H
#define MEMLEAKBPF_ANALYSIS_INLINED_OPERATORS_H

#include "user/model/misuse.h"

/*
 * Of a mismatch, with the frames of its calls: its families become those of such operators, and where they then fit each
 * other it is suppressed.
 */
void misuse_see_inlined(struct misuse *misuse);

#endif
