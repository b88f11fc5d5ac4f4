package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster/local/gitserver"
	"github.com/muster-deploy/muster/local/mutants/defect"
	"github.com/muster-deploy/muster/local/registry"
	"github.com/muster-deploy/muster/local/webhook"
)

// setup creates a namespace for a script ($NS), a kubeconfig with this namespace ($KUBECONFIG) and
// a home folder ($HOME), and sets the folders of the examples ($EXAMPLES) and of the other tools
// ($TOOLS).
func setup(env *testscript.Env, dir string) error {
	script := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
	env.Defer(turns.take(dir + "/" + script))
	began := time.Now()
	env.Defer(func() { recordDuration(dir+"/"+script, began) })
	namespace := strings.ReplaceAll(script, "_", "-") + "-" + rand.String(5)
	if err := createNamespace(env.Defer, namespace); err != nil {
		return err
	}
	kubeconfig := filepath.Join(env.WorkDir, "kubeconfig")
	if err := writeKubeconfig(kubeconfig, namespace); err != nil {
		return err
	}
	home := filepath.Join(env.WorkDir, ".home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
	if err != nil {
		return err
	}
	env.Setenv("NS", namespace)
	env.Setenv("KUBECONFIG", kubeconfig)
	env.Setenv("HOME", home)
	env.Setenv("EXAMPLES", examples)
	gitserver.Setup(env)
	registry.Setup(env)
	webhook.Setup(env)
	env.Setenv("TOOLS", filepath.Join(bin, "tools"))
	env.Setenv(defect.Env, defectOf(script, "."))
	return nil
}

// createNamespace makes a namespace in which pods can start. The function that it gives to after
// removes the namespace without waiting for that.
func createNamespace(after func(func()), name string) error {
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx := context.Background()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace,
		metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the namespace of a test: %w", err)
	}
	after(func() { _ = client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}) })
	// Pods need the service account. A controller makes it soon; whoever comes second finds it made.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = client.CoreV1().ServiceAccounts(name).Create(ctx, account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the service account of a test: %w", err)
	}
	return nil
}

// writeKubeconfig writes the administrator's kubeconfig with another namespace.
func writeKubeconfig(path, namespace string) error {
	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig())
	if err != nil {
		return err
	}
	config.Contexts[config.CurrentContext].Namespace = namespace
	if lateAddress != "" {
		currentCluster(config).Server = lateAddress
	}
	return clientcmd.WriteToFile(*config, path)
}

// condition returns the value of a condition of a script: [tool:helm], or one of serverAtLeast.
func condition(text string) (bool, error) {
	if name, ok := strings.CutPrefix(text, "tool:"); ok {
		return hasTool(name)
	}
	return serverAtLeast(text)
}

// hasTool reports whether a tool is in bin/tools, where "make build-tools" puts those that muster
// takes sets over from. With MUSTER_TEST_TOOLS=required it is an error if the tool is missing.
func hasTool(name string) (bool, error) {
	_, err := os.Stat(filepath.Join(bin, "tools", name))
	if err != nil && os.Getenv("MUSTER_TEST_TOOLS") == "required" {
		return false, fmt.Errorf(`run "make build-tools": %w`, err)
	}
	return err == nil, nil
}

// serverAtLeast returns the value of a condition such as [server:1.36]: whether the API server has
// this version of Kubernetes or a later one.
func serverAtLeast(condition string) (bool, error) {
	least, ok := strings.CutPrefix(condition, "server:")
	if !ok {
		return false, fmt.Errorf("unknown condition %s", condition)
	}
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	if err != nil {
		return false, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return false, err
	}
	info, err := client.Discovery().ServerVersion()
	if err != nil {
		return false, fmt.Errorf("read the version of the server: %w", err)
	}
	served, err := utilversion.ParseGeneric(info.GitVersion)
	if err != nil {
		return false, err
	}
	want, err := utilversion.ParseGeneric(least)
	return err == nil && served.AtLeast(want), err
}
