/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to user/export. */
#ifndef MEMLEAKBPF_EXPORT_PPROF_COMPRESS_H
#define MEMLEAKBPF_EXPORT_PPROF_COMPRESS_H

#include <stddef.h>
#include <stdint.h>

#include "user/recording/wire.h"

/*
 * The gzip format (RFC 1952), without a time stamp, so that equal profiles are equal files. *out is
 * malloc'ed. 0, -ENOMEM or -EIO.
 */
int pprof_compress(const struct wire *in, uint8_t **out, size_t *out_len);

#endif
