// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/base/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/base/clock.h"

#define MAX_FRACTION 9 /* digits after the point: a nanosecond of a second */

struct unit {
	const char *suffix;
	uint64_t factor;
};

/*
 * Reads digits at *text and moves it behind them. strtoull(3) is no good here: it takes blanks,
 * signs and, with a minus sign, wraps around silently.
 */
static int read_digits(const char **text, uint64_t *value)
{
	const char *c = *text;
	uint64_t v = 0;

	if (*c < '0' || *c > '9')
		return -EINVAL;
	for (; *c >= '0' && *c <= '9'; c++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*c - '0'), &v))
			return -EINVAL;
	}
	*text = c;
	*value = v;
	return 0;
}

static const struct unit *find_unit(const struct unit *units, size_t count, const char *suffix)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(units[i].suffix, suffix))
			return &units[i];
	}
	return NULL;
}

int parse_duration(const char *text, uint64_t *ns)
{
	static const struct unit units[] = {
		{"", NS_PER_S},	   {"ms", NS_PER_MS},  {"s", NS_PER_S},
		{"m", NS_PER_MIN}, {"h", NS_PER_HOUR},
	};
	const struct unit *unit;
	uint64_t whole, fraction = 0, scale = 1, total;

	if (read_digits(&text, &whole))
		return -EINVAL;
	if (*text == '.') {
		const char *digits = ++text;

		if (read_digits(&text, &fraction) || text - digits > MAX_FRACTION)
			return -EINVAL;
		for (; digits < text; digits++)
			scale *= 10;
	}
	unit = find_unit(units, sizeof(units) / sizeof(units[0]), text);
	if (!unit || __builtin_mul_overflow(whole, unit->factor, &total))
		return -EINVAL;
	/* In 128 bits: fraction < 10^9 and factor < 2^42 together need more than 64. */
	fraction = (uint64_t)((unsigned __int128)fraction * unit->factor / scale);
	if (__builtin_add_overflow(total, fraction, &total) || !total)
		return -EINVAL;
	*ns = total;
	return 0;
}

int parse_size(const char *text, uint64_t *bytes)
{
	static const char letters[] = "kmgt";
	uint64_t value, shift = 0;

	if (read_digits(&text, &value))
		return -EINVAL;
	if (*text) {
		/* | 0x20: lower case of an ASCII letter; other characters do not become one of ours
		 * except by being its upper case. */
		const char *letter = strchr(letters, *text | 0x20);

		if (!letter || !*letter)
			return -EINVAL;
		shift = 10 * (uint64_t)(letter - letters + 1);
		text++;
		if (*text && strcmp(text, "B") != 0 && strcmp(text, "iB") != 0)
			return -EINVAL;
	}
	if (value > UINT64_MAX >> shift)
		return -EINVAL;
	*bytes = value << shift;
	return 0;
}

int parse_date(const char *text, uint64_t *ns)
{
	struct tm tm = {.tm_isdst = -1};
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	time_t seconds;

	if (!end || (*end != 'T' && *end != ' '))
		return -EINVAL;
	end = strptime(end + 1, "%H:%M:%S", &tm);
	if (!end || (*end && strcmp(end, "Z") != 0))
		return -EINVAL;
	seconds = *end ? timegm(&tm) : mktime(&tm);
	if (seconds < 0)
		return -EINVAL;
	*ns = (uint64_t)seconds * NS_PER_S;
	return 0;
}

int parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *count)
{
	uint64_t value;

	if (read_digits(&text, &value) || *text || value < min || value > max)
		return -EINVAL;
	*count = value;
	return 0;
}

static int add_pid(pid_t pid, pid_t **pids, size_t *count)
{
	pid_t *grown;

	for (size_t i = 0; i < *count; i++) {
		if ((*pids)[i] == pid)
			return 0;
	}
	grown = reallocarray(*pids, *count + 1, sizeof(**pids));
	if (!grown)
		return -ENOMEM;
	grown[(*count)++] = pid;
	*pids = grown;
	return 0;
}

int parse_pids(const char *text, pid_t **pids, size_t *count)
{
	for (;;) {
		uint64_t value;
		int err;

		if (read_digits(&text, &value) || !value || value > INT_MAX)
			return -EINVAL;
		if (*text && *text != ',')
			return -EINVAL;
		err = add_pid((pid_t)value, pids, count);
		if (err)
			return err;
		if (!*text)
			return 0;
		text++;
	}
}

char *format_bytes(char buf[static FORMAT_BYTES_MAX], uint64_t bytes)
{
	static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(buf, FORMAT_BYTES_MAX, "%" PRIu64 " B", bytes);
		return buf;
	}
	/* 1023.95 would print as "1024.0 KiB". */
	while (value >= 1023.95 && unit + 1 < sizeof(names) / sizeof(names[0])) {
		value /= 1024;
		unit++;
	}
	snprintf(buf, FORMAT_BYTES_MAX, "%.1f %s", value, names[unit]);
	return buf;
}

char *format_bytes_signed(char buf[static FORMAT_BYTES_MAX], int64_t bytes)
{
	char amount[FORMAT_BYTES_MAX];
	/* -INT64_MIN does not fit an int64_t. */
	uint64_t magnitude = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;
	const char *sign = bytes < 0 ? "-" : bytes > 0 ? "+" : "";

	snprintf(buf, FORMAT_BYTES_MAX, "%s%.*s", sign, FORMAT_BYTES_MAX - 2,
		 format_bytes(amount, magnitude));
	return buf;
}

char *format_bytes_short(char buf[static FORMAT_BYTES_MAX], double bytes)
{
	static const char units[] = {'\0', 'K', 'M', 'G', 'T', 'P', 'E'};
	size_t unit = 0;

	while (bytes >= 1024 && unit + 1 < sizeof(units)) {
		bytes /= 1024;
		unit++;
	}
	snprintf(buf, FORMAT_BYTES_MAX, "%.*f%c", unit && bytes < 99.95, bytes, units[unit]);
	return buf;
}

char *format_bytes_short_signed(char buf[static FORMAT_BYTES_MAX], double bytes)
{
	char amount[FORMAT_BYTES_MAX];

	if (fabs(bytes) < 1)
		snprintf(buf, FORMAT_BYTES_MAX, "0");
	else
		snprintf(buf, FORMAT_BYTES_MAX, "%c%.*s", bytes < 0 ? '-' : '+',
			 FORMAT_BYTES_MAX - 2, format_bytes_short(amount, fabs(bytes)));
	return buf;
}

char *format_duration(char buf[static FORMAT_DURATION_MAX], uint64_t ns)
{
	uint64_t seconds = ns / NS_PER_S;

	if (ns < NS_PER_S)
		snprintf(buf, FORMAT_DURATION_MAX, "%" PRIu64 " ms", ns / NS_PER_MS);
	else if (ns < 10 * NS_PER_S)
		snprintf(buf, FORMAT_DURATION_MAX, "%" PRIu64 ".%" PRIu64 " s", seconds,
			 (uint64_t)(ns / (NS_PER_S / 10) % 10));
	else if (ns < NS_PER_MIN)
		snprintf(buf, FORMAT_DURATION_MAX, "%" PRIu64 " s", seconds);
	else if (ns < NS_PER_HOUR)
		snprintf(buf, FORMAT_DURATION_MAX, "%" PRIu64 "m%02" PRIu64 "s", seconds / 60,
			 seconds % 60);
	else if (ns < NS_PER_DAY)
		snprintf(buf, FORMAT_DURATION_MAX, "%" PRIu64 "h%02" PRIu64 "m", seconds / 3600,
			 seconds / 60 % 60);
	else
		snprintf(buf, FORMAT_DURATION_MAX, "%" PRIu64 "d%02" PRIu64 "h", seconds / 86400,
			 seconds / 3600 % 24);
	return buf;
}

char *format_grouped(char buf[static FORMAT_GROUPED_MAX], uint64_t value)
{
	char digits[FORMAT_GROUPED_MAX];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, value);
	char *out = buf;

	/* By hand: printf's ' flag follows the locale, and output must not. */
	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return buf;
}

char *format_hex(char *buf, size_t size, const uint8_t *bytes, size_t len)
{
	*buf = '\0';
	for (size_t i = 0; i < len && 2 * i + 2 < size; i++)
		snprintf(buf + 2 * i, 3, "%02x", bytes[i]);
	return buf;
}
