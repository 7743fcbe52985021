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
	{"/system.slice/containerd.service/kubepods-pod" UID_ ".slice:crio:" ID,
	 "containerd.service", "cri-o", ID, UID},
	{"/system.slice:docker:" ID, "", "docker", ID, ""},
	{"/machine.slice:libpod:" ID, "", "podman", ID, ""},
	/* kind, and other kubelets with a --cgroup-root */
	{"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
	 "kubelet-kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID ".scope",
	 "", "containerd", ID, UID},
	{"/system.slice/docker-" HALF_ID HALF_ID ".scope/kubelet.slice/kubelet-kubepods.slice/"
	 "kubelet-kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope",
	 "", "containerd", ID, UID},
	{"/kubelet/kubepods/besteffort/pod" UID "/" ID, "", "", ID, UID},
	/* k3s with the cgroupfs driver; minikube */
	{"/k3s/kubepods/burstable/pod" UID "/" ID, "", "", ID, UID},
	/* Docker's shim with a pod's own slice, and the group a container makes below its own */
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/docker-" ID ".scope/system.slice/app.service",
	 "app.service", "docker", ID, UID},
	/* nerdctl */
	{"/system.slice/nerdctl-" ID ".scope", "", "containerd", ID, ""},
	{"/default/" ID, "", "", ID, ""},
	/* ECS on machines of one's own */
	{"/ecs/" HALF_ID "/" ID, "", "", ID, ""},
	/* Seen from a container with a control group namespace of its own: from a pod's
	   container, one of another pod, one of another class, and a service of the machine. */
	{"/../../kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID ".scope", "",
	 "containerd", ID, UID},
	{"/../../../kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/crio-" ID
	 ".scope",
	 "", "cri-o", ID, UID},
	{"/../../pod" UID "/" ID, "", "", ID, UID},
	{"/../../../../system.slice/nginx.service", "nginx.service", "", "", ""},
	/* Podman's pods are none of Kubernetes' */
	{"/machine.slice/machine-libpod_pod_" ID ".slice/libpod-" ID ".scope", "", "podman", ID,
	 ""},
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
	{"/my-kubepods.slice/my-kubepods-pod" UID_ "0.slice", "", "", "", ""},
	{"/my-kubepods", "", "", "", ""},
	{"/system.slice:docker:" HALF_ID, "", "", "", ""},
	{"/x:cri-containerd:", "", "", "", ""},
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(texts),
		cmocka_unit_test(of_a_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
