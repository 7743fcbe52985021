// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/options_inspecting.h"

#include <errno.h>

#include "user/base/log.h"

/* The output must have a place for inspections, and these count blocks. */
int options_check_inspecting(const struct option_values *values)
{
	const struct exporter_format *format = values->show.format;
	char names[EXPORT_NAMES_MAX];

	if (!values->verdict.inspect && format->only_inspections) {
		log_error("-f %s: shows inspections alone; give --inspect, or see memleakbpf "
			  "inspect --help",
			  format->name);
		return -EINVAL;
	}
	if (!values->verdict.inspect)
		return 0;
	if (!export_can(format, EXPORT_INSPECTIONS)) {
		log_error("--inspect: -f %s has no place for it; give one of %s, or record",
			  format->name, export_names(names, EXPORT_INSPECTIONS, ", "));
		return -EINVAL;
	}
	if (values->trace.mmap) {
		log_error("--inspect: excludes --mmap, as it says of mappings itself which there "
			  "are; give "
			  "only one of them");
		return -EINVAL;
	}
	return 0;
}
