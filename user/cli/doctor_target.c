// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/doctor_target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/base/log.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/freeze/can_run.h"
#include "user/probe/probe.h"
#include "user/runtime/runtime_doctor.h"
#include "user/kernel/traceable.h"
#include "user/process/proc.h"
#include "user/target/image.h"
#include "user/target/usdt_notes.h"

/*
 * The cost of a hit, measured with empty programs on kernel 6.18; docs/performance.md has the
 * figures of a whole run.
 */
static const char *const doctor_costs[] = {
	[PLACE_NOP5] = "lowest (a call, no trap)",
	[PLACE_EMULATED] = "low (a trap)",
	[PLACE_STEPPED] = "high (a trap and a single step)",
};

/* Cost of a probe on a `ret` instruction: x86_64 steps it, aarch64 simulates it. */
#if defined(__x86_64__)
#define RETURN_COST PLACE_STEPPED
#else
#define RETURN_COST PLACE_EMULATED
#endif

/* A name from a target's file, in a column. */
static void doctor_print_name(const char *text, int width)
{
	int printed = (int)text_put_name(stdout, text);

	for (; printed < width; printed++)
		putchar(' ');
}

static const char *doctor_probe_kind(const struct probe *probe)
{
	switch (probe->role) {
	case PROBE_ALLOC:
		return "entry, return";
	case PROBE_ALLOC_ENTRY:
		return "entry, rets";
	default:
		return "entry";
	}
}

static void doctor_print_probe(const struct probe *probe, bool verbose)
{
	char place[32];

	if (probe->role == PROBE_RETURN_SITE)
		return;
	snprintf(place, sizeof(place), "+%u", probe->place.offset);
	printf("    ");
	doctor_print_name(probe->fn->name, 22);
	printf(" %-5s %-36s %-13s %s\n", place, probe->place.instruction, doctor_probe_kind(probe),
	       doctor_costs[probe->place.cost]);
	if (probe->role == PROBE_ALLOC_ENTRY)
		printf("    %22s       an exception may leave it: no return probe; return sites: "
		       "%u, each %s\n",
		       "", probe->site_count, doctor_costs[RETURN_COST]);
	if (verbose)
		printf("    %22s       0x%llx in the file; %s\n", "",
		       (unsigned long long)probe->offset, probe->place.reason);
}

/* Does the file report its allocations itself? Then shows that. */
static bool doctor_print_teller(struct object *object, bool verbose)
{
	struct provider *provider;
	size_t counted = 0;

	if (usdt_find(object, &provider))
		return false;
	for (size_t i = 0; i < provider->count; i++)
		counted += provider->notes[i].semaphore != 0;
	printf("  ");
	doctor_print_name(object_path(object), 0);
	printf("\n    samples its allocations itself and tells of the samples: with --attach auto "
	       "or usdt these are\n    what is known of the process, and no function of any "
	       "allocator in it has a probe\n    %-22s %zu, %s\n",
	       "otel_memory probes", provider->count,
	       counted == provider->count ? "each with a semaphore: it tells only those who listen"
	       : counted		  ? "some without a semaphore"
			 : "without semaphores: it tells whether or not one listens");
	for (size_t i = 0; verbose && i < provider->count; i++)
		printf("    %-22s 0x%llx in the file\n", provider->fns[i].name,
		       (unsigned long long)provider->fns[i].offset);
	provider_free(provider);
	return true;
}

/* Counts the object in *found when it is an allocator. 0 or -errno, logged. */
static int doctor_print_object(struct object *object, bool verbose, size_t *found)
{
	static const struct provider_options options = {0};
	struct provider *provider;
	struct probe_set *set;
	int err;

	if (doctor_print_teller(object, verbose)) {
		(*found)++;
		return 0;
	}
	if (object_is_vdso(object) || provider_find(object, &options, &provider))
		return 0;
	err = probe_set_new(provider, &set);
	if (err)
		return log_errno(err, "%s", object_path(object));
	(*found)++;
	printf("  ");
	doctor_print_name(object_path(object), 0);
	printf("%s\n    %-22s %-5s %-36s %-13s %s\n",
	       set->provider->from_symtab ? " (symbols of its own, not exported)" : "", "function",
	       "place", "instruction", "probe", "cost");
	for (size_t i = 0; i < set->count; i++)
		doctor_print_probe(&set->probes[i], verbose);
	for (size_t i = 0; i < set->unprobed_count; i++) {
		printf("    ");
		doctor_print_name(set->unprobed[i].fn->name, 22);
		printf(" not probed: an exception may leave it, and where it returns is not known: "
		       "%s\n",
		       set->unprobed[i].reason);
	}
	probe_set_free(set);
	return 0;
}

/* Whether stacks have the functions of the languages that it is the runtime of. */
static void doctor_print_runtimes(const struct image *image, struct object *object)
{
	char text[RUNTIME_DOCTOR_TEXT];

	for (size_t i = 0; runtime_doctor(image, object, &i, text);) {
		printf("  ");
		doctor_print_name(object_path(object), 0);
		printf("\n    %s\n", text);
	}
}

static bool doctor_has_seen(const struct image *image, size_t index)
{
	const struct object *object = image_range_at(image, index)->object;

	for (size_t i = 0; i < index; i++) {
		if (image_range_at(image, i)->object == object)
			return true;
	}
	return false;
}

int doctor_target(pid_t pid, bool verbose)
{
	struct object_cache *cache;
	struct image *image = NULL;
	char comm[16] = "?", reason[REASON_MAX];
	size_t found = 0;
	int err = traceable_check(pid);

	if (err)
		return err;
	cache = object_cache_new();
	if (!cache)
		return log_errno(ENOMEM, "process %d", pid);
	err = image_new(pid, cache, &image);
	if (err) {
		if (err == -ESRCH)
			log_error("process %d has ended", pid);
		goto out;
	}
	proc_comm(pid, comm);
	printf("\nProcess %d (", pid);
	doctor_print_name(comm, 0);
	printf(")\n");
	if (can_run_check(pid, reason)) {
		printf("  no gate or guards now, and no copy by fork: ");
		doctor_print_name(reason, 0);
		putchar('\n');
	}
	for (size_t i = 0; i < image_range_count(image) && !err; i++) {
		struct object *object = image_range_at(image, i)->object;

		if (!object || doctor_has_seen(image, i))
			continue;
		doctor_print_runtimes(image, object);
		err = doctor_print_object(object, verbose, &found);
	}
	if (!err && !found) {
		fflush(stdout); /* so that the error stands below its process */
		log_error("process %d: no allocator found: static and stripped, or with names of "
			  "its own (-O, "
			  "--symbols-prefix, --alloc-fn and --free-fn tell)",
			  pid);
		err = -ENOENT;
	}
out:
	image_free(image);
	object_cache_free(cache);
	return err;
}
