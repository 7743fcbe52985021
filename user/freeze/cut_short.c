// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/freeze/cut_short.h"

#include <sys/syscall.h>

#include "user/base/util.h"

static const uint16_t cut_short[] = {
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#endif
	SYS_epoll_pwait,    SYS_epoll_pwait2, SYS_semop,   SYS_semtimedop,   SYS_rt_sigtimedwait,
	SYS_accept,	    SYS_accept4,      SYS_connect, SYS_recvfrom,     SYS_recvmsg,
	SYS_recvmmsg,	    SYS_sendto,	      SYS_sendmsg, SYS_sendmmsg,     SYS_read,
	SYS_readv,	    SYS_write,	      SYS_writev,  SYS_io_getevents, SYS_io_pgetevents,
	SYS_io_uring_enter,
};

const uint16_t *cut_short_calls(size_t *count)
{
	*count = ARRAY_SIZE(cut_short);
	return cut_short;
}
