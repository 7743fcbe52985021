/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why something is refused, in words for who asked: who returns it writes it, who called shows it. */
#ifndef MEMLEAKBPF_BASE_REASON_H
#define MEMLEAKBPF_BASE_REASON_H

#define REASON_MAX 192 /* bytes of a reason, its NUL included */

/*
 * For what is refused and no error of ours: writes the reason, a clause without a full stop, for
 * the caller to show, and evaluates to err.
 */
int refuse(char reason[static REASON_MAX], int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
