/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * C++ operators of a program's own that the compiler has put into their callers. Nothing calls
 * them, so malloc seems to have allocated the block, or free to have freed it. The frames of
 * inlined calls say otherwise.
 */
#ifndef MEMLEAKBPF_ANALYSIS_INLINED_OPERATORS_H
#define MEMLEAKBPF_ANALYSIS_INLINED_OPERATORS_H

#include "user/model/misuse.h"

/*
 * For a mismatch, with the frames of its calls: sets its families to those of such operators.
 * Suppresses it if they then fit each other.
 */
void misuse_see_inlined(struct misuse *misuse);

#endif
