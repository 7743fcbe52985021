/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the stacks of a target had when it had most (--peak): kept whenever the kernel side tells of
 * more (bpf/peak.h), and with each snapshot.
 */
#ifndef MEMLEAKBPF_FIGURES_PEAKS_H
#define MEMLEAKBPF_FIGURES_PEAKS_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/config.h"

struct figures;
struct figures_target;
struct peak_capture;
struct snapshot;

/* NULL is fine. */
void peak_capture_free(struct peak_capture *capture);

/* Looks at the stacks of a target, and keeps in *capture what they have if that is more than ever. */
void peaks_look(struct figures *figures, uint32_t target_id, pid_t pid,
		struct peak_capture **capture);

/* Nothing is left of the target of that id, whose row another one may have. */
void peaks_release_target(struct figures *figures, uint32_t target_id);

/*
 * Fills in the snapshot's peak and those of its stacks, whose figures are there. `by_slot` and `slots`
 * as for figures_read(); `clock`: the kernel's, now.
 */
void peaks_read(const struct figures *figures, const struct figures_target *target,
		struct snapshot *snapshot, const uint32_t *by_slot, uint32_t slots,
		const struct live_clock *clock);

#endif
