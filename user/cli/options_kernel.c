// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The check of `kernel`: what does not go together, and its struct. */
#include <errno.h>

#include "user/base/log.h"
#include "user/cli/options.h"
#include "user/cli/options_names.h"

int options_check_kernel(struct options *options)
{
	struct option_values *values = &options->values;
	const struct exporter_format *format = values->show.format;
	const bool of_processes = values->pids.count || values->names.count;
	const bool of_groups =
		values->scope.cgroup || values->scope.container || values->scope.unit;
	char names[EXPORT_NAMES_MAX];

	if (!export_can(format, EXPORT_KERNEL)) {
		log_error("-f: '%s' is not a format of kernel; give one of %s", format->name,
			  export_names(names, EXPORT_KERNEL, ", "));
		return -EINVAL;
	}
	if ((values->kernel.at_once || of_processes || of_groups) && !values->probes.wanted) {
		log_error("--no-drill: excludes %s, which needs probes; give only one of them",
			  of_processes		   ? "-p"
			  : values->kernel.at_once ? "--probe"
						   : "a control group");
		return -EINVAL;
	}
	if (values->names.count && options_find_named(values))
		return -EINVAL;
	/* A sample of one byte is every block. */
	if (values->sample_bytes == 1)
		values->sample_bytes = 0;
	/* Every block costs what it costs. */
	if (!values->sample_bytes && !OPTION_GIVEN(options, probes.budget))
		values->probes.budget = 0;
	options->config.kernel = (struct kmem_config){
		.pace = values->pace,
		.pids = values->pids,
		.select = {.cgroup = values->scope.cgroup,
			   .container = values->scope.container,
			   .unit = values->scope.unit},
		.drill = values->probes.wanted,
		.sample_bytes = values->sample_bytes,
		.budget = values->probes.budget,
		.probes = values->kernel,
		.error_exitcode = values->error_exitcode,
		.show = values->show,
	};
	/* What a process leaves behind is nothing that a survey sees. */
	options->config.kernel.probes.at_once |= of_processes || of_groups;
	return 0;
}
