// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/runtime_events.h"

#include "user/trace/bad_accesses_read.h"
#include "user/trace/java_names.h"
#include "user/trace/java_rows.h"
#include "user/trace/perl_names.h"
#include "user/trace/perl_rows.h"
#include "user/trace/php_names.h"
#include "user/trace/php_rows.h"
#include "user/trace/python_names.h"
#include "user/trace/python_rows.h"
#include "user/trace/ruby_names.h"
#include "user/trace/ruby_rows.h"
#include "user/trace/runtime_chains.h"
#include "user/trace/v8_names.h"
#include "user/trace/v8_rows.h"
#include "user/trace/v8_stack.h"

void runtime_event_handle(struct trace *trace, const struct event_header *header)
{
	struct target *target = target_by_id(trace, header->target_id);

	/* What nobody would take away. */
	if (!target)
		return;
	switch (header->type) {
	case EVENT_PYTHON_CODE:
		python_names_add_code(trace->python, (const void *)header);
		break;
	case EVENT_HOTSPOT_CHAIN:
		if (target->java)
			java_names_read(trace, target, (const void *)header);
		runtime_chains_add(trace->chains, (const void *)header);
		break;
	case EVENT_RUNTIME_CHAIN:
		runtime_chains_add(trace->chains, (const void *)header);
		break;
	case EVENT_PYTHON_FAILED:
		python_rows_failed(trace, (const void *)header);
		break;
	case EVENT_HOTSPOT_FAILED:
		java_rows_failed(trace, (const void *)header);
		break;
	case EVENT_V8_FUNCTION:
		v8_names_add(trace, target, (const void *)header);
		break;
	case EVENT_V8_CODE:
		v8_stack_add(target, (const void *)header);
		break;
	case EVENT_V8_FAILED:
		v8_rows_failed(trace, (const void *)header);
		break;
	case EVENT_RUBY_CODE:
		ruby_names_add(trace, target, (const void *)header);
		break;
	case EVENT_RUBY_FAILED:
		ruby_rows_failed(trace, (const void *)header);
		break;
	case EVENT_PHP_CODE:
		php_names_add(trace, target, (const void *)header);
		break;
	case EVENT_PHP_FAILED:
		php_rows_failed(trace, (const void *)header);
		break;
	case EVENT_PERL_CODE:
		perl_names_add(trace, target, (const void *)header);
		break;
	case EVENT_PERL_FAILED:
		perl_rows_failed(trace, (const void *)header);
		break;
	case EVENT_GUARD_TOUCH:
		bad_accesses_touched(trace, target, (const void *)header);
		break;
	}
}
