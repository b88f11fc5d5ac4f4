package packages

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkOpen reads a package of 5,000 objects in 50 files.
func BenchmarkOpen(b *testing.B) {
	const files, each = 50, 100
	dir := b.TempDir()
	writeFile(
		b, filepath.Join(dir, "Kptfile"),
		"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: demo}\ninventory: {name: "+
			"inventory, namespace: n, inventoryID: id-1}\n",
	)
	for f := range files {
		var text strings.Builder
		for i := range each {
			fmt.Fprintf(
				&text,
				"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map-%d-%d\n  "+
					"namespace: n\ndata:\n  key: value\n", f, i,
			)
		}
		writeFile(b, filepath.Join(dir, fmt.Sprintf("maps-%d.yaml", f)), text.String())
	}
	b.ReportAllocs()
	for b.Loop() {
		p, err := Open(b.Context(), Input{Folder: dir})
		if err != nil || len(p.Objects) != files*each {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*files*each), "ns/object")
}
