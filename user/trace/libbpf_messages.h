/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_TRACE_LIBBPF_MESSAGES_H
#define MEMLEAKBPF_TRACE_LIBBPF_MESSAGES_H

/*
 * What libbpf has to say goes to the log from now on: its warnings with -v, the rest with -vv. What
 * a warning means for the user is for the caller of libbpf to say.
 */
void libbpf_messages_to_log(void);

#endif
