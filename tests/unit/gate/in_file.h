/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The bytes of code as its file has them: in memory a tracer of the whole system may have probes. */
#ifndef MEMLEAKBPF_TESTS_UNIT_GATE_IN_FILE_H
#define MEMLEAKBPF_TESTS_UNIT_GATE_IN_FILE_H

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "user/process/maps.h"

static inline void read_in_file(const void *code, uint8_t *bytes, size_t size)
{
	struct maps *maps;
	const struct mapping *m;
	int fd;

	assert_int_equal(maps_read(getpid(), &maps), 0);
	m = maps_find(maps, (uintptr_t)code);
	assert_non_null(m);
	fd = open(m->path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, bytes, size, (off_t)((uintptr_t)code - m->start + m->offset)),
			 size);
	close(fd);
	maps_free(maps);
}

#endif
