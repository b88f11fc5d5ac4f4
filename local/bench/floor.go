package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// atOnce is how many requests of the floor are under way at once.
const atOnce = 32

// floor sends one request for every object of a folder, in no order, and knows nothing about what
// is there: what is left of a deployment when nothing is read, compared, recorded or waited for.
// Its arguments are create, delete or clear (which deletes and does not mind what is missing), and
// the folder. The verb ready creates, and then waits until all Deployments are as a tool that waits
// wants them.
func floor(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: bench floor create|ready|delete|clear FOLDER")
	}
	objects, err := readObjects(args[1])
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := send(ctx, client, args[0], objects); err != nil || args[0] != "ready" {
		return err
	}
	return untilReady(ctx, client, objects)
}

// send sends the request of a verb for every object.
func send(
	ctx context.Context,
	client dynamic.Interface,
	verb string,
	objects []*unstructured.Unstructured,
) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, obj := range objects {
		group.Go(func() error {
			resource, _ := meta.UnsafeGuessKindToResource(obj.GroupVersionKind())
			of := client.Resource(resource).Namespace(obj.GetNamespace())
			switch verb {
			case "create", "ready":
				_, err := of.Create(ctx, obj, metav1.CreateOptions{})
				return err
			case "delete":
				return of.Delete(ctx, obj.GetName(), metav1.DeleteOptions{})
			case "clear":
				err := of.Delete(ctx, obj.GetName(), metav1.DeleteOptions{})
				if apierrors.IsNotFound(err) {
					return nil
				}
				return err
			}
			return fmt.Errorf("floor: unknown verb %q", verb)
		})
	}
	return group.Wait()
}

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// untilReady lists and watches all Deployments until those among the objects have been rolled out,
// as their condition says.
func untilReady(
	ctx context.Context,
	client dynamic.Interface,
	objects []*unstructured.Unstructured,
) error {
	missing := map[string]bool{}
	for _, obj := range objects {
		if obj.GetKind() == "Deployment" {
			missing[obj.GetNamespace()+"/"+obj.GetName()] = true
		}
	}
	see := func(obj *unstructured.Unstructured) {
		conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["reason"] == "NewReplicaSetAvailable" {
				delete(missing, obj.GetNamespace()+"/"+obj.GetName())
			}
		}
	}
	all := client.Resource(deployments)
	list, err := all.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	for _, obj := range list.Items {
		see(&obj)
	}
	for version := list.GetResourceVersion(); len(missing) > 0; {
		watcher, err := all.Watch(ctx, metav1.ListOptions{ResourceVersion: version})
		if err != nil {
			return err
		}
		for event := range watcher.ResultChan() {
			obj, ok := event.Object.(*unstructured.Unstructured)
			if !ok || event.Type == watch.Error {
				return fmt.Errorf("floor: watch of Deployments: %v", event.Object)
			}
			version = obj.GetResourceVersion()
			if see(obj); len(missing) == 0 {
				break
			}
		}
		watcher.Stop()
	}
	return nil
}

// readObjects reads all manifests of a folder.
func readObjects(dir string) ([]*unstructured.Unstructured, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		decoder := yaml.NewYAMLOrJSONDecoder(bufio.NewReader(file), 4096)
		for {
			obj := &unstructured.Unstructured{}
			err := decoder.Decode(obj)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			objects = append(objects, obj)
		}
	}
	return objects, nil
}
