/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A target's CPython: what is known of it, and of its functions. Private to user/runtime/python. */
#ifndef MEMLEAKBPF_RUNTIME_TARGET_PYTHON_H
#define MEMLEAKBPF_RUNTIME_TARGET_PYTHON_H

#include "user/base/reason.h"
#include "user/runtime/python/cpython.h"
#include "user/runtime/python/python_names.h"

/* An object that is CPython. */
struct known_python {
	uint64_t object_id; /* the object itself may be gone, and come back under this id */
	struct python_runtime runtime;
	char refusal[REASON_MAX]; /* why its frames are not known; empty: they are */
	bool said;		  /* that they are not */
};

/* There as soon as something of it has come, be it a name before anybody has looked. */
struct target_python {
	struct known_python *known; /* of the interpreter that it maps; NULL: none */
	uint64_t bias;		    /* of that, over its link-time addresses */
	bool followed;		    /* the programs have its row */
	bool code_ends;		    /* it tells which of its code objects end */
	struct python_names names;
};

#endif
