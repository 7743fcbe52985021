// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The simplest leak there is: one string, lost when main returns. Where main kept it, what ends the
 * process may leave the address standing: how much room main takes (FRAME bytes), how it is
 * optimised and how it is linked decide that. With an argument main calls exit() instead, and holds
 * the string until then.
 */
#include <stdlib.h>
#include <string.h>

int main(int argc, char *argv[])
{
	volatile char frame[FRAME];
	char *string = strdup(argv[0]);

	frame[0] = (char)argc;
	if (!string)
		return 1;
	string[0] = frame[0];
	if (argc > 1) {
		char *volatile held = string;

		exit(held != string);
	}
	return 0;
}
