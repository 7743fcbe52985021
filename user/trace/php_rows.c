// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/php/php_rows.h"

#include <stdlib.h>

#include <bpf/bpf.h>

#include "user/base/util.h"
#include "user/trace/runtime_rows.h"
#include "user/trace/skeleton.h"
#include "user/runtime/php/target_php.h"

static void php_rows_end(struct trace *trace, struct target *target)
{
	target_php_free(target->php);
	target->php = NULL;
	php_rows_drop(trace, target->id);
}

static int php_rows_enter(struct trace *trace, const struct runtime_language *language,
			  struct target *target, char reason[static REASON_MAX])
{
	struct target_php *php = target->php;
	int err = php_find(php->mapped.object, &php->runtime, reason);
	struct php_row row = php->runtime.row;

	php->mapped.version = php->runtime.version;
	if (err)
		return err;
	row.current += php->mapped.bias;
	row.code = php->mapped.start;
	row.code_end = php->mapped.end;
	return runtime_rows_enter(trace, target, language, &php->mapped, trace->skel->maps.php_rows,
				  &row, reason);
}

static struct runtime_mapped *php_rows_begin(struct target *target)
{
	target->php = calloc(1, sizeof(*target->php));
	return target->php ? &target->php->mapped : NULL;
}

static const struct runtime_language php_language = {
	.runtime = RUNTIME_PHP,
	.name = "PHP",
	.flag = TARGET_PHP,
	.begin = php_rows_begin,
	.enter = php_rows_enter,
	.end = php_rows_end,
};

void php_rows_look(struct trace *trace, struct target *target)
{
	runtime_rows_look(trace, target, &php_language, target->php ? &target->php->mapped : NULL);
}

void php_rows_drop(struct trace *trace, uint32_t target_id)
{
	bpf_map_delete_elem(bpf_map__fd(trace->skel->maps.php_rows), &target_id);
}

void php_rows_failed(const struct trace *trace, const struct runtime_failed_event *event)
{
	static const char *const reasons[] = {
		[PHP_UNREADABLE] = "what a frame leads to is in no memory",
		[PHP_NO_CODE] = "what a frame runs is no function of PHP's",
		[PHP_NO_NAME] = "a function's name is no string",
	};

	runtime_rows_left_out(trace, php_language.name, event, reasons, ARRAY_SIZE(reasons));
}
