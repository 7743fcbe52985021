/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What people are told of the languages that an object is the runtime of. */
#ifndef MEMLEAKBPF_RUNTIME_RUNTIME_DOCTOR_H
#define MEMLEAKBPF_RUNTIME_RUNTIME_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "user/target/image.h"

/* A line, without an end. */
#define RUNTIME_DOCTOR_TEXT 512

/*
 * What is to be said of the next language of the object, which the image maps: *at is 0 at first, and
 * moved on. False: there are no more.
 */
bool runtime_doctor(const struct image *image, struct object *object, size_t *at,
		    char text[static RUNTIME_DOCTOR_TEXT]);

#endif
