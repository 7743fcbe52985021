/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What follows each of RUNTIME_LANGUAGES, for who does something with all of them. */
#ifndef MEMLEAKBPF_BPF_RUNTIME_EACH_H
#define MEMLEAKBPF_BPF_RUNTIME_EACH_H

#include "bpf/runtime/java.h"
#include "bpf/runtime/perl.h"
#include "bpf/runtime/php.h"
#include "bpf/runtime/python.h"
#include "bpf/runtime/ruby.h"
#include "bpf/runtime/v8.h"

#endif
