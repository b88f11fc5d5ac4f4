// Command record prints every status of pods that a cluster shows, a line each, with the time, in
// the form of the sequences in ../testdata/real. With -out it appends the lines to a file for each
// namespace instead. It runs until it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster/local/kubelet"
)

func main() {
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "path of the kubeconfig")
	namespace := flag.String("namespace", "", "namespace of the pods; empty: all")
	out := flag.String("out", "", "folder for a file per namespace; empty: standard output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	r := recorder{out: *out, last: map[types.UID]string{}}
	if err := r.record(ctx, *kubeconfig, *namespace); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// recorder holds the last line of each pod, since a pod also changes in ways that no line shows.
type recorder struct {
	out  string
	last map[types.UID]string
}

func (r recorder) record(ctx context.Context, kubeconfig, namespace string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	// Without a resource version the watch starts with the pods that exist.
	watch, err := client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			return fmt.Errorf("watch pods: %+v", event.Object)
		}
		if err := r.print(pod); err != nil {
			return err
		}
	}
	return errors.New("watch pods: the server ended it")
}

func (r recorder) print(pod *corev1.Pod) error {
	line := kubelet.Line(pod)
	if r.last[pod.UID] == line {
		return nil
	}
	r.last[pod.UID] = line
	now := time.Now().Format(time.TimeOnly)
	line = fmt.Sprintf("%s %s/%s %s\n", now, pod.Namespace, pod.Name, line)
	if r.out == "" {
		_, err := os.Stdout.WriteString(line)
		return err
	}
	name := filepath.Join(r.out, pod.Namespace+".txt")
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	_, err = file.WriteString(line)
	return errors.Join(err, file.Close())
}
