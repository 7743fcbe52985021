// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/doctor_kernel.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/kmem/kmem_probe_events.h"

/* Without the right to see addresses each of them is 0. */
static bool doctor_kernel_names(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/kallsyms", "re");
	uint64_t address = 0;

	return file && fscanf(file, "%" SCNx64, &address) == 1 && address;
}

void doctor_kernel_read(struct features *features, struct doctor_kernel *out)
{
	const enum feature needed[] = {FEATURE_BPF, FEATURE_BTF, FEATURE_READ_KERNEL};
	struct kmem_events events = {0};

	*out = (struct doctor_kernel){
		.caches = !access("/proc/slabinfo", R_OK),
		.lines = !access("/proc/allocinfo", R_OK),
		.names = doctor_kernel_names(),
	};
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		if (!features_have(features, needed[i])) {
			snprintf(out->why, sizeof(out->why), "%s",
				 features_why(features, needed[i]));
			return;
		}
	}
	if (!kmem_events_find((1u << KERNEL_KINDS) - 1, &events, out->why))
		out->kinds = events.kinds;
}

void doctor_kernel_text(const struct doctor_kernel *kernel, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (unsigned kind = 0; kind < KERNEL_KINDS && used < size; kind++) {
		if (kernel->kinds & 1u << kind)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 kernel_kind_name(kind));
	}
}

void doctor_kernel_put(struct json *to, const struct doctor_kernel *kernel)
{
	json_object(to, "kernel_memory");
	json_array(to, "kinds");
	for (unsigned kind = 0; kind < KERNEL_KINDS; kind++) {
		if (kernel->kinds & 1u << kind)
			json_text(to, NULL, kernel_kind_name(kind));
	}
	json_end(to);
	json_text(to, "why", kernel->kinds ? NULL : kernel->why);
	json_bool(to, "caches", kernel->caches);
	json_bool(to, "lines", kernel->lines);
	json_bool(to, "names", kernel->names);
	json_end(to);
}
