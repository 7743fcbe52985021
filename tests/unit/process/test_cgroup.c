// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Every form of path that container engines and systemd make. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/process/cgroup.h"

#define ID	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HALF_ID "0123456789abcdef0123456789abcdef"
#define UID	"1f2e3d4c-5b6a-4789-8abc-def012345678"
#define UID_	"1f2e3d4c_5b6a_4789_8abc_def012345678"

static const struct form {
	const char *path, *unit, *runtime, *container, *pod;
} forms[] = {
	{"/", "", "", "", ""},
	{"/docker/" ID, "", "docker", ID, ""},
	{"/docker/" ID "/init", "", "docker", ID, ""},
	{"/system.slice/docker-" ID ".scope", "", "docker", ID, ""},
	{"/system.slice/docker.service", "docker.service", "", "", ""},
	{"/kubepods/besteffort/pod" UID "/" ID, "", "", ID, UID},
	{"/kubepods/pod" UID "/" ID, "", "", ID, UID},
	{"/kubepods/burstable/pod" HALF_ID "/" ID, "", "", ID, HALF_ID},
	{"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	 ".slice/cri-containerd-" ID ".scope",
	 "", "containerd", ID, UID},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope", "", "containerd",
	 ID, UID},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/docker-" ID
	 ".scope",
	 "", "docker", ID, UID},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/crio-" ID
	 ".scope",
	 "", "cri-o", ID, UID},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/crio-" ID
	 ".scope/container",
	 "", "cri-o", ID, UID},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" ID ".scope",
	 "crio-conmon-" ID ".scope", "", "", UID},
	{"/kubepods/burstable/pod" UID "/crio-" ID, "", "cri-o", ID, UID},
	{"/system.slice/containerd.service/kubepods-besteffort-pod" UID_
	 ".slice:cri-containerd:" ID,
	 "containerd.service", "containerd", ID, UID},
	{"/cri-containerd-" ID, "", "containerd", ID, ""},
	{"/machine.slice/libpod-" ID ".scope", "", "podman", ID, ""},
	{"/machine.slice/libpod-" ID ".scope/container", "", "podman", ID, ""},
	{"/machine.slice/libpod-conmon-" ID ".scope", "libpod-conmon-" ID ".scope", "", "", ""},
	{"/libpod_parent/libpod-" ID, "", "podman", ID, ""},
	{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope",
	 "user@1000.service", "podman", ID, ""},
	{"/lxc/web1", "", "lxc", "web1", ""},
	{"/lxc.payload.web1", "", "lxc", "web1", ""},
	{"/lxc.payload.web1/system.slice/nginx.service", "nginx.service", "lxc", "web1", ""},
	{"/lxc.payload/web1", "", "lxc", "web1", ""},
	{"/lxc.monitor.web1", "", "", "", ""},
	{"/system.slice/nginx.service", "nginx.service", "", "", ""},
	{"/system.slice/nginx.service/worker", "nginx.service", "", "", ""},
	{"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service", "", "", ""},
	{"/system.slice/dev\\x2ddisk.mount", "dev-disk.mount", "", "", ""},
	{"/system.slice/odd\\x2.service", "odd\\x2.service", "", "", ""},
	{"/init.scope", "init.scope", "", "", ""},
	{"/user.slice/user-1000.slice/session-3.scope", "session-3.scope", "", "", ""},
	{"/user.slice/user-1000.slice/user@1000.service/app.slice/app-shop.service",
	 "app-shop.service", "", "", ""},
	/* What only looks like one. */
	{"/docker/" HALF_ID, "", "", "", ""},
	{"/docker/" ID "0", "", "", "", ""},
	{"/system.slice/docker-" HALF_ID ".scope", "docker-" HALF_ID ".scope", "", "", ""},
	{"/pod" UID, "", "", "", UID},
	{"/podium", "", "", "", ""},
	{"/kubepods", "", "", "", ""},
	{"/.service", "", "", "", ""},
	{"//", "", "", "", ""},
	{"/../../escaped", "", "", "", ""},
};

static void paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct cgroup c = {0};

		cgroup_name_path(forms[i].path, &c);
		if (strcmp(c.unit, forms[i].unit) || strcmp(c.runtime, forms[i].runtime) ||
		    strcmp(c.container, forms[i].container) || strcmp(c.pod, forms[i].pod))
			print_message("%s\n  unit '%s' runtime '%s' container '%s' pod '%s'\n",
				      forms[i].path, c.unit, c.runtime, c.container, c.pod);
		assert_string_equal(c.unit, forms[i].unit);
		assert_string_equal(c.runtime, forms[i].runtime);
		assert_string_equal(c.container, forms[i].container);
		assert_string_equal(c.pod, forms[i].pod);
	}
}

static const struct file {
	const char *text, *path, *memory;
	int version;
} files[] = {
	{"0::/system.slice/nginx.service\n", "/system.slice/nginx.service",
	 "/system.slice/nginx.service", 2},
	/* v1 with a named hierarchy */
	{"12:memory:/docker/" ID "\n4:cpu,cpuacct:/docker/" ID "\n1:name=systemd:/docker/" ID "\n",
	 "/docker/" ID, "/docker/" ID, 1},
	/* hybrid: the unified line is the root */
	{"9:name=systemd:/system.slice/a.service\n4:memory:/m\n0::/\n", "/m", "/m", 1},
	{"9:name=systemd:/system.slice/a.service\n4:memory:/\n0::/\n", "/system.slice/a.service",
	 "/", 1},
	{"9:name=systemd:/s\n4:memory:/m\n0::/u\n", "/u", "/m", 1},
	/* the kubelet's group counts more than the unified one */
	{"5:memory:/kubepods/pod" UID "/" ID "\n0::/system.slice/containerd.service\n",
	 "/kubepods/pod" UID "/" ID, "/kubepods/pod" UID "/" ID, 1},
	{"0::/\n", "/", "/", 2},
	{"", "", "", 0},
	{"nonsense\n:\n::\n0:\n0::relative\n7:memory\n", "", "", 0},
	{"0::/a:b:c\n", "/a:b:c", "/a:b:c", 2},
	{"3:cpumemory:/x\n", "/x", "", 0},
};

static void texts(void **state)
{
	char longer[2 * CGROUP_PATH_MAX];
	struct cgroup c;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		cgroup_parse(files[i].text, &c);
		assert_string_equal(c.path, files[i].path);
		assert_string_equal(c.memory, files[i].memory);
		assert_int_equal(c.version, files[i].version);
	}
	memset(longer, 'x', sizeof(longer));
	memcpy(longer, "0::/", 4);
	longer[sizeof(longer) - 1] = '\0';
	cgroup_parse(longer, &c);
	assert_string_equal(c.path, "");
}

static void of_a_process(void **state)
{
	struct cgroup c;
	pid_t gone = fork();

	(void)state;
	assert_int_equal(cgroup_read(getpid(), &c), 0);
	assert_int_equal(c.path[0], '/');
	assert_true(c.version == 1 || c.version == 2);
	if (gone == 0)
		_exit(0);
	while (kill(gone, 0) == 0 && waitpid(gone, NULL, 0) != gone)
		;
	assert_int_equal(cgroup_read(gone, &c), -ESRCH);
}

static void write_file(const char *directory, const char *file, const char *text)
{
	char path[512];
	FILE *f;

	/* mkdir -p */
	for (char *slash = strchr(directory + 1, '/');; slash = strchr(slash + 1, '/')) {
		snprintf(path, sizeof(path), "%.*s",
			 slash ? (int)(slash - directory) : (int)strlen(directory), directory);
		mkdir(path, 0700);
		if (!slash)
			break;
	}
	snprintf(path, sizeof(path), "%s/%s", directory, file);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void names(void **state)
{
	char root[] = "/tmp/memleakbpf-cgroup-XXXXXX", directory[256], name[64], command[300];

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_int_equal(cgroup_container_name(root, ID, name, sizeof(name)), -ENOENT);
	snprintf(directory, sizeof(directory), "%s/var/lib/containers/storage/overlay-containers",
		 root);
	write_file(directory, "containers.json",
		   "[{\"id\":\"x\"},{\"id\":\"" ID "\",\"names\":[\"queue\",\"q\"]}]");
	assert_int_equal(cgroup_container_name(root, ID, name, sizeof(name)), 0);
	assert_string_equal(name, "queue");
	snprintf(directory, sizeof(directory), "%s/var/lib/docker/containers/" ID, root);
	write_file(directory, "config.v2.json", "{\"Name\":\"/shop\"}");
	assert_int_equal(cgroup_container_name(root, ID, name, sizeof(name)), 0);
	assert_string_equal(name, "shop");
	assert_int_equal(cgroup_container_name(root, "../../etc", name, sizeof(name)), -ENOENT);
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(texts),
		cmocka_unit_test(of_a_process),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
