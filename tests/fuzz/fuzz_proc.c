// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libFuzzer: the files of /proc and /sys that are read as text. The first byte says which one, the
 * rest is the file.
 */
#include "tests/fuzz/fuzz.h"

#include "user/process/cgroup.h"
#include "user/kernel/cpus.h"
#include "user/kernel/feature_machine.h"
#include "user/process/maps.h"
#include "user/process/proc.h"

static void parse_maps(const char *text, size_t size)
{
	struct maps *maps;

	if (maps_parse(text, size, &maps))
		return;
	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);

		MUST(m->path && strlen(m->path) <= size);
		maps_find(maps, m->start);
		maps_find(maps, m->end);
	}
	maps_free(maps);
}

static void parse_cpus(const char *text)
{
	unsigned *cpus = NULL;
	size_t count;

	if (!cpus_parse(text, &cpus, &count)) {
		for (size_t i = 1; i < count; i++)
			MUST(cpus[i] > cpus[i - 1]);
	}
	free(cpus);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = NULL;
	struct cgroup cgroup = {.path = ""};
	struct proc_stat stat;
	uint64_t mask;

	if (!size)
		return 0;
	text = fuzz_text(data + 1, size - 1);
	switch (data[0]) {
	case 'm':
		parse_maps(text, size - 1);
		break;
	case 'g':
		cgroup_parse(text, &cgroup);
		cgroup_name_path(text, &cgroup);
		MUST(memchr(cgroup.unit, '\0', sizeof(cgroup.unit)));
		MUST(memchr(cgroup.container, '\0', sizeof(cgroup.container)));
		break;
	case 'c':
		parse_cpus(text);
		break;
	case 's':
		if (!proc_stat_parse(text, &stat))
			MUST(memchr(stat.comm, '\0', sizeof(stat.comm)));
		break;
	default:
		machine_parse_lockdown(text);
		machine_parse_capabilities(text, &mask);
		machine_parse_initial_userns(text);
	}
	return 0;
}
