/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Asks the servers in DEBUGINFOD_URLS (debuginfod-client(3)). Only for callers whose user wants
 * that.
 */
#ifndef MEMLEAKBPF_SYMBOL_DEBUGINFOD_H
#define MEMLEAKBPF_SYMBOL_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Gets the executable or library of that build id, from the servers or their cache here. A
 * descriptor, the caller's, or -errno. -ENOENT also when no server is named, or the client's
 * library is missing.
 */
int debuginfod_executable(const uint8_t *id, size_t len);

#endif
