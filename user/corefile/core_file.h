/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A core file as a process that stands still: its memory, mappings, threads and files in the form
 * that a living one's have (user/process/memory_image.h, maps.h, object.h). From the kernel, gcore or
 * any other program that writes them the same way (core(5)). The file is not trusted, and neither is what it
 * says of other files: who opens one has given up what he does not need (user/kernel/).
 *
 *	core_file_open()	headers and notes; which files were mapped, and whether they are here
 *	core_file_take_memory()
 *	core_file_free()
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
	 * where the process's files are looked for, by their paths, links resolved inside: an O_PATH
	 * descriptor of a directory. -1: our own root
	 */
	int root_fd;
	bool debuginfod; /* what is not there is asked of the servers in DEBUGINFOD_URLS */
	/*
	 * What is known of the files goes in here: object_cache_get() with pid 0 and a mapping of the
	 * image has the file, as long as the core file is open. Must outlive it.
	 */
	struct object_cache *objects;
};

/*
 * fd is read until core_file_take_memory() has returned, and stays the caller's. 0 and *out, or -errno with the reason, a clause about "it",
 * not logged: -ENOEXEC for what is no core file of this kind of machine, -EINVAL, -ENOMEM.
 */
int core_file_open(int fd, const struct core_file_options *options, struct core_file **out,
		   char reason[static REASON_MAX]);
void core_file_free(struct core_file *core); /* NULL is fine */

/*
 * The memory, once: memory_image_free(), before or after core_file_free(). As the copy of a living process it
 * holds what could be written to and has been: what never was touched, or is as in the file, is not there. Where
 * nobody but us can change the core it is mapped, not copied: SIGBUS then ends us with a message if
 * it is cut all the same. -ENOMEM, with the reason, where it does not fit into the memory left.
 */
int core_file_take_memory(struct core_file *core, struct memory_image **out,
			  char reason[static REASON_MAX]);

/* What the core says of its process, and what of it is not there. Belongs to the core file. */
struct core_facts {
	pid_t pid;	  /* 0: unknown */
	char comm[16];	  /* as the kernel has it: any bytes; "": unknown */
	char **cmdline;	  /* NULL-terminated; NULL: unknown */
	bool cmdline_cut; /* it is the 80 bytes that the kernel keeps, in one string */
	int signal;	  /* that it ended by; 0: none, or it went on */
	uint64_t time_ns; /* CLOCK_REALTIME: when the file was last written to */
	uint64_t entry;	  /* where the program begins to run; 0: unknown */
	size_t threads;
	size_t threads_unknown; /* of which the registers could not be read */
	size_t mappings, mapped_files;
	uint64_t file_bytes;
	uint64_t cut_bytes; /* of memory, behind the end of the file: it is not whole */
	uint64_t
		left_out_bytes; /* of private writable memory without a file: never touched, or left out */
	size_t mappings_dropped; /* that contradict others */
	/* ELF files that were mapped, and those of them that are here: the same ones, by build id. */
	size_t objects, objects_found;
	/*
	 * After core_file_take_memory(), bytes of the image: private memory, the part of it that is mapped
	 * files' pages, as far as they differ from the files (all of them where a file is not here), and shared memory.
	 */
	uint64_t private_bytes, file_private_bytes, shared_bytes;
	/* ... and of pages of zeros, which are in none of these: perhaps they were never touched. */
	uint64_t zero_bytes;
	/* After core_file_take_memory(): bytes of the image that lie in the mapped core; and copied ones. */
	uint64_t mapped_bytes, copied_bytes;
};
const struct core_facts *core_file_facts(const struct core_file *core);

/* facts.cmdline, for the caller to free(). */
char **core_file_take_cmdline(struct core_file *core);

/*
 * The ELF files that were mapped and are not here; `index` from 0. NULL behind the last one. *why is
 * a clause. Both belong to the core file; any bytes may be in them.
 */
const char *core_file_missing(const struct core_file *core, size_t index, const char **why);

#endif
