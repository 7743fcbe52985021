/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A child that works each time that it is asked to, and answers when it has. */
#ifndef MEMLEAKBPF_TESTS_ASKED_CHILD_H
#define MEMLEAKBPF_TESTS_ASKED_CHILD_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
	pid_t pid;
	int asks, answers; /* descriptors */
};

/* `work` gets the byte that it was asked with, which is not 0, and ctx. */
static inline void child_begin(struct child *child, void (*work)(unsigned char byte, size_t ctx),
			       size_t ctx)
{
	int asks[2], answers[2];
	unsigned char byte;

	assert_int_equal(pipe(asks), 0);
	assert_int_equal(pipe(answers), 0);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (!child->pid) {
		close(asks[1]);
		close(answers[0]);
		while (read(asks[0], &byte, 1) == 1 && byte) {
			work(byte, ctx);
			if (write(answers[1], &byte, 1) != 1)
				break;
		}
		_exit(0);
	}
	close(asks[0]);
	close(answers[1]);
	child->asks = asks[1];
	child->answers = answers[0];
}

/* Returns when it has worked. 0: it ends. */
static inline void child_ask(const struct child *child, unsigned char byte)
{
	assert_int_equal(write(child->asks, &byte, 1), 1);
	if (byte)
		assert_int_equal(read(child->answers, &byte, 1), 1);
}

static inline void child_end(const struct child *child)
{
	close(child->asks);
	close(child->answers);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

#endif
