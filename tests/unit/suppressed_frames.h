/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The stacks that the tests of suppressions match, and how they are taken. */
#ifndef MEMLEAKBPF_TESTS_UNIT_SUPPRESSED_FRAMES_H
#define MEMLEAKBPF_TESTS_UNIT_SUPPRESSED_FRAMES_H

#include "user/analysis/suppress.h"
#include "user/model/snapshot.h"

#define LIBC "/usr/lib/x86_64-linux-gnu/libc.so.6"

static const struct frame f_malloc = {
	.function = "malloc", .module = "libc.so.6", .module_path = LIBC};
static const struct frame f_new = {.function = "operator new(unsigned long)",
				   .symbol = "_Znwm",
				   .module = "libstdc++.so.6.0.30",
				   .module_path = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30"};
static const struct frame f_keep = {.function = "shop::Archive::keep(char const*)",
				    .symbol = "_ZN4shop7Archive4keepEPKc",
				    .module = "shop",
				    .module_path = "/srv/shop",
				    .file = "/src/shop/archive.cc",
				    .line = 42};
static const struct frame f_unknown = {
	.module = "libz.so.1", .module_path = "/opt/libz.so.1", .offset = 0x1234};
static const struct frame f_main = {.function = "main",
				    .module = "shop",
				    .module_path = "/srv/shop",
				    .file = "main.cc",
				    .line = 7};
static const struct frame f_start = {
	.function = "__libc_start_main", .module = "libc.so.6", .module_path = LIBC};

static const struct frame *const cxx[] = {&f_malloc,  &f_new,  &f_keep,
					  &f_unknown, &f_main, &f_start};
static const struct frame *const plain[] = {&f_malloc, &f_main, &f_start};

#endif
