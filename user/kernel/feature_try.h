/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The trials behind user/kernel/feature.h; internal to it. */
#ifndef MEMLEAKBPF_KERNEL_FEATURE_TRY_H
#define MEMLEAKBPF_KERNEL_FEATURE_TRY_H

/*
 * Each returns 0, or -errno with *step naming the step that failed: a static string. -ENODATA: the
 * kernel accepted the feature, and it did not work.
 */
int feature_try_btf(const char **step);
int feature_try_bpf(const char **step);
int feature_try_ringbuf(const char **step);
int feature_try_thread_iterator(const char **step);
int feature_try_task_events(const char **step);
int feature_try_find_vma(const char **step);
int feature_try_loop(const char **step);
int feature_try_tail_call(const char **step);
int feature_try_read_kernel(const char **step);
int feature_try_task_storage(const char **step);
int feature_try_task_work(const char **step);
int feature_try_uprobe(const char **step);
int feature_try_uprobe_cookie(const char **step);
int feature_try_uprobe_sleeps(const char **step);
int feature_try_uprobe_multi(const char **step);
int feature_try_uprobe_multi_pid(const char **step);
int feature_try_uprobe_session(const char **step);

#endif
