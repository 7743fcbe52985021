// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/probe/place.h"

#include <stdio.h>
#include <sys/utsname.h>

/* The running kernel; an unreadable version counts as one that emulates the least. */
static uint32_t place_running_kernel(void)
{
	unsigned major = 0, minor = 0;
	struct utsname uts;

	if (uname(&uts) || sscanf(uts.release, "%u.%u", &major, &minor) != 2)
		return PLACE_KERNEL(5, 10);
	return PLACE_KERNEL(major, minor);
}

void place_find(const struct place_request *request, struct place *out)
{
	struct place_request r = *request;

	if (!r.kernel)
		r.kernel = place_running_kernel();
#if defined(__x86_64__)
	place_find_x86_64(&r, out);
#elif defined(__aarch64__)
	place_find_aarch64(&r, out);
#else
#error "unsupported architecture"
#endif
}
