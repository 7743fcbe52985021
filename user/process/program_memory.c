// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/program_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * At the open, the kernel looks once whose memory it is, and whether we may: proc_pid_mem(5),
 * proc_pid_maps(5).
 */
static int program_open(pid_t memory, const char *name, int flags)
{
	char path[64];
	int file;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)memory, name);
	file = open(path, flags | O_CLOEXEC);
	return file < 0 ? -errno : file;
}

int program_memory_open(pid_t memory, struct program_memory *out)
{
	int mem = program_open(memory, "mem", O_RDWR);
	int maps = mem == -EACCES ? program_open(memory, "maps", O_RDONLY) : -1;

	*out = PROGRAM_MEMORY_NONE;
	if (mem < 0 && mem != -EACCES)
		return mem;
	if (mem < 0 && maps < 0)
		return maps;
	*out = (struct program_memory){.memory = memory, .mem = mem < 0 ? -1 : mem, .maps = maps};
	return 0;
}

void program_memory_close(struct program_memory *program)
{
	if (program->mem >= 0)
		close(program->mem);
	if (program->maps >= 0)
		close(program->maps);
	*program = PROGRAM_MEMORY_NONE;
}

/* The kernel reads and writes no bytes of memory that is nobody's any more. */
static int program_memory_done(ssize_t n, size_t size)
{
	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -ESRCH;
}

/*
 * Asks some microseconds before a read or write by the process id: does the process still have that
 * memory?
 */
static bool program_is_there(const struct program_memory *program)
{
	char byte;

	return pread(program->maps, &byte, 1, 0) == 1;
}

int program_memory_read(const struct program_memory *program, uint64_t address, void *to,
			size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};

	if (program->mem >= 0)
		return program_memory_done(pread(program->mem, to, size, (off_t)address), size);
	if (!program_is_there(program))
		return -ESRCH;
	return program_memory_done(process_vm_readv(program->memory, &local, 1, &remote, 1, 0),
				   size);
}

int program_memory_write(const struct program_memory *program, uint64_t address, const void *from,
			 size_t size)
{
	struct iovec local = {(void *)(uintptr_t)from, size};
	struct iovec remote = {(void *)(uintptr_t)address, size};

	if (program->mem >= 0)
		return program_memory_done(pwrite(program->mem, from, size, (off_t)address), size);
	if (!program_is_there(program))
		return -ESRCH;
	return program_memory_done(process_vm_writev(program->memory, &local, 1, &remote, 1, 0),
				   size);
}
