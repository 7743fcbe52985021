/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How many elements an array by enum lost_cause has: more than there are causes. So a header with such
 * an array needs no enumeration, and a new cause does not rebuild who includes the header.
 */
#ifndef MEMLEAKBPF_MODEL_LOSS_ROOM_H
#define MEMLEAKBPF_MODEL_LOSS_ROOM_H

#define LOSSES_ROOM 32

#endif
