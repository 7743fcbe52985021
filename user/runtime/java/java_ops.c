// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/java/java_ops.h"

#include <stdio.h>

#include "user/base/util.h"
#include "user/runtime/java/hotspot.h"
#include "user/runtime/java/java_names.h"
#include "user/runtime/java/java_rows.h"
#include "user/runtime/java/target_java.h"

static void java_add_lost(const void *state, uint64_t lost[LOST_CAUSES])
{
	lost[LOST_JAVA] += ((const struct target_java *)state)->unnamed;
}

/* Which version it is, and whether it says all that is needed, is read once it is traced. */
static bool java_doctor(const struct image *image, struct object *object, enum runtime runtime,
			char text[static RUNTIME_DOCTOR_TEXT])
{
	struct hotspot_symbols symbols;

	(void)image;
	if (runtime != RUNTIME_JVM)
		return false;
	snprintf(text, RUNTIME_DOCTOR_TEXT, "Java: %s",
		 hotspot_find(object, &symbols)
			 ? "no frames of it: it does not export the tables of HotSpot"
			 : "stacks have its methods, with file and line (x86-64, Linux 5.15 and "
			   "later)");
	return true;
}

static void java_free(struct runtimes *runtimes, void *state)
{
	(void)runtimes;
	target_java_free(state);
}

static const char *const java_reasons[] = {
	[HOTSPOT_NO_BLOB] = "the JVM's table has no code there",
	[HOTSPOT_UNREADABLE] = "an interpreted frame's method is in no memory",
	[HOTSPOT_ELSEWHERE] = "an interpreted frame's bytecode is not its method's",
	[HOTSPOT_NO_FRAME] = "the JVM says no size of the frame that one can have",
};

const struct runtime_ops java_ops = {
	.runtime = RUNTIME_JVM,
	.name = "Java",
	.mark = "gHotSpotVMStructs",
	.failures = {java_reasons, ARRAY_SIZE(java_reasons)},
	.look = java_rows_look,
	.chain = java_names_read,
	.weave = java_names_weave,
	.unwoven = java_names_count,
	.add_lost = java_add_lost,
	.doctor = java_doctor,
	.free = java_free,
};
