// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_chunk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <zlib.h>

#include "user/base/log.h"
#include "user/recording/recording.h"
#include "user/recording/recording_format.h"

#define CHUNK_LARGE (1u << 20)

static void chunk_put_le32(uint8_t *to, uint32_t value)
{
	for (size_t i = 0; i < 4; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t chunk_get_le32(const uint8_t *from)
{
	return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

/* ---- writing ------------------------------------------------------------------------------ */

int chunk_write_prefix(struct chunk_writer *c)
{
	uint8_t prefix[RECORDING_PREFIX_SIZE] = RECORDING_MAGIC;

	chunk_put_le32(prefix + RECORDING_MAGIC_SIZE, RECORDING_VERSION);
	errno = 0;
	if (fwrite(prefix, sizeof(prefix), 1, c->out) != 1)
		c->error = errno ? -errno : -EIO;
	return c->error;
}

/* A partial chunk would be read as damage, or hide what a later run appended. */
static void chunk_cut_back(FILE *out, off_t to)
{
	int fd = fileno(out);

	/* What is buffered must not come out later, at the old place. */
	__fpurge(out);
	if (to >= 0 && fd >= 0 && ftruncate(fd, to))
		return; /* the reader copes: it is the last chunk */
}

int chunk_flush(struct chunk_writer *c)
{
	uint8_t prefix[CHUNK_PREFIX_SIZE];
	off_t start = ftello(c->out);

	if (c->error || !c->body.len)
		return c->error;
	if (c->body.failed || c->body.len > CHUNK_MAX)
		return c->error = c->body.failed ? -ENOMEM : -EFBIG;
	chunk_put_le32(prefix, (uint32_t)c->body.len);
	chunk_put_le32(prefix + 4, (uint32_t)crc32(0, c->body.data, (uInt)c->body.len));
	errno = 0;
	if (fwrite(prefix, sizeof(prefix), 1, c->out) != 1 ||
	    fwrite(c->body.data, c->body.len, 1, c->out) != 1 || fflush(c->out)) {
		c->error = errno ? -errno : -EIO;
		chunk_cut_back(c->out, start);
	}
	wire_reset(&c->body);
	return c->error;
}

int chunk_flush_if_large(struct chunk_writer *c)
{
	return c->body.len > CHUNK_LARGE ? chunk_flush(c) : 0;
}

void chunk_writer_free(struct chunk_writer *c)
{
	wire_free(&c->body);
}

/* ---- reading ------------------------------------------------------------------------------ */

int chunk_damaged(const struct chunk_reader *c, const char *what)
{
	log_error("%s: damaged at offset %" PRIu64 ": %s", c->name, c->at, what);
	return -EBADMSG;
}

int chunk_no_memory(const struct chunk_reader *c)
{
	return log_errno(ENOMEM, "%s: offset %" PRIu64, c->name, c->at);
}

/* Reads whole, or says how much there was. */
static int chunk_read_part(struct chunk_reader *c, void *to, size_t len, size_t *got)
{
	errno = 0;
	*got = fread(to, 1, len, c->in);
	c->offset += *got;
	if (*got < len && ferror(c->in))
		return log_errno(errno ? errno : EIO, "%s: cannot read at offset %" PRIu64, c->name,
				 c->offset);
	return 0;
}

/* The body is read in steps: a length that is not true must not cost memory. */
static int chunk_read_body(struct chunk_reader *c, uint32_t len, size_t *got)
{
	static const size_t step = 1u << 20;

	*got = 0;
	while (*got < len) {
		size_t want = len - *got < step ? len - *got : step, part;
		int err;

		if (c->room < *got + want) {
			size_t room = 2 * c->room > *got + want ? 2 * c->room : *got + want;
			uint8_t *grown = realloc(c->data, room);

			if (!grown)
				return chunk_no_memory(c);
			c->data = grown;
			c->room = room;
		}
		err = chunk_read_part(c, c->data + *got, want, &part);
		if (err)
			return err;
		*got += part;
		if (part < want)
			return 0;
	}
	return 0;
}

int chunk_read(struct chunk_reader *c)
{
	uint8_t prefix[CHUNK_PREFIX_SIZE];
	uint32_t len;
	size_t got;
	int err;

	c->at = c->offset;
	err = chunk_read_part(c, prefix, sizeof(prefix), &got);
	if (err)
		return err;
	c->cut = got && got < sizeof(prefix);
	if (got < sizeof(prefix))
		return 0;
	len = chunk_get_le32(prefix);
	if (!len || len > CHUNK_MAX)
		return chunk_damaged(c, "a chunk's length is impossible");
	err = chunk_read_body(c, len, &got);
	if (err)
		return err;
	c->cut = got < len;
	if (c->cut)
		return 0;
	if ((uint32_t)crc32(0, c->data, len) != chunk_get_le32(prefix + 4))
		return chunk_damaged(c, "a chunk's checksum is wrong");
	c->body = (struct wire_reader){c->data, c->data + len};
	return 1;
}

int chunk_read_prefix(struct chunk_reader *c)
{
	uint8_t prefix[RECORDING_PREFIX_SIZE];
	uint32_t version;
	size_t got;
	int err = chunk_read_part(c, prefix, sizeof(prefix), &got);

	if (err)
		return err;
	if (got < sizeof(prefix) || memcmp(prefix, RECORDING_MAGIC, RECORDING_MAGIC_SIZE)) {
		log_error("%s: not a recording of memleakbpf (offset 0)", c->name);
		return -EBADMSG;
	}
	version = chunk_get_le32(prefix + RECORDING_MAGIC_SIZE);
	if (version && version <= RECORDING_VERSION)
		return 0;
	log_error("%s: recording of version %" PRIu32 " (offset %d), and this program knows "
		  "versions up to %d; use the one that made it",
		  c->name, version, RECORDING_MAGIC_SIZE, RECORDING_VERSION);
	return -EPROTONOSUPPORT;
}

void chunk_reader_free(struct chunk_reader *c)
{
	free(c->data);
}
