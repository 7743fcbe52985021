/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Cleanup attributes and the few helpers that every module wants. */
#ifndef MEMLEAKBPF_BASE_UTIL_H
#define MEMLEAKBPF_BASE_UTIL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define _cleanup_free_	 __attribute__((cleanup(cleanup_free)))
#define _cleanup_close_	 __attribute__((cleanup(cleanup_close)))
#define _cleanup_fclose_ __attribute__((cleanup(cleanup_fclose)))

/*
 * Makes an integer of a number that may be anything (from a recording, say). A number out of range
 * becomes the nearest integer, no number becomes 0.
 */
static inline uint64_t saturate_u64(double value)
{
	return value >= 0x1p64 ? UINT64_MAX : value > 0 ? (uint64_t)value : 0;
}

static inline int64_t saturate_i64(double value)
{
	if (value >= 0x1p63)
		return INT64_MAX;
	return value > -0x1p63 ? (int64_t)value : value <= -0x1p63 ? INT64_MIN : 0;
}

/* For qsort(3) of an array of uint64_t. */
static inline int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Closes a stream of open_memstream(). 0, or -ENOMEM when the text lacks a part of what was
 * written. The caller frees the text in both cases.
 */
static inline int close_memstream(FILE *stream)
{
	bool failed = ferror(stream) != 0;

	failed |= fclose(stream) != 0;
	return failed ? -ENOMEM : 0;
}

/*
 * Makes room for one more behind the `count` items of an array, which has room for `first` to begin
 * with and doubles as it grows. False when out of memory; the array is then as it was.
 */
#define RESERVE_ITEM(items, count, room, first)                                      \
	({                                                                           \
		bool fits_ = (count) < (room);                                       \
		if (!fits_) {                                                        \
			size_t more_ = (room) ? 2 * (room) : (first);                \
			void *grown_ = reallocarray(items, more_, sizeof(*(items))); \
			if (grown_) {                                                \
				(items) = grown_;                                    \
				(room) = more_;                                      \
			}                                                            \
			fits_ = grown_ != NULL;                                      \
		}                                                                    \
		fits_;                                                               \
	})

/*
 * Finds, by binary search, the first index in [first, end) at which `holds` is false; `end` if
 * there is none. `holds`, an expression of `index`, must be true before that index and false from
 * there on.
 */
#define BISECT(index, first, end, holds)                          \
	({                                                        \
		size_t low_ = (first), high_ = (end);             \
		while (low_ < high_) {                            \
			size_t index = low_ + (high_ - low_) / 2; \
			if (holds)                                \
				low_ = index + 1;                 \
			else                                      \
				high_ = index;                    \
		}                                                 \
		low_;                                             \
	})

/* Hands a pointer out of a scope that would otherwise free it. */
#define TAKE_PTR(p)                         \
	({                                  \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})

#define TAKE_FD(fd)                \
	({                         \
		int taken_ = (fd); \
		(fd) = -1;         \
		taken_;            \
	})

#endif
