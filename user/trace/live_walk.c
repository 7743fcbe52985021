// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/live_walk.h"

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>

int live_walk(struct trace *trace, struct bpf_program *program)
{
	union bpf_iter_link_info info = {.map.map_fd =
						 (uint32_t)bpf_map__fd(trace->skel->maps.live)};
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	struct bpf_link *link = bpf_program__attach_iter(program, &opts);
	char buffer[64];
	ssize_t n;
	int fd, err = 0;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0) {
		err = fd;
		goto out;
	}
	/*
	 * The programs print nothing; reading to the end is what runs them. The kernel may ask to
	 * be called again.
	 */
	do {
		n = read(fd, buffer, sizeof(buffer));
	} while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	err = n < 0 ? -errno : 0;
	close(fd);
out:
	bpf_link__destroy(link);
	return err;
}
