// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/serve/profiles_token.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "user/base/log.h"
#include "user/base/reason.h"
#include "user/base/util.h"
#include "user/kernel/caller_file.h"

static const char scheme[] = "Bearer ";

/* 0, or -errno with the reason. */
static int token_take(FILE *file, char *text, char reason[static REASON_MAX])
{
	struct stat st;
	size_t len;

	if (fstat(fileno(file), &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return refuse(reason, -EINVAL, "no regular file");
	if (st.st_mode & (S_IRWXO | S_IWGRP))
		return refuse(reason, -EPERM,
			      "others may read or change it; chmod 600, or 640 for a group");
	len = fread(text, 1, PROFILES_TOKEN_MAX + 2, file);
	if (ferror(file))
		return -EIO;
	text[len] = '\0';
	len = strcspn(text, "\n");
	if (text[len] && text[len + 1])
		return refuse(reason, -EINVAL, "more than one line");
	text[len] = '\0';
	for (size_t i = 0; i < len; i++) {
		if (text[i] <= ' ' || text[i] >= 0x7f)
			return refuse(reason, -EINVAL,
				      "a character that is not visible ASCII; give the output of "
				      "e.g. 'openssl rand -hex 32'");
	}
	if (len < PROFILES_TOKEN_MIN || len > PROFILES_TOKEN_MAX)
		return refuse(reason, -EINVAL,
			      "a token of %zu characters; give %d to %d, e.g. the output of "
			      "'openssl rand -hex 32'",
			      len, PROFILES_TOKEN_MIN, PROFILES_TOKEN_MAX);
	return 0;
}

int profiles_token_read(const char *path, char **out)
{
	char text[PROFILES_TOKEN_MAX + 3], reason[REASON_MAX] = "";
	_cleanup_fclose_ FILE *file = caller_file_open(path, "re");
	int err = file ? token_take(file, text, reason) : -errno;

	if (err) {
		log_error("--profiles-token: %s: %s", path, *reason ? reason : strerror(-err));
		return err;
	}
	*out = strdup(text);
	explicit_bzero(text, sizeof(text));
	return *out ? 0 : log_errno(ENOMEM, "--profiles-token");
}

bool profiles_token_is(const char *token, const char *authorization)
{
	const size_t len = strlen(token);
	size_t given_len;
	unsigned char differs;

	if (!authorization || strncasecmp(authorization, scheme, sizeof(scheme) - 1) != 0)
		return false;
	authorization += sizeof(scheme) - 1;
	authorization += strspn(authorization, " ");
	given_len = strlen(authorization);
	/* As many steps as what was given has characters, whatever they are. */
	differs = given_len != len;
	for (size_t i = 0; i < given_len; i++)
		differs |= (unsigned char)(authorization[i] ^ token[i % len]);
	return !differs;
}
