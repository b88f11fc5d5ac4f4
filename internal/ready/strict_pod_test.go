package ready

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStrictPod judges pods that are not restarted, or have containers with a policy of their own.
func TestStrictPod(t *testing.T) {
	for _, tc := range []struct{ name, pod, want string }{
		{
			name: "a sidecar ends when the pod has succeeded",
			pod: `{spec: {restartPolicy: Never,
				initContainers: [{name: proxy, restartPolicy: Always}],
				containers: [{name: main}]}, status: {phase: Succeeded,
				initContainerStatuses: [{name: proxy, restartCount: 0,
					state: {terminated: {exitCode: 143, reason: Error}}}],
				containerStatuses: [{name: main, restartCount: 0,
					state: {terminated: {exitCode: 0, reason: Completed}}}]}}`,
			want: "# Current: Pod has completed successfully",
		},
		{
			name: "a sidecar that was restarted ends when the pod has succeeded",
			pod: `{spec: {restartPolicy: OnFailure,
				initContainers: [{name: proxy, restartPolicy: Always}],
				containers: [{name: main}]}, status: {phase: Succeeded,
				initContainerStatuses: [{name: proxy, restartCount: 1,
					state: {terminated: {exitCode: 137, reason: Error,
					startedAt: "2025-11-03T09:14:22Z", finishedAt: "2025-11-03T09:14:52Z"}}}],
				containerStatuses: [{name: main, restartCount: 0,
					state: {terminated: {exitCode: 0, reason: Completed}}}]}}`,
			want: "# Current: Pod has completed successfully",
		},
		{
			name: "a sidecar of a pod that runs is restarted",
			pod: `{spec: {restartPolicy: Never,
				initContainers: [{name: proxy, restartPolicy: Always}],
				containers: [{name: main}]}, status: {phase: Running,
				initContainerStatuses: [{name: proxy, restartCount: 0,
					state: {terminated: {exitCode: 1, reason: Error}}}],
				containerStatuses: [{name: main, restartCount: 0, state: {running: {}}}]}}`,
			want: "# InProgress PodRunningNotReady: Pod is running but is not Ready",
		},
		{
			name: "a container is restarted by its own policy",
			pod: `{spec: {restartPolicy: Never, containers: [{name: main, restartPolicy: OnFailure}]},
				status: {phase: Running, containerStatuses: [{name: main, restartCount: 0,
					state: {terminated: {exitCode: 1, reason: Error}}}]}}`,
			want: "# InProgress PodRunningNotReady: Pod is running but is not Ready",
		},
		{
			name: "a container is restarted by rules of its own",
			pod: `{spec: {restartPolicy: Never, containers: [{name: main, restartPolicy: Never,
				restartPolicyRules: [{action: Restart}]}]},
				status: {phase: Running, containerStatuses: [{name: main, restartCount: 0,
					state: {terminated: {exitCode: 42, reason: Error}}}]}}`,
			want: "# InProgress PodRunningNotReady: Pod is running but is not Ready",
		},
		{
			name: "a container is not restarted by its own policy",
			pod: `{spec: {restartPolicy: Always, containers: [{name: main}, {name: once,
				restartPolicy: Never}]}, status: {phase: Running,
				conditions: [{type: Ready, status: "False"}], containerStatuses: [
				{name: main, restartCount: 0, state: {running: {}}},
				{name: once, restartCount: 0, state: {terminated: {exitCode: 1, reason: Error}}}]}}`,
			want: "# Failed ContainerFailed: Container once has ended with exit code 1",
		},
		{
			name: "a probe of the program decides beside a sidecar without one",
			pod: `{spec: {restartPolicy: Never,
				initContainers: [{name: proxy, restartPolicy: Always}],
				containers: [{name: main, readinessProbe: {}}]}, status: {phase: Running,
				conditions: [{type: Ready, status: "True"}], containerStatuses: [
				{name: main, restartCount: 0, state: {running: {}}}]}}`,
			want: "# Current: Pod is Ready",
		},
		{
			name: "a container of a pod that is not restarted has failed",
			pod: `{spec: {restartPolicy: Never, containers: [{name: main}, {name: other}]},
				status: {phase: Running, containerStatuses: [{name: main, restartCount: 0,
					state: {terminated: {exitCode: 1, reason: Error}}},
					{name: other, restartCount: 0, state: {running: {}}}]}}`,
			want: "# Failed ContainerFailed: Container main has ended with exit code 1",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := read(t, tc.pod)
			pod.SetAPIVersion("v1")
			pod.SetKind("Pod")
			if diff := cmp.Diff(tc.want, line(StrictPod(pod, Of(pod)))); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}
