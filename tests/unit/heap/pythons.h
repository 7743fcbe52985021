/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which CPythons of the versions that we know are on this machine. Include after cmocka.h. */
#ifndef MEMLEAKBPF_TESTS_PYTHONS_H
#define MEMLEAKBPF_TESTS_PYTHONS_H

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define PYTHONS_MAX 16

/* All that are here of the versions that are known: python3, and what pyenv has. */
static inline size_t find_pythons(char pythons[PYTHONS_MAX][PATH_MAX])
{
	FILE *list = popen(
		"for p in python3 \"${PYENV_ROOT:-$HOME/.pyenv}\"/versions/3.*/bin/python3; do "
		"\"$p\" -c 'import sys, sysconfig; sys.exit(not (3, 8) <= "
		"sys.version_info < (3, 14) or "
		"bool(sysconfig.get_config_var(\"Py_GIL_DISABLED\")))' 2>/dev/null && "
		"echo \"$p\"; done",
		"r");
	size_t count = 0;

	assert_non_null(list);
	while (count < PYTHONS_MAX && fgets(pythons[count], PATH_MAX, list)) {
		pythons[count][strcspn(pythons[count], "\n")] = '\0';
		count++;
	}
	pclose(list);
	return count;
}

#endif
