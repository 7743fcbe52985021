// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/cpus.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>

#include "user/base/util.h"

#define MAX_CPUS 65536u /* eight times what the kernel can be built for */

static int parse_number(const char **p, unsigned *value)
{
	char *end;
	unsigned long n;

	if (!isdigit((unsigned char)**p))
		return -EINVAL;
	n = strtoul(*p, &end, 10);
	if (n >= MAX_CPUS)
		return -EINVAL;
	*value = (unsigned)n;
	*p = end;
	return 0;
}

int cpus_parse(const char *text, unsigned **out, size_t *count)
{
	_cleanup_free_ unsigned *cpus = NULL;
	const char *p = text;
	size_t used = 0;

	for (;;) {
		unsigned first, last, *larger;

		if (parse_number(&p, &first))
			return -EINVAL;
		last = first;
		if (*p == '-' && (p++, parse_number(&p, &last)))
			return -EINVAL;
		if (last < first || (used && first <= cpus[used - 1]))
			return -EINVAL;
		larger = reallocarray(cpus, used + (last - first) + 1, sizeof(*cpus));
		if (!larger)
			return -ENOMEM;
		cpus = larger;
		for (unsigned cpu = first; cpu <= last; cpu++)
			cpus[used++] = cpu;
		if (*p != ',')
			break;
		p++;
	}
	if (*p != '\0' && *p != '\n')
		return -EINVAL;
	*out = TAKE_PTR(cpus);
	*count = used;
	return 0;
}

int cpus_online(unsigned **out, size_t *count)
{
	_cleanup_fclose_ FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	if (!file)
		return -errno;
	if (getline(&line, &size, file) < 0)
		return -EIO;
	return cpus_parse(line, out, count);
}
