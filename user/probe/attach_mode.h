/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ways in which probes come to functions. */
#ifndef MEMLEAKBPF_PROBE_ATTACH_MODE_H
#define MEMLEAKBPF_PROBE_ATTACH_MODE_H

enum attach_mode {
	ATTACH_SESSION, /* kernel >= 6.13 */
	ATTACH_MULTI,	/* kernel >= 6.6; its pid filter is right from 6.10 */
	ATTACH_SINGLE,
	ATTACH_MODES,
	/* Where one is asked for: */
	ATTACH_AUTO = ATTACH_MODES, /* the best that works */
	ATTACH_USDT,		    /* nothing but probes by which targets tell their allocations */
	ATTACH_GATE,		    /* no probes for allocators, which have a gate (user/gate) */
};

/* "session", "multi", "single", "auto", "usdt", "gate" */
const char *attach_mode_name(enum attach_mode mode);

#endif
