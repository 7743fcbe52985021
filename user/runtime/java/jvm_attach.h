/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Has a JVM write a perf map, as `jcmd PID Compiler.perfmap` does (JDK 17 and later), by HotSpot's attach protocol:
 * src/hotspot/os/posix/attachListener_posix.cpp. It wakes a thread of the target, and lets it write a file.
 */
#ifndef MEMLEAKBPF_RUNTIME_JVM_ATTACH_H
#define MEMLEAKBPF_RUNTIME_JVM_ATTACH_H

#include <sys/types.h>

#include "user/base/reason.h"

struct jvm_asking {
	unsigned listen_ms; /* how long the JVM may take to listen, */
	unsigned answer_ms; /* and then to answer */
};

/*
 * To be called in a process of its own, which becomes the target's user for good. It does nothing
 * that the target could not do itself. It sends SIGQUIT only to a process with a handler for it,
 * since that signal ends others. 0, or -errno with the reason.
 */
int jvm_ask_perfmap(pid_t pid, const struct jvm_asking *asking, char reason[static REASON_MAX]);

#endif
