/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A second C library in this very process. */
#ifndef MEMLEAKBPF_TESTS_UNIT_GATE_COPIED_H
#define MEMLEAKBPF_TESTS_UNIT_GATE_COPIED_H

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "user/process/maps.h"

/*
 * The library that has the function, copied and in a namespace of its own: no other tool has probes
 * in it, and the program's own malloc stays as it is.
 */
static inline void *open_copy(const void *function)
{
	char copy[] = "/tmp/test_gate.XXXXXX", buffer[65536];
	int from, to = mkstemp(copy);
	const struct mapping *m;
	struct maps *maps;
	void *opened;
	ssize_t n;

	assert_int_equal(maps_read(getpid(), &maps), 0);
	m = maps_find(maps, (uintptr_t)function);
	assert_non_null(m);
	from = open(m->path, O_RDONLY | O_CLOEXEC);
	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(to, buffer, (size_t)n), n);
	close(from);
	close(to);
	maps_free(maps);
	opened = dlmopen(LM_ID_NEWLM, copy, RTLD_NOW);
	if (!opened)
		print_message("%s\n", dlerror());
	unlink(copy);
	assert_non_null(opened);
	return opened;
}

#endif
