/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CPU time spent over the last minute: what a budget is about. */
#ifndef MEMLEAKBPF_SURVEY_CPU_ACCOUNT_H
#define MEMLEAKBPF_SURVEY_CPU_ACCOUNT_H

#include <stdint.h>

#include "user/base/clock.h"

#define CPU_ACCOUNT_SECONDS 60

/* All zero is an empty one. */
struct cpu_account {
	struct {
		uint64_t second; /* which second of the clock the slot is about */
		uint64_t ns;
	} slots[CPU_ACCOUNT_SECONDS];
};

static inline void cpu_account_add(struct cpu_account *account, uint64_t now_ns, uint64_t spent_ns)
{
	uint64_t second = now_ns / NS_PER_S;
	uint64_t slot = second % CPU_ACCOUNT_SECONDS;

	if (account->slots[slot].second != second) {
		account->slots[slot].second = second;
		account->slots[slot].ns = 0;
	}
	account->slots[slot].ns += spent_ns;
}

/* As a share of one CPU over the last minute. */
static inline double cpu_account_spent(const struct cpu_account *account, uint64_t now_ns)
{
	uint64_t second = now_ns / NS_PER_S, sum = 0;

	for (int i = 0; i < CPU_ACCOUNT_SECONDS; i++) {
		if (second - account->slots[i].second < CPU_ACCOUNT_SECONDS)
			sum += account->slots[i].ns;
	}
	return (double)sum / NS_PER_S / CPU_ACCOUNT_SECONDS;
}

#endif
