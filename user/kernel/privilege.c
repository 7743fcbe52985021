// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/privilege.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/base/util.h"

#define MASK(capability) (UINT64_C(1) << (capability))

#define KEPT_TO_TRACE (MASK(CAP_BPF) | MASK(CAP_PERFMON))
#define KEPT_TO_LOOK                                                                       \
	(MASK(CAP_SYS_PTRACE) | MASK(CAP_DAC_READ_SEARCH) | MASK(CAP_CHECKPOINT_RESTORE) | \
	 MASK(CAP_KILL) | MASK(CAP_SYS_RESOURCE) | MASK(CAP_SYS_NICE))

static int privilege_get(uint64_t *permitted, uint64_t *effective)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data))
		return -errno;
	*permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	*effective = data[0].effective | (uint64_t)data[1].effective << 32;
	return 0;
}

static int privilege_set(uint64_t permitted, uint64_t effective)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{.permitted = (uint32_t)permitted, .effective = (uint32_t)effective},
		{.permitted = (uint32_t)(permitted >> 32),
		 .effective = (uint32_t)(effective >> 32)},
	};

	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

const char *privilege_missing(char text[static PRIVILEGE_TEXT_MAX])
{
	static const struct {
		int number;
		const char *name;
	} needed[] = {{CAP_BPF, "CAP_BPF"},
		      {CAP_PERFMON, "CAP_PERFMON"},
		      {CAP_SYS_PTRACE, "CAP_SYS_PTRACE"}};
	uint64_t permitted, effective;
	size_t used = 0;

	text[0] = '\0';
	if (privilege_get(&permitted, &effective))
		return text;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		/* CAP_SYS_ADMIN stands for the two that were split off from it. */
		bool admin = needed[i].number != CAP_SYS_PTRACE && effective & MASK(CAP_SYS_ADMIN);

		if (admin || effective & MASK(needed[i].number))
			continue;
		used += (size_t)snprintf(text + used, PRIVILEGE_TEXT_MAX - used, "%s%s",
					 used ? " and " : "", needed[i].name);
	}
	return text;
}

bool privilege_ptrace(void)
{
	uint64_t permitted, effective = 0;

	return !privilege_get(&permitted, &effective) && effective & MASK(CAP_SYS_PTRACE);
}

bool privilege_admin(void)
{
	uint64_t permitted, effective = 0;

	return !privilege_get(&permitted, &effective) && effective & MASK(CAP_SYS_ADMIN);
}

uint64_t privilege_as_caller(void)
{
	const uint64_t over_files = MASK(CAP_DAC_READ_SEARCH) | MASK(CAP_DAC_OVERRIDE);
	uint64_t permitted, effective, changed;

	if (privilege_get(&permitted, &effective))
		return 0;
	changed = geteuid() ? effective & over_files
			    : permitted & ~effective & MASK(CAP_DAC_OVERRIDE);
	return changed && !privilege_set(permitted, effective ^ changed) ? changed : 0;
}

void privilege_back(uint64_t lent)
{
	uint64_t permitted, effective;

	if (lent && !privilege_get(&permitted, &effective))
		privilege_set(permitted, effective ^ lent);
}

int privilege_drop_thread(void)
{
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return privilege_set(0, 0);
}

/* CAP_SYS_ADMIN stays with `admin`, and where it stands for a kept one. */
static int privilege_drop_but(uint64_t kept, uint64_t lent, bool admin)
{
	const uint64_t new = MASK(CAP_BPF) | MASK(CAP_PERFMON) | MASK(CAP_CHECKPOINT_RESTORE);
	uint64_t permitted, effective;
	int err = privilege_get(&permitted, &effective);

	if (err)
		return err;
	if (admin || kept & new & ~permitted)
		kept |= MASK(CAP_SYS_ADMIN);
	/*
	 * A program that we might be made to run gets nothing back. Dropping needs CAP_SETPCAP,
	 * which goes last.
	 */
	for (int capability = 0; capability < 64; capability++) {
		if (!(kept & MASK(capability)) && permitted & MASK(CAP_SETPCAP))
			prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return privilege_set(permitted & (kept | lent), effective & kept);
}

int privilege_drop(bool admin, bool files)
{
	return privilege_drop_but(KEPT_TO_TRACE | KEPT_TO_LOOK,
				  files && !geteuid() ? MASK(CAP_DAC_OVERRIDE) : 0, admin);
}

int privilege_drop_tracing(void)
{
	return privilege_drop_but(KEPT_TO_LOOK, 0, false);
}
