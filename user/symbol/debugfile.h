/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Separate debug files, as libdwfl's find_debuginfo callback wants them: by build-id, by
 * .gnu_debuglink, dwz's shared file by .gnu_debugaltlink; here and in the target's root; and from
 * debuginfod when that was asked for.
 */
#ifndef MEMLEAKBPF_SYMBOL_DEBUGFILE_H
#define MEMLEAKBPF_SYMBOL_DEBUGFILE_H

#include <stdbool.h>

#include <elfutils/libdwfl.h>

#include "user/process/object.h"

struct debugfile_query {
	Dwfl *dwfl;
	Dwfl_Module *module;
	const struct object *object;
	int root_fd;	 /* root directory of a process that maps the object, -1: only ours */
	bool debuginfod; /* the network may be asked */
	/* The arguments of dwfl_standard_find_debuginfo(3). */
	const char *file_name; /* of the file that names the wanted one; may be NULL */
	const char *link_name; /* from .gnu_debuglink or .gnu_debugaltlink; may be NULL */
	uint32_t crc;
};

/*
 * An open descriptor of the debug file (the caller's) and its name, malloc'ed, in *name; or -1.
 * Build-id, or else the CRC, has been compared.
 */
int debugfile_find(const struct debugfile_query *query, char **name);

/* The wanted file is dwz's shared one, because the module's own debug info is open already. */
bool debugfile_is_alternate(const struct debugfile_query *query);

#endif
