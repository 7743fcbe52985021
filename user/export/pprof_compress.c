// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/pprof_compress.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

int pprof_compress(const struct wire *in, uint8_t **out, size_t *out_len)
{
	z_stream z = {0};
	uLong bound;
	int result;

	/* 15 + 16: the largest window, with gzip's header. */
	if (in->len > UINT32_MAX || deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
						 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	bound = deflateBound(&z, in->len);
	*out = malloc(bound);
	if (!*out) {
		deflateEnd(&z);
		return -ENOMEM;
	}
	z.next_in = in->data;
	z.avail_in = (uInt)in->len;
	z.next_out = *out;
	z.avail_out = (uInt)bound;
	result = deflate(&z, Z_FINISH);
	*out_len = z.total_out;
	deflateEnd(&z);
	return result == Z_STREAM_END ? 0 : -EIO;
}
