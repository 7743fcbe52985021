// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kmem/kmem_select.h"

#include "user/process/cgroup.h"
#include "user/process/container_name.h"

bool kmem_selects(const struct select_config *select)
{
	return select->cgroup || select->container || select->unit;
}

static bool kmem_select_container(const struct cgroup *cgroup, const char *wanted)
{
	struct container_name name = {0};

	if (!*cgroup->container)
		return false;
	container_name_find("", cgroup->container, &name);
	return cgroup_in_container(cgroup, name.name, wanted);
}

bool kmem_selects_group(const struct select_config *select, const char *path)
{
	struct cgroup cgroup = {0};

	if (!kmem_selects(select))
		return true;
	if (!path)
		return false;
	cgroup_name_path(path, &cgroup);
	return (!select->cgroup || cgroup_is_below(path, select->cgroup)) &&
	       (!select->container || kmem_select_container(&cgroup, select->container)) &&
	       (!select->unit || cgroup_in_unit(&cgroup, select->unit));
}
