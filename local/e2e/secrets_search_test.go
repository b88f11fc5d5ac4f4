package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// planted is the values of a script and what of them is searched.
type planted struct {
	dir      string
	replacer *strings.Replacer
	private  []string // parts of the values that no object but a Secret may have
	copied   []string // parts of the values that no output or file may have
	given    [][]byte // contents of the files that have planted values
}

// window is the length of the parts of a value that are searched.
const window = 10

// newPlanted returns random values. They are letters and digits, so that quotes do not change them.
func newPlanted(random *rand.Rand, dir, namespace, server string) *planted {
	text := func(first, of string, length int) string {
		for len(first) < length {
			first += string(of[random.IntN(len(of))])
		}
		return first
	}
	const digits = "0123456789"
	value := text("p", "bcdfghjklmnpqrstvwxz"+digits, 30)
	copied := text("c", "bcdfghjklmnpqrstvwxz"+digits, 30)
	number := text(strconv.Itoa(1+random.IntN(9)), digits, 14)
	p := &planted{dir: dir, private: slices.Concat(parts(value), parts(number))}
	p.private = append(p.private, number[:1]+"."+number[1:window])
	p.copied = parts(copied)
	p.replacer = strings.NewReplacer(
		"${VALUE}", value, "${BASE64}", encode(value), "${NUMBER}", number,
		"${COPY}", copied, "${COPY64}", encode(copied),
		"${LARGE}", strings.Repeat(value, 1<<20/len(value)+1), "${NS}", namespace,
		"${SERVER}", server,
	)
	return p
}

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// parts returns parts of a value, of its base64 form, and of the base64 forms of longer texts that
// contain them.
func parts(value string) []string {
	var list []string
	for _, text := range []string{value, encode(value)} {
		for at := 0; at+window <= len(text); at += window / 2 {
			part := text[at : at+window]
			list = append(list, part)
			for before := range 3 {
				encoded := encode(strings.Repeat("-", before) + part)
				begin := (8*before + 5) / 6 // of the first character without bits of the text before
				list = append(list, encoded[begin:(before+window)*8/6])
			}
		}
	}
	return list
}

// plant replaces the placeholders in a file.
func (p *planted) plant(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	planted := []byte(p.replacer.Replace(string(text)))
	if bytes.Equal(text, planted) {
		return nil
	}
	p.given = append(p.given, planted)
	return os.WriteFile(path, planted, 0o600)
}

// find returns the first line of a text with a part of a value, or "".
func (p *planted) find(text string) string {
	for _, part := range slices.Concat(p.private, p.copied) {
		if at := strings.Index(text, part); at >= 0 {
			begin := strings.LastIndexByte(text[:at], '\n') + 1
			line, _, _ := strings.Cut(text[begin:], "\n")
			return fmt.Sprintf("%s\n(found %q)", line[:min(len(line), 1000)], part)
		}
	}
	return ""
}

// inFiles returns the files with a value, except those that the script has, and copies of them.
func (p *planted) inFiles() ([]string, error) {
	var found []string
	err := filepath.WalkDir(p.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		given := func(other []byte) bool { return bytes.Equal(text, other) }
		if err == nil && !slices.ContainsFunc(p.given, given) {
			if line := p.find(string(text)); line != "" {
				found = append(found, path+": "+line)
			}
		}
		return err
	})
	return found, err
}

// inCluster returns the objects of the cluster with a private value, except Secrets.
func (p *planted) inCluster() ([]string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	kinds, err := listable(discovery.NewDiscoveryClientForConfigOrDie(config))
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, kind := range kinds {
		list, err := client.Resource(kind).List(context.Background(), metav1.ListOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			continue // the definition of another script, or a kind that lists nothing
		} else if err != nil {
			return nil, fmt.Errorf("list %s: %w", kind, err)
		}
		for _, obj := range list.Items {
			text, err := json.Marshal(obj.Object)
			if err != nil {
				return nil, err
			}
			for _, part := range p.private {
				if bytes.Contains(text, []byte(part)) {
					found = append(found, fmt.Sprintf("%s %s/%s: %.2000s", kind.Resource,
						obj.GetNamespace(), obj.GetName(), text))
					break
				}
			}
		}
	}
	return found, nil
}

// listable returns the kinds whose objects can be listed, in every version, except Secrets.
func listable(client discovery.DiscoveryInterface) ([]schema.GroupVersionResource, error) {
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, err // a group that fails is one of other scripts
	}
	var kinds []schema.GroupVersionResource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			kind := gv.WithResource(r.Name)
			secret := kind.GroupResource() == schema.GroupResource{Resource: "secrets"}
			if slices.Contains(r.Verbs, "list") && !secret {
				kinds = append(kinds, kind)
			}
		}
	}
	if len(kinds) < 40 {
		return nil, fmt.Errorf("the server lists %d kinds only", len(kinds))
	}
	return kinds, nil
}
