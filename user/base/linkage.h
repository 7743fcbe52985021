/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a static program (`make static`) has to do for itself, as it can load no library and may run where no file of
 * a C library is. The usual program leaves it to the libraries of its machine.
 */
#ifndef MEMLEAKBPF_BASE_LINKAGE_H
#define MEMLEAKBPF_BASE_LINKAGE_H

#include <stdbool.h>
#include <sys/types.h>

bool linkage_static(void);

/* What this program cannot do because it is static: lines that end with NULL. The usual program has none. */
const char *const *linkage_lacks(void);

/*
 * The user of that name, or of that number, which need not have a name. 0, or -ENOENT. A static program knows the
 * names of /etc/passwd only.
 */
int linkage_user(const char *name, uid_t *out);

/* What a message about an unknown user should add; "" where there is nothing to add. Begins with "; ". */
const char *linkage_user_note(void);

/*
 * Sets TERMINFO to the program's own description of a terminal. False: it has none of that name, or no memory.
 * Changes the environment: main thread only, before others are started.
 */
bool linkage_terminal(const char *name);

/*
 * Sets the locale of characters to the program's own C.UTF-8, which takes CAP_SYS_ADMIN and /proc. False: it has
 * none, or may not. Main thread only, as above.
 */
bool linkage_utf8(void);

#endif
