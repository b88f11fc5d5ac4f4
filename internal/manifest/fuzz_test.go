package manifest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// FuzzRead looks for streams that panic, or that give objects without an identity or with values
// that cannot be copied or written as JSON.
func FuzzRead(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		objects, err := Read(t.Context(), bytes.NewReader(text), "fuzz.yaml", Options{})
		if err != nil && !strings.HasPrefix(err.Error(), "fuzz.yaml: ") {
			t.Errorf("the error does not name the file: %v", err)
		}
		for _, o := range objects {
			if o.GetKind() == "" || o.GetAPIVersion() == "" || o.GetName() == "" ||
				o.GroupVersionKind().Kind == "" {
				t.Errorf("%v has no identity", o.Object)
			}
			if o.Origin.Path != "fuzz.yaml" || o.Origin.Line < 1 {
				t.Errorf("origin %+v", o.Origin)
			}
			if _, err := o.DeepCopy().MarshalJSON(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestReadIsLinear reads texts that are slow, or never end, if the cost grows with the square of
// their length or with what their aliases stand for. With -v it says how long each took.
func TestReadIsLinear(t *testing.T) {
	const head = "{apiVersion: v1, kind: ConfigMap, metadata: {name: big}, data: "
	var keys, duplicates, labels, chain, merges strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&keys, "k%d: v, ", i)
		fmt.Fprintf(&duplicates, "k%d: v, k%d: v, ", i, i)
		fmt.Fprintf(&labels, "k%d: 1, ", i)
	}
	for i := range 100 {
		fmt.Fprintf(&chain, "- &a%d [*a%d, *a%d]\n", i+1, i, i)
		fmt.Fprintf(&merges, "- &a%d {<<: [*a%d, *a%d]}\n", i+1, i, i)
	}
	for _, tc := range []struct{ name, text, want string }{
		{"keys", head + "{" + keys.String() + "}}", ""},
		{"duplicates", head + "{" + duplicates.String() + "}}", "key \"k0\" is already"},
		{"labels", "{apiVersion: v1, kind: ConfigMap, metadata: {name: big, labels: {" +
			labels.String() + "}}}", "label \"k0\" must be"},
		{"documents", strings.Repeat("---\n"+head+"{}}\n", 5_000), ""},
		{"broken documents", strings.Repeat("---\na: b: c\n", 5_000), "big.yaml: and 4990 more problems"},
		{"items", "{apiVersion: v1, kind: List, " + keys.String() + "items: [" +
			strings.Repeat(head+"{}}, ", 5_000) + "]}", ""},
		{"text", head + `"` + strings.Repeat("some text ", 200_000) + `"}`, ""},
		{"comments", strings.Repeat("# comment\n", 200_000) + head + "{}}", ""},
		{"alias bomb", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\ndata:\n- &a0 text\n" +
			chain.String(), "stand for more than 500000 values"},
		{"long alias", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\ndata:\n- &a " +
			strings.Repeat("x", 100_000) + "\n" + strings.Repeat("- *a\n", 3_000),
			"stand for more than 16777216 bytes"},
		{"long alias key", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\ndata:\n- &a {? " +
			strings.Repeat("x", 100_000) + " : 1}\n" + strings.Repeat("- *a\n", 3_000),
			"stand for more than 16777216 bytes"},
		{"merge bomb", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\ndata:\n- &a0 {x: 1}\n" +
			merges.String(), "need more than 24 MiB of memory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			start := time.Now()
			_, err := Read(t.Context(), strings.NewReader(tc.text), "big.yaml", Options{})
			if tc.want == "" && err != nil || tc.want != "" && !strings.Contains(fmt.Sprint(err), tc.want) {
				t.Errorf("Read = %.300v, want %q", err, tc.want)
			}
			t.Logf("%d bytes in %v", len(tc.text), time.Since(start))
		})
	}
}

// BenchmarkRead reads ten megabytes of deployments, in many documents and in one list.
func BenchmarkRead(b *testing.B) {
	const deployment = `apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: demo
    labels: {app: web}
  spec:
    replicas: 3
    template:
      spec:
        containers:
        - name: web
          image: nginx:1.27
          ports:
          - containerPort: 8080
          resources:
            limits: {cpu: 500m, memory: 128Mi}
`
	const size = 10 << 20
	documents := strings.Repeat("---\n"+strings.ReplaceAll(deployment, "\n  ", "\n"),
		size/len(deployment))
	list := "apiVersion: v1\nkind: List\nitems:\n" +
		strings.Repeat("- "+deployment, size/len(deployment))
	for name, text := range map[string]string{"documents": documents, "list": list} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				objects, err := Read(b.Context(), strings.NewReader(text), "big.yaml", Options{})
				if err != nil || len(objects) != size/len(deployment) {
					b.Fatalf("%d objects, %v", len(objects), err)
				}
				runtime.KeepAlive(objects)
			}
		})
	}
}
