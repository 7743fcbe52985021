/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The thread that surveys the machine, and puts views into the mailbox. */
#ifndef MEMLEAKBPF_LIVE_SURVEYOR_H
#define MEMLEAKBPF_LIVE_SURVEYOR_H

#include "user/live/mailbox.h"
#include "user/look/survey_config.h"

struct surveyor;

/* Both must outlive it. NULL when out of memory. */
struct surveyor *surveyor_new(const struct survey_config *config, struct mailbox *mailbox);
int surveyor_start(struct surveyor *surveyor); /* 0 or -errno, logged */

/* As worker_free(). */
int surveyor_free(struct surveyor *surveyor);

#endif
