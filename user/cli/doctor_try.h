/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* doctor --try: the load that a real trace begins with. */
#ifndef MEMLEAKBPF_CLI_DOCTOR_TRY_H
#define MEMLEAKBPF_CLI_DOCTOR_TRY_H

#include "user/base/json_writer.h"
#include "user/model/missing.h"

struct doctor_try {
	int err; /* -errno, logged: nothing can be traced; 0 */
	struct missing_parts missing;
};

/*
 * Loads all programs that a watch with verdicts and exact children loads, attaches them to nothing
 * and unloads them. Some seconds of processor time at most.
 */
void doctor_try_load(struct doctor_try *out);

/* Prints a line for each missing thing, or one that nothing is missing. */
void doctor_try_print(const struct doctor_try *tried);

/* Writes the key "try". */
void doctor_try_put(struct json *to, const struct doctor_try *tried);

#endif
