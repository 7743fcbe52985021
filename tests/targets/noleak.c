// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Allocates and frees everything, then ends at once. Usage: noleak [STATUS] */
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (size_t i = 1; i < 1000; i++) {
		void *volatile p = malloc(i * 10);

		free(p);
	}
	_exit(argc > 1 ? atoi(argv[1]) : 0);
}
