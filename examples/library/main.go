// The program deploys the manifests of a folder as an app, from Go: it prints the plan and what
// happens, and destroys the app again. The arguments are the namespace and the folder.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/muster-deploy/muster"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: library NAMESPACE FOLDER")
		os.Exit(2)
	}
	if err := deploy(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// deploy applies the app and destroys it again.
func deploy(ctx context.Context, namespace, folder string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	cluster, err := muster.Connect(config, muster.ConnectOptions{UserAgent: "library-example"})
	if err != nil {
		return err
	}
	set, err := muster.Open(ctx, cluster, muster.Source{
		Kind: muster.App, Namespace: namespace, Name: "example", Files: []string{folder},
	})
	if err != nil {
		return err
	}
	plan, err := set.Plan(ctx, muster.PlanOptions{})
	if err != nil {
		return err
	}
	fmt.Println("plan:", plan.Summary())
	result, err := set.Apply(ctx, muster.ApplyOptions{}, func(e muster.Event) {
		if e.Type == muster.Ended {
			fmt.Println(e.Object.Kind, e.Object.Name, e.Outcome)
		}
	})
	if err != nil {
		return err
	}
	fmt.Printf("apply: %s, %d written, revision %d\n", result.Outcome, result.Written,
		result.Revision)
	drifted, err := set.Drift(ctx, muster.DriftOptions{})
	if err != nil {
		return err
	}
	fmt.Println("drifted:", len(drifted))
	result, err = set.Destroy(ctx, muster.DestroyOptions{}, nil)
	if err != nil {
		return err
	}
	fmt.Printf("destroy: %s, %d deleted\n", result.Outcome, result.Written)
	return nil
}
