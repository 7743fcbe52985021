// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/base/reason.h"

#include <stdarg.h>
#include <stdio.h>

int refuse(char reason[static REASON_MAX], int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, REASON_MAX, fmt, args);
	va_end(args);
	return err;
}
