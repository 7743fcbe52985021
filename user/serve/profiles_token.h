/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What whoever asks for profiles has to know: `--profiles-token FILE`. */
#ifndef MEMLEAKBPF_SERVE_PROFILES_TOKEN_H
#define MEMLEAKBPF_SERVE_PROFILES_TOKEN_H

#include <stdbool.h>

/*
 * Reads the token with the caller's own rights: one line of PROFILES_TOKEN_MIN to PROFILES_TOKEN_MAX characters that an
 * HTTP header can have. A file that others than its owner and its group may read, or others than its owner write, is refused.
 * *out is the caller's to free(). 0 or -errno, logged.
 */
#define PROFILES_TOKEN_MIN 16
#define PROFILES_TOKEN_MAX 512
int profiles_token_read(const char *path, char **out);

/*
 * Is that what an Authorization header ("Bearer …"; NULL: there is none) says? How long it takes says nothing of how much
 * of it is right.
 */
bool profiles_token_is(const char *token, const char *authorization);

#endif
