/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether `survey --keep` may sample one process more, by what we have for that. */
#ifndef MEMLEAKBPF_KEEP_KEEP_ROOM_H
#define MEMLEAKBPF_KEEP_KEEP_ROOM_H

#include <stdbool.h>

#include "user/base/reason.h"
#include "user/look/survey_config.h"

/* By the memory that there is. If not the reason is told. */
bool keep_has_room(const struct survey_keep_config *keep, char reason[static REASON_MAX]);

/* One of them is to be given up; the reason is told. */
bool keep_is_too_much(const struct survey_keep_config *keep, char reason[static REASON_MAX]);

#endif
