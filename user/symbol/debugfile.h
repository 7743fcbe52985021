/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds separate debug files for libdwfl's find_debuginfo callback: by build-id, by .gnu_debuglink,
 * dwz's shared file by .gnu_debugaltlink. It looks here and in the target's root, and asks
 * debuginfod if the user wants that.
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
 * Returns an open descriptor of the debug file (the caller's) and its name, malloc'ed, in *name; or
 * -1. The build-id, or else the CRC, agrees.
 */
int debugfile_find(const struct debugfile_query *query, char **name);

/* Is the wanted file dwz's shared one? It is if the module's own debug info is open already. */
bool debugfile_is_alternate(const struct debugfile_query *query);

#endif
