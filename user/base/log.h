/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages to the person at the terminal. Everything goes to standard error, prefixed "memleakbpf:
 * "; results never come through here. An error is logged once, where it arises, and travels upwards
 * as -errno.
 */
#ifndef MEMLEAKBPF_BASE_LOG_H
#define MEMLEAKBPF_BASE_LOG_H

enum log_level {
	LOG_ERROR,
	LOG_WARN,
	LOG_INFO,  /* what a user wants to know without asking: "attached to 42 (redis-server)" */
	LOG_DEBUG, /* -v */
	LOG_TRACE, /* -vv: libbpf's own messages too */
};

/* Sets the most verbose level that is printed; LOG_INFO at start. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

void log_msg(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Shows the progress of work that may take a second or more: a line on a terminal, and nowhere
 * else. The next message, the next progress or log_progress_end() erases it.
 */
void log_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_progress_end(void);

#define log_error(...) log_msg(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_msg(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_msg(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_msg(LOG_DEBUG, __VA_ARGS__)

/*
 * Logs an error and evaluates to the negative error number, for `return log_errno(err, "...")`.
 * err may be positive or negative; ": <strerror>" is appended to the message.
 */
int log_errno(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
