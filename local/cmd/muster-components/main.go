// Command muster-components is the Kubernetes control plane in one binary: the first argument names
// the component, the rest are that component's own flags. With the build tag node it has a kubelet,
// too, which takes a minute more to compile.
//
// Each component runs as a process of its own, started by muster-local: a crash stays where it
// happened, and the global state that the components register (flags, metrics, feature gates) never
// meets.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	_ "time/tzdata" // CronJobs may name a time zone on a machine that has no zone files.

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics on /metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // build information on /metrics
	"k8s.io/component-base/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/muster-deploy/muster/local/lifeline"
)

// components are the commands of the components.
var components = map[string]func() *cobra.Command{
	"etcd":                    etcdCommand,
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllers.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
}

// versionFlags returns the flags that a component of this minor version gets besides those of the
// plane: muster-kwok makes a mutating admission policy, which API servers before Kubernetes 1.36
// accept only with these.
func versionFlags(component, minor string) []string {
	number, err := strconv.Atoi(minor)
	if component != "kube-apiserver" || err != nil || number >= 36 {
		return nil
	}
	return []string{
		"--feature-gates=MutatingAdmissionPolicy=true",
		"--runtime-config=admissionregistration.k8s.io/v1alpha1=true",
	}
}

func main() {
	lifeline.Follow()
	if len(os.Args) < 2 || components[os.Args[1]] == nil {
		fmt.Fprintf(os.Stderr, "usage: muster-components COMPONENT [FLAGS]\ncomponents: %s\n",
			strings.Join(slices.Sorted(maps.Keys(components)), ", "))
		os.Exit(2)
	}
	command := components[os.Args[1]]()
	os.Args = append(os.Args[1:], versionFlags(os.Args[1], version.Get().Minor)...)
	os.Exit(cli.Run(command))
}
