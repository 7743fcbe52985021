/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files that the caller names: what may be read of them is the caller's affair, not the tool's. */
#ifndef MEMLEAKBPF_SESSION_CALLER_FILE_H
#define MEMLEAKBPF_SESSION_CALLER_FILE_H

#include <stdio.h>

/* fopen() with the caller's own rights (user/kernel/privilege.h), errno as that one leaves it. */
FILE *caller_file_open(const char *path, const char *mode);

#endif
