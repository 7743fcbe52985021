/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What guarded blocks have shown (survey --keep --guard), as metrics. Part of survey_metrics. */
#ifndef MEMLEAKBPF_EXPORT_METRICS_GUARDS_H
#define MEMLEAKBPF_EXPORT_METRICS_GUARDS_H

#include "user/export/metrics_page.h"

/* Of a report with `keep`; nothing without guards. */
void metrics_put_guards(const struct metrics_page *p);

#endif
