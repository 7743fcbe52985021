// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Leaks and is gone, long before anyone could look. Usage: short [STATUS|-SIGNAL] */
#include <signal.h>

#include "truth.h"

SITE static void leak_short(void)
{
	truth_keep(THIS_SITE(), malloc(123), 123);
}

SITE static void leak_shorter(void)
{
	truth_keep(THIS_SITE(), calloc(2, 1000), 2000);
}

int main(int argc, char **argv)
{
	int how = argc > 1 ? atoi(argv[1]) : 0;

	for (int i = 0; i < 30; i++)
		leak_short();
	leak_shorter();
	truth_free(truth_keep(truth_site("main"), malloc(9), 9));
	truth_print("exit", "");
	if (how < 0)
		raise(-how);
	_exit(how);
}
