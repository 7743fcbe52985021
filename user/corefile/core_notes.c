// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Formats: struct elf_prstatus and struct elf_prpsinfo of <sys/procfs.h>; NT_FILE as
 * fill_files_note() in the kernel's fs/binfmt_elf.c writes it. A thread begins with its
 * NT_PRSTATUS; its other registers follow, up to the next thread's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/user.h>

#include "user/base/util.h"
#include "user/corefile/core_parts.h"

/*
 * The work grows with the square of the threads. vm.max_map_count could allow as many mappings.
 * Each object takes some KiB, is looked for, and may be asked of servers.
 */
#define THREADS_MAX (1u << 16)
#define FILES_MAX   (1u << 20)
#define OBJECTS_MAX (1u << 14)

/* XSAVE areas with AMX tiles have 11 KiB; SVE at its longest vectors 8.5 KiB. */
#define VECTOR_MAX 16384

#if defined(__x86_64__)
#define STATE_NOTE NT_X86_XSTATE
static void core_notes_take_pointers(struct core_thread *t, const struct user_regs_struct *regs)
{
	t->sp = regs->rsp;
	t->tls = regs->fs_base;
	t->has_tls = true;
}
#elif defined(__aarch64__)
#define STATE_NOTE NT_PRFPREG
static void core_notes_take_pointers(struct core_thread *t, const struct user_regs_struct *regs)
{
	t->sp = regs->sp;
}
#endif

/* Adds registers behind those that the thread has. */
static int core_notes_add_words(struct core_thread *t, const void *bytes, size_t size)
{
	size_t count = size / 8;
	uint64_t *words = reallocarray(t->words, t->word_count + count + 1, sizeof(*words));

	if (!words)
		return -ENOMEM;
	memcpy(words + t->word_count, bytes, count * 8);
	t->words = words;
	t->word_count += count;
	return 0;
}

static int core_notes_add_thread(struct core_notes *notes, const void *bytes, size_t size)
{
	struct user_regs_struct regs;
	struct elf_prstatus status;
	struct core_thread *t;

	_Static_assert(sizeof(regs) == sizeof(status.pr_reg), "one layout");
	if (size != sizeof(status) || notes->thread_count == THREADS_MAX) {
		notes->unknown_threads++;
		return 0;
	}
	if (!RESERVE_ITEM(notes->threads, notes->thread_count, notes->thread_room, 16))
		return -ENOMEM;
	memcpy(&status, bytes, sizeof(status));
	memcpy(&regs, &status.pr_reg, sizeof(regs));
	t = &notes->threads[notes->thread_count++];
	*t = (struct core_thread){.tid = status.pr_pid, .signal = status.pr_cursig};
	core_notes_take_pointers(t, &regs);
	return core_notes_add_words(t, &regs, sizeof(regs));
}

/* Adds the vector registers once, in the form that has them all. */
static int core_notes_add_vector(struct core_notes *notes, uint32_t type, const void *bytes,
				 size_t size)
{
	struct core_thread *t =
		notes->thread_count ? &notes->threads[notes->thread_count - 1] : NULL;
	const size_t general = sizeof(struct user_regs_struct) / 8;

	if (!t || size > VECTOR_MAX || (t->has_state && type != STATE_NOTE))
		return 0;
	t->has_state = type == STATE_NOTE;
	t->word_count = general;
	return core_notes_add_words(t, bytes, size);
}

static void core_notes_add_process(struct core_notes *notes, const void *bytes, size_t size)
{
	struct elf_prpsinfo info;

	if (size != sizeof(info))
		return;
	memcpy(&info, bytes, sizeof(info));
	notes->pid = info.pr_pid;
	memcpy(notes->comm, info.pr_fname, sizeof(notes->comm));
	notes->comm[sizeof(notes->comm) - 1] = '\0';
	memcpy(notes->args, info.pr_psargs, sizeof(notes->args) - 1);
}

static int core_notes_add_aux(struct core_notes *notes, const void *bytes, size_t size)
{
	size_t count = size / sizeof(*notes->aux);

	if (notes->aux || !count || count > 1024)
		return 0;
	notes->aux = malloc(count * sizeof(*notes->aux));
	if (!notes->aux)
		return -ENOMEM;
	memcpy(notes->aux, bytes, count * sizeof(*notes->aux));
	notes->aux_count = count;
	return 0;
}

/* ---- NT_FILE ------------------------------------------------------------------------------ */

/*
 * Entries that follow each other and have one path belong to one object. A second mapping of a file
 * from its beginning on is another object: two namespaces of the dynamic linker have one each.
 */
static int core_notes_add_file(struct core_notes *notes, const uint64_t range[3], uint64_t page,
			       const char *path)
{
	struct core_object *last =
		notes->object_count ? &notes->objects[notes->object_count - 1] : NULL;
	uint64_t offset;

	if (range[0] >= range[1] || __builtin_mul_overflow(range[2], page, &offset))
		return 0;
	if (!last || strcmp(last->path, path) != 0 || !offset) {
		if (notes->object_count == OBJECTS_MAX)
			return 0;
		if (!RESERVE_ITEM(notes->objects, notes->object_count, notes->object_room, 64))
			return -ENOMEM;
		last = &notes->objects[notes->object_count++];
		memset(last, 0, sizeof(*last));
		last->path = path;
		last->start = offset ? 0 : range[0];
	}
	if (!RESERVE_ITEM(notes->files, notes->file_count, notes->file_room, 256))
		return -ENOMEM;
	notes->files[notes->file_count++] = (struct core_mapped_file){
		.start = range[0],
		.end = range[1],
		.offset = offset,
		.object = notes->object_count - 1,
	};
	return 0;
}

static int core_notes_add_files(struct core_notes *notes, const uint8_t *bytes, size_t size)
{
	uint64_t head[2], range[3];
	size_t at = sizeof(head), name;
	int err = 0;

	if (notes->names || size < sizeof(head))
		return 0;
	memcpy(head, bytes, sizeof(head));
	if (head[0] > FILES_MAX || head[0] * sizeof(range) > size - sizeof(head))
		return 0;
	notes->names = malloc(size + 1);
	if (!notes->names)
		return -ENOMEM;
	memcpy(notes->names, bytes, size);
	notes->names[size] = '\0';
	name = at + head[0] * sizeof(range);
	for (uint64_t i = 0; !err && i < head[0] && name < size; i++) {
		memcpy(range, bytes + at, sizeof(range));
		err = core_notes_add_file(notes, range, head[1], notes->names + name);
		at += sizeof(range);
		name += strlen(notes->names + name) + 1;
	}
	return err;
}

/* ---- all of them -------------------------------------------------------------------------- */

int core_notes_add(struct core_notes *notes, const char *name, uint32_t type, const void *bytes,
		   size_t size)
{
	if (strcmp(name, "CORE") != 0 && strcmp(name, "LINUX") != 0)
		return 0;
	switch (type) {
	case NT_PRSTATUS:
		return core_notes_add_thread(notes, bytes, size);
	case NT_PRFPREG:
#if STATE_NOTE != NT_PRFPREG
	case STATE_NOTE:
#endif
		return core_notes_add_vector(notes, type, bytes, size);
#if defined(__aarch64__)
	case NT_ARM_TLS:
		if (notes->thread_count && size >= sizeof(uint64_t)) {
			struct core_thread *t = &notes->threads[notes->thread_count - 1];

			memcpy(&t->tls, bytes, sizeof(t->tls));
			t->has_tls = true;
		}
		return 0;
#endif
	case NT_PRPSINFO:
		core_notes_add_process(notes, bytes, size);
		return 0;
	case NT_AUXV:
		return core_notes_add_aux(notes, bytes, size);
	case NT_FILE:
		return core_notes_add_files(notes, bytes, size);
	default:
		return 0;
	}
}

static int core_notes_file_order(const void *a, const void *b)
{
	const struct core_mapped_file *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void core_notes_finish(struct core_notes *notes)
{
	size_t kept = 0;

	if (notes->file_count)
		qsort(notes->files, notes->file_count, sizeof(*notes->files),
		      core_notes_file_order);
	for (size_t i = 0; i < notes->file_count; i++) {
		if (!kept || notes->files[kept - 1].end <= notes->files[i].start)
			notes->files[kept++] = notes->files[i];
	}
	notes->file_count = kept;
	if (notes->thread_count)
		notes->signal = notes->threads[0].signal;
	if (!notes->pid && notes->thread_count)
		notes->pid = notes->threads[0].tid;
}

void core_notes_release(struct core_notes *notes)
{
	for (size_t i = 0; i < notes->thread_count; i++)
		free(notes->threads[i].words);
	for (size_t i = 0; i < notes->object_count; i++)
		object_unref(notes->objects[i].object);
	free(notes->threads);
	free(notes->files);
	free(notes->names);
	free(notes->objects);
	free(notes->aux);
	*notes = (struct core_notes){0};
}

uint64_t core_notes_aux(const struct core_notes *notes, uint64_t type)
{
	for (size_t i = 0; i < notes->aux_count; i++) {
		if (notes->aux[i].type == type)
			return notes->aux[i].value;
	}
	return 0;
}

const struct core_mapped_file *core_notes_file(const struct core_notes *notes, uint64_t address)
{
	size_t i = BISECT(k, 0, notes->file_count, notes->files[k].end <= address);

	return i < notes->file_count && notes->files[i].start <= address ? &notes->files[i] : NULL;
}
