/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Capabilities: which are missing, and giving up those that are no longer needed (capabilities(7)).
 */
#ifndef MEMLEAKBPF_KERNEL_PRIVILEGE_H
#define MEMLEAKBPF_KERNEL_PRIVILEGE_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Newer than some libcs' headers; linux/capability.h of 5.8 and 5.9. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF	    39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

#define PRIVILEGE_TEXT_MAX 64

/*
 * Names those of CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE that we lack: "CAP_BPF and CAP_PERFMON";
 * "" when none. Returns text.
 */
const char *privilege_missing(char text[static PRIVILEGE_TEXT_MAX]);

/* Have we CAP_SYS_PTRACE? */
bool privilege_ptrace(void);

/* Have we CAP_SYS_ADMIN? */
bool privilege_admin(void);

/*
 * Gives up for good, in all sets, the capabilities that tracing does not need once it has begun.
 * These stay, if they were there: CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH,
 * CAP_CHECKPOINT_RESTORE, CAP_SYS_RESOURCE, CAP_KILL, and CAP_SYS_NICE (user/freeze/stop.h).
 * CAP_SYS_ADMIN stays when `admin` is true, or when it alone allows tracing (before Linux 5.9).
 * With `files`, root keeps CAP_DAC_OVERRIDE, in force only in privilege_as_caller(). Also sets
 * no_new_privs. 0 or -errno, not logged; then nothing may have changed.
 */
int privilege_drop(bool admin, bool files);
/*
 * The same for a tool that traces nothing and only looks into processes: CAP_BPF and CAP_PERFMON go
 * as well.
 */
int privilege_drop_tracing(void);

/*
 * For opening a file that the caller has named. Until privilege_back() the calling thread opens
 * files by the caller's own rights. It does without the capabilities that are there to look into
 * targets' files (setcap on the program). Root is root, with the capability that privilege_drop()
 * has kept for this. Pass the result to privilege_back().
 */
uint64_t privilege_as_caller(void);
void privilege_back(uint64_t lent);

/*
 * Gives up every capability of the calling thread alone. capabilities(7) belong to threads: one
 * that starts before privilege_drop() keeps what there was. 0 or -errno, not logged.
 */
int privilege_drop_thread(void);

#endif
