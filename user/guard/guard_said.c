// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An array of BPF's has no path, so the process gets it by a message (SCM_RIGHTS) that it takes from
 * a socket of its own. We get that socket from it (pidfd_getfd(2)). We bind it to a name that the
 * kernel chooses, and connect it to itself, so it hears what we send by it.
 */
#include "user/guard/guard_said.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/guard/guard_layout.h"

/* Newer than some libcs' headers, and the same on all machines. */
#define NR_PIDFD_OPEN  434
#define NR_PIDFD_GETFD 438

/* What the process's recvmsg(2) gets, in the scratch. */
struct said_message {
	struct msghdr header;
	struct iovec part;
	uint64_t byte;
	_Alignas(8) char control[CMSG_SPACE(sizeof(int))];
};
_Static_assert(sizeof(struct said_message) <= REMOTE_SCRATCH, "fits into the scratch");

/* Ours of the process's descriptor, or -errno. */
static int said_take(pid_t pid, long number)
{
	_cleanup_close_ int process = (int)syscall(NR_PIDFD_OPEN, pid, 0);
	int socket = process < 0 ? -1 : (int)syscall(NR_PIDFD_GETFD, process, (int)number, 0);

	return socket < 0 ? -errno : socket;
}

static bool said_has_option(int socket, int option, int wanted)
{
	int value = 0;
	socklen_t size = sizeof(value);

	return !getsockopt(socket, SOL_SOCKET, option, &value, &size) && value == wanted;
}

/*
 * Another thread may have put another socket in its place, and we must not speak to whomever that
 * leads to. A new one has neither name nor peer.
 */
static bool said_is_new(int socket)
{
	struct sockaddr_un name = {0};
	socklen_t size = sizeof(name), peer_size = sizeof(name);

	return said_has_option(socket, SO_DOMAIN, AF_UNIX) &&
	       said_has_option(socket, SO_TYPE, SOCK_DGRAM) &&
	       getpeername(socket, (struct sockaddr *)&name, &peer_size) && errno == ENOTCONN &&
	       !getsockname(socket, (struct sockaddr *)&name, &size) && size == sizeof(sa_family_t);
}

static int said_connect(int socket)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	socklen_t size = sizeof(name);

	if (!said_is_new(socket))
		return -EBUSY;
	if (bind(socket, (struct sockaddr *)&name, sizeof(sa_family_t)) ||
	    getsockname(socket, (struct sockaddr *)&name, &size) ||
	    connect(socket, (struct sockaddr *)&name, size))
		return -errno;
	return 0;
}

static int said_send(int socket, int file)
{
	struct said_message message = {.byte = 0};
	struct cmsghdr *control;

	message.part = (struct iovec){&message.byte, 1};
	message.header = (struct msghdr){.msg_iov = &message.part,
					 .msg_iovlen = 1,
					 .msg_control = message.control,
					 .msg_controllen = sizeof(message.control)};
	control = CMSG_FIRSTHDR(&message.header);
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(sizeof(file));
	memcpy(CMSG_DATA(control), &file, sizeof(file));
	return sendmsg(socket, &message.header, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

/* The process takes the message. 0 and its number of the descriptor. */
static int said_receive(struct remote *remote, const struct guard_said *where, long socket,
			int *number, char reason[static REASON_MAX])
{
	const uint64_t at = remote_scratch(remote);
	const uint64_t arguments[CALL_ARGUMENTS] = {(uint64_t)socket, at,
						    MSG_DONTWAIT | MSG_CMSG_CLOEXEC};
	struct said_message message = {.byte = 0};
	struct cmsghdr control;
	long result;
	int err;

	message.part =
		(struct iovec){(void *)(uintptr_t)(at + offsetof(struct said_message, byte)), 1};
	message.header = (struct msghdr){
		.msg_iov = (void *)(uintptr_t)(at + offsetof(struct said_message, part)),
		.msg_iovlen = 1,
		.msg_control = (void *)(uintptr_t)(at + offsetof(struct said_message, control)),
		.msg_controllen = sizeof(message.control)};
	err = remote_write(remote, &message, sizeof(message), reason);
	err = err
		      ?: remote_call_must(remote, "take a descriptor", SYS_recvmsg, arguments,
					  &result, reason);
	if (!err && program_memory_read(where->program, at, &message, sizeof(message)))
		err = refuse(reason, -ESRCH, "its memory cannot be read");
	if (err)
		return err;
	memcpy(&control, message.control, sizeof(control));
	if (message.header.msg_controllen < CMSG_LEN(sizeof(*number)) ||
	    control.cmsg_level != SOL_SOCKET || control.cmsg_type != SCM_RIGHTS)
		return refuse(reason, -EACCES, "it was given no descriptor");
	memcpy(number, message.control + CMSG_LEN(0), sizeof(*number));
	return 0;
}

static void said_close(struct remote *remote, long number)
{
	const uint64_t arguments[CALL_ARGUMENTS] = {(uint64_t)number};
	char unused[REASON_MAX];
	long result;

	if (number >= 0)
		remote_call(remote, SYS_close, arguments, &result, unused);
}

static int said_map(struct remote *remote, uint64_t address, int number,
		    char reason[static REASON_MAX])
{
	const uint64_t arguments[CALL_ARGUMENTS] = {
		address, GUARD_SAID_SIZE, PROT_READ, MAP_SHARED | MAP_FIXED, (uint64_t)number, 0};
	long result;

	return remote_call_must(remote, "map an array of BPF's", SYS_mmap, arguments, &result,
				reason);
}

int guard_said_map(struct remote *remote, const struct guard_said *where, int file,
		   char reason[static REASON_MAX])
{
	const uint64_t arguments[CALL_ARGUMENTS] = {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0};
	_cleanup_close_ int ours = -1;
	long socket = -1;
	int number = -1;
	int err = remote_call_must(remote, "make a socket", SYS_socket, arguments, &socket, reason);

	if (err)
		return err;
	ours = said_take(where->pid, socket);
	err = ours < 0 ? ours : said_connect(ours);
	err = err ?: said_send(ours, file);
	if (err)
		refuse(reason, err, "it can be given no descriptor: %s", strerror(-err));
	err = err ?: said_receive(remote, where, socket, &number, reason);
	err = err ?: said_map(remote, where->address, number, reason);
	said_close(remote, number);
	said_close(remote, socket);
	return err;
}
