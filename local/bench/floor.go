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
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// atOnce is how many requests of the floor are under way at once.
const atOnce = 32

// floor sends one request for every object of a folder, in no order, and knows nothing about what is there: what is left
// of a deployment when nothing is read, compared, recorded or waited for. Its arguments are create, delete or clear (which
// deletes and does not mind what is missing), and the folder.
func floor(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: bench floor create|delete|clear FOLDER")
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
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, obj := range objects {
		group.Go(func() error {
			resource, _ := meta.UnsafeGuessKindToResource(obj.GroupVersionKind())
			of := client.Resource(resource).Namespace(obj.GetNamespace())
			switch args[0] {
			case "create":
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
			return fmt.Errorf("floor: unknown verb %q", args[0])
		})
	}
	return group.Wait()
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
