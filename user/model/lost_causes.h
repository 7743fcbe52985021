/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stable names of causes of loss for JSON ("live_map_full"), and sentences for people, with what to do. */
#ifndef MEMLEAKBPF_MODEL_LOST_CAUSES_H
#define MEMLEAKBPF_MODEL_LOST_CAUSES_H

#include "bpf/lost_cause.h"

const char *lost_cause_name(enum lost_cause cause);
const char *lost_cause_text(enum lost_cause cause);

#endif
