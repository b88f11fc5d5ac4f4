package e2e

import (
	"context"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// behaviour is the annotation of pods that misbehave.
const behaviour = "local.muster.dev/behaviour"

// recoverPods removes the misbehaviour of the pods that a selector matches, and waits until there
// is one: so that what waits for a pod waits as long as the script needs, and no longer.
func recoverPods(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1, neg, "recover SELECTOR")
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	ts.Check(err)
	client, err := kubernetes.NewForConfig(config)
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), hangTimeout)
	defer cancel()
	pods := client.CoreV1().Pods(ts.Getenv("NS"))
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	for recovered := false; !recovered; <-pause.C {
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: args[0]})
		ts.Check(err)
		for _, pod := range list.Items {
			if pod.Annotations[behaviour] == "" || pod.DeletionTimestamp != nil {
				continue
			}
			_, err := pods.Patch(ctx, pod.Name, types.MergePatchType,
				[]byte(`{"metadata":{"annotations":{"`+behaviour+`":null}}}`), metav1.PatchOptions{})
			ts.Check(err)
			recovered = true
		}
	}
}
