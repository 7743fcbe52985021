/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers as people write them: durations, sizes, counts, lists of PIDs; and back to text. Parsers
 * take the whole text or nothing: 0 and *out set, or -EINVAL with *out untouched. -EINVAL: not a
 * number of this kind, or out of range. They log nothing: the caller knows which option the text
 * came from.
 */
#ifndef MEMLEAKBPF_BASE_PARSE_H
#define MEMLEAKBPF_BASE_PARSE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* "10" (seconds), "0.5", "500ms", "2s", "5m", "1h" to nanoseconds; more than zero. */
int parse_duration(const char *text, uint64_t *ns);

/*
 * "0", "4096", "64k", "1M", "1G", "1T", also "64KiB" and "64KB", to bytes; the units are powers of
 * 1024.
 */
int parse_size(const char *text, uint64_t *bytes);

/*
 * Parses "2026-01-02T03:04:05", or with a space instead of T: local time, UTC with a Z at the end.
 * To nanoseconds since the epoch.
 */
int parse_date(const char *text, uint64_t *ns);

/* Decimal digits only, min to max inclusive. */
int parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *count);

/*
 * "12" or "12,34": adds each PID that is not in (*pids)[0..*count) yet. *pids grows with realloc
 * and stays the caller's to free, whatever the result. -EINVAL or -ENOMEM; after an error the PIDs
 * already read stay in the list.
 */
int parse_pids(const char *text, pid_t **pids, size_t *count);

#define FORMAT_BYTES_MAX    32
#define FORMAT_DURATION_MAX 32
#define FORMAT_GROUPED_MAX  32

/* "0 B", "1023 B", "1.3 MiB": rounded to the nearest tenth. Returns buf. */
char *format_bytes(char buf[static FORMAT_BYTES_MAX], uint64_t bytes);

/* The same with a sign: "+1.3 MiB", "-12 B", "0 B". Returns buf. */
char *format_bytes_signed(char buf[static FORMAT_BYTES_MAX], int64_t bytes);

/* "512", "2.5K", "44M", "1.2G": at most five characters, as ps and top have them. Returns buf. */
char *format_bytes_short(char buf[static FORMAT_BYTES_MAX], double bytes);

/* "+44M", "-2.5K"; "0" for less than a byte. Returns buf. */
char *format_bytes_short_signed(char buf[static FORMAT_BYTES_MAX], double bytes);

/*
 * "12 ms", "1.3 s", "42 s", "2m05s", "3h07m", "4d02h": two units at most, rounded down. Returns
 * buf.
 */
char *format_duration(char buf[static FORMAT_DURATION_MAX], uint64_t ns);

/* An exact number that can be read: "1,234,567". Returns buf. */
char *format_grouped(char buf[static FORMAT_GROUPED_MAX], uint64_t value);

/*
 * Bytes as hexadecimal digits, "00ff": as many as fit into buf, whose size is 1 or more. `bytes` may
 * be NULL when len is 0. Returns buf.
 */
char *format_hex(char *buf, size_t size, const uint8_t *bytes, size_t len);

#endif
