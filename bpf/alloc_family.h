/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Apart from kinds.h, so that a change there does not rebuild all that knows a misuse (user/model). */
#ifndef MEMLEAKBPF_BPF_ALLOC_FAMILY_H
#define MEMLEAKBPF_BPF_ALLOC_FAMILY_H

/* Which functions belong together: what one of a family allocates, one of the same family frees. */
enum alloc_family {
	FAMILY_ANY = 0, /* not known: fits all */
	FAMILY_MALLOC,
	FAMILY_NEW,
	FAMILY_NEW_ARRAY,
	FAMILIES,
};

#endif
