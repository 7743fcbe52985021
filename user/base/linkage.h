/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A static program (`make static`) does here itself what the usual program leaves to the libraries
 * of its machine. It can load no library and may run where no file of a C library is.
 */
#ifndef MEMLEAKBPF_BASE_LINKAGE_H
#define MEMLEAKBPF_BASE_LINKAGE_H

#include <stdbool.h>
#include <sys/types.h>

bool linkage_static(void);

/*
 * The lines, NULL at their end, say what this program cannot do because it is static. The usual
 * program has none.
 */
const char *const *linkage_lacks(void);

/*
 * Finds the user of that name or number; a number need not have a name. 0, or -ENOENT. A static
 * program knows only the names of /etc/passwd.
 */
int linkage_user(const char *name, uid_t *out);

/*
 * A clause for messages about an unknown user. It begins with "; ", or is "" where there is nothing
 * to add.
 */
const char *linkage_user_note(void);

/*
 * Sets TERMINFO to the program's own description of a terminal. False: it has none of that name, or
 * no memory. Changes the environment: main thread only, before other threads start.
 */
bool linkage_terminal(const char *name);

/*
 * Sets the locale of characters to the program's own C.UTF-8. This takes CAP_SYS_ADMIN and /proc.
 * False: the program has no such locale, or may not set it. Main thread only, as above.
 */
bool linkage_utf8(void);

#endif
