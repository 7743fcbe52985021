/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Since when a process grows, how fast, and until when, in words. */
#ifndef MEMLEAKBPF_EXPORT_GROWTH_TEXT_H
#define MEMLEAKBPF_EXPORT_GROWTH_TEXT_H

#include <stdio.h>

#include "user/model/survey_report.h"

#define GROWTH_TIME_MAX 24

/*
 * "08:19" by the clock of this place; of another day than `now_ns`: "Nov 28 08:19"; within two
 * minutes of it "08:19:05". Times as CLOCK_REALTIME. Returns buf.
 */
const char *growth_text_time(char buf[static GROWTH_TIME_MAX], uint64_t time_ns, uint64_t now_ns);

/* One sentence without its end, as of now_ns. Nothing, and false: there is no growth to speak of. */
bool growth_text_put(FILE *out, const struct survey_row *row, uint64_t now_ns);

#endif
