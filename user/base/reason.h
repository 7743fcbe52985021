/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why something is refused, in words for the caller: the refusing function writes the reason, the
 * caller shows it.
 */
#ifndef MEMLEAKBPF_BASE_REASON_H
#define MEMLEAKBPF_BASE_REASON_H

#define REASON_MAX 192 /* bytes of a reason, its NUL included */

/*
 * Refuses an input, which is no error of ours. Writes the reason, a clause without a full stop, for
 * the caller to show. Evaluates to err.
 */
int refuse(char reason[static REASON_MAX], int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
