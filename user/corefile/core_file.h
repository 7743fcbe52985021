/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A core file as a process that stands still. Its memory, mappings, threads and files have the form
 * of a living process's (user/process/memory_image.h, maps.h, object.h). The kernel, gcore or any
 * program that writes them the same way made the core (core(5)). Neither the file nor its claims
 * about other files are trusted: give up privileges before opening one (user/kernel/).
 *
 * 	core_file_open()	headers and notes; which files were mapped, and whether they are here
 * 	core_file_take_memory()
 * 	core_file_free()
 */
#ifndef MEMLEAKBPF_COREFILE_CORE_FILE_H
#define MEMLEAKBPF_COREFILE_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/process/memory_image.h"
#include "user/process/object.h"

struct core_file;

struct core_file_options {
	/*
	 * an O_PATH descriptor of the directory in which the process's files are looked for, by
	 * their paths, links resolved inside. -1: our own root.
	 */
	int root_fd;
	bool debuginfod; /* ask the servers in DEBUGINFOD_URLS for files that are not there */
	/*
	 * Gets the files that were found. While the core file is open, object_cache_get() with pid
	 * 0 and a mapping of the image finds its file. Must outlive the core file.
	 */
	struct object_cache *objects;
};

/*
 * fd is read until core_file_take_memory() has returned, and stays the caller's. 0 and *out, or
 * -errno with the reason, a clause about "it", not logged. -ENOEXEC: no core file of this kind of
 * machine; -EINVAL, -ENOMEM.
 */
int core_file_open(int fd, const struct core_file_options *options, struct core_file **out,
		   char reason[static REASON_MAX]);
void core_file_free(struct core_file *core); /* NULL is fine */

/*
 * Hands the memory over, once: memory_image_free(), before or after core_file_free(). Like the copy
 * of a living process, it has only memory that could be written to and has been. A core that only
 * we can change is mapped, not copied: if it is cut all the same, SIGBUS ends us with a message.
 * -ENOMEM, with the reason, where it does not fit into the memory left.
 */
int core_file_take_memory(struct core_file *core, struct memory_image **out,
			  char reason[static REASON_MAX]);

/*
 * Facts about the core's process, and about the parts that the core lacks. Belongs to the core
 * file.
 */
struct core_facts {
	pid_t pid;	  /* 0: unknown */
	char comm[16];	  /* the kernel's: any bytes; "": unknown */
	char **cmdline;	  /* NULL-terminated; NULL: unknown */
	bool cmdline_cut; /* cmdline is the 80 bytes that the kernel keeps, in one string */
	int signal;	  /* that ended it; 0: none, or it went on */
	uint64_t time_ns; /* CLOCK_REALTIME: when the file was last written to */
	uint64_t entry;	  /* where the program begins to run; 0: unknown */
	size_t threads;
	size_t threads_unknown; /* whose registers could not be read */
	size_t mappings, mapped_files;
	uint64_t file_bytes;
	uint64_t cut_bytes; /* of memory, behind the file's end: the core is not whole */
	uint64_t
		left_out_bytes; /* of private writable memory without a file: never touched, or left out */
	size_t mappings_dropped; /* that contradict others */
	/* ELF files that were mapped, and how many of the same ones are here, by build id. */
	size_t objects, objects_found;
	/*
	 * After core_file_take_memory(), in bytes of the image. Private memory; in it, pages of
	 * mapped files that differ from these files (all pages, where a file is not here); shared
	 * memory.
	 */
	uint64_t private_bytes, file_private_bytes, shared_bytes;
	/* ... and pages of zeros, which none of these count: perhaps they were never touched. */
	uint64_t zero_bytes;
	/* After core_file_take_memory(): bytes of the image in the mapped core, and copied ones. */
	uint64_t mapped_bytes, copied_bytes;
};
const struct core_facts *core_file_facts(const struct core_file *core);

/* Hands facts.cmdline over, for the caller to free(). */
char **core_file_take_cmdline(struct core_file *core);

/*
 * An ELF file that was mapped and is not here; `index` from 0. NULL behind the last one. *why is a
 * clause. Both belong to the core file, and may hold any bytes.
 */
const char *core_file_missing(const struct core_file *core, size_t index, const char **why);

#endif
