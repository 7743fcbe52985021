// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A core file as what is inspected. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "user/base/log.h"
#include "user/base/parse.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/inspect/inspect_source.h"

/* Files that are not here, by name; more of them without -v. */
#define NAMED 5

/* "SIGSEGV", or a number. */
static void core_put_signal(char *text, size_t size, int signal)
{
	const char *name = sigabbrev_np(signal);

	if (name)
		snprintf(text, size, "SIG%s", name);
	else
		snprintf(text, size, "signal %d", signal);
}

static void core_say_who(const char *path, const struct core_facts *facts)
{
	char signal[24] = "", comm[2 * sizeof(facts->comm)];

	text_copy(comm, sizeof(comm), facts->comm, sizeof(facts->comm), &text_for_terminal);
	if (facts->signal)
		core_put_signal(signal, sizeof(signal), facts->signal);
	log_info("%s: process %d (%s), %zu %s%s%s", path, (int)facts->pid, *comm ? comm : "?",
		 facts->threads, facts->threads == 1 ? "thread" : "threads",
		 *signal ? ", ended by " : "", signal);
}

static void core_say_missing_files(const char *path, const struct core_file *core)
{
	const struct core_facts *facts = core_file_facts(core);
	size_t missing = facts->objects - facts->objects_found, said = 0;
	const char *file, *why;

	if (!missing)
		return;
	log_warn("%s: %zu of the %zu programs and libraries that it had mapped are not here: what "
		 "their data holds is found, but not by name; --sysroot says where else they are%s",
		 path, missing, facts->objects,
		 missing > NAMED && log_get_level() < LOG_DEBUG ? " (-v names all)" : "");
	for (; (file = core_file_missing(core, said, &why)); said++) {
		char shown[512];

		text_copy(shown, sizeof(shown), file, strlen(file), &text_for_terminal);
		log_msg(said < NAMED ? LOG_WARN : LOG_DEBUG, "%s: %s", shown, why);
	}
}

static void core_say_missing(const char *path, const struct core_file *core)
{
	const struct core_facts *facts = core_file_facts(core);
	char human[FORMAT_BYTES_MAX];

	if (facts->cut_bytes)
		log_warn("%s: it is not whole: %s of the process's memory are cut off its end "
			 "(ulimit -c, or a full disk): what only they point to counts as lost",
			 path, format_bytes(human, facts->cut_bytes));
	if (!facts->threads)
		log_warn("%s: it has no registers of threads (gcore writes them behind the "
			 "memory): what only they hold counts as lost",
			 path);
	if (facts->threads_unknown)
		log_warn("%s: the registers of %zu of its threads are not known: what only they "
			 "hold counts as lost",
			 path, facts->threads_unknown);
	if (!facts->mapped_files)
		log_warn("%s: it does not say which files were mapped: nothing has a name, and no "
			 "allocator may be found",
			 path);
	if (facts->mappings_dropped)
		log_warn("%s: %zu of its segments contradict others, and are left out", path,
			 facts->mappings_dropped);
	if (facts->left_out_bytes)
		log_debug("%s: %s of private memory are not in it: never touched, or left out "
			  "(madvise(2), coredump_filter)",
			  path, format_bytes(human, facts->left_out_bytes));
	core_say_missing_files(path, core);
}

static int core_take(struct inspect_source *out, char reason[static REASON_MAX])
{
	const struct core_facts *facts = core_file_facts(out->core_file);
	char human[FORMAT_BYTES_MAX];
	int err = core_file_take_memory(out->core_file, &out->memory, reason);

	if (err)
		return err;
	if (facts->zero_bytes)
		log_info(
			"%s: %s of it are pages of nothing but zeros, which count as never touched",
			out->core, format_bytes(human, facts->zero_bytes));
	out->pid = facts->pid;
	memcpy(out->comm, facts->comm, sizeof(out->comm));
	out->cmdline = core_file_take_cmdline(out->core_file);
	out->time_ns = facts->time_ns;
	out->entry = facts->entry;
	out->rss_anon = facts->private_bytes;
	out->file_private = facts->file_private_bytes;
	out->shmem = facts->shared_bytes;
	out->read_bytes = facts->mapped_bytes + facts->copied_bytes;
	out->unread_bytes = facts->cut_bytes;
	out->unknown_threads = facts->threads_unknown;
	out->no_registers = !facts->threads;
	return 0;
}

int inspect_open_core(int fd, const char *path, const struct inspect_core *how,
		      struct inspect_source *out, char reason[static REASON_MAX])
{
	struct core_file_options options = {
		.root_fd = how->root_fd,
		.debuginfod = how->debuginfod,
	};
	int err;

	*out = (struct inspect_source){.objects = object_cache_new(), .core = strdup(path)};
	options.objects = out->objects;
	err = out->objects && out->core ? 0 : refuse(reason, -ENOMEM, "no memory");
	err = err ?: core_file_open(fd, &options, &out->core_file, reason);
	if (!err) {
		core_say_who(path, core_file_facts(out->core_file));
		core_say_missing(path, out->core_file);
		err = core_take(out, reason);
	}
	if (err)
		inspect_source_release(out);
	return err;
}
