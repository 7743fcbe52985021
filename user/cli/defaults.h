/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Options' defaults from files: /etc/memleakbpf/config, then memleakbpf/config in XDG_CONFIG_HOME or
 * ~/.config. A line is an option's long name and its value ("top = 20"), "#" begins a comment.
 */
#ifndef MEMLEAKBPF_CLI_DEFAULTS_H
#define MEMLEAKBPF_CLI_DEFAULTS_H

#include "user/cli/options.h"

/*
 * Applies the files to the options of a subcommand, before argv; skips options that the subcommand
 * does not take. Does not read a file that others may write to, or that is another user's (logged).
 * 0, or -EINVAL, logged with file and line; -ENOMEM.
 */
int defaults_read(struct options *options);

#endif
