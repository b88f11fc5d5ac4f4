package packages

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/muster-deploy/muster/internal/sets/policy"
)

// writeFiles writes the files of an archive; a file of the name *.link is a symbolic link without
// the ending, to what it holds.
func writeFiles(t *testing.T, dir, archive string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		err := error(nil)
		if link, isLink := strings.CutSuffix(path, ".link"); isLink {
			err = os.Symlink(strings.TrimSpace(string(f.Data)), link)
		} else {
			err = os.WriteFile(path, f.Data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// shop is a package that has a base beside it.
const shop = `-- top/shop/overlays/dev/kustomization.yaml --
resources: [../../base]
-- top/shop/overlays/dev/inventory.yaml --
apiVersion: kpt.dev/v1alpha1
kind: ResourceGroup
metadata: {name: shop, namespace: a, labels: {cli-utils.sigs.k8s.io/inventory-id: x}}
-- top/shop/base/kustomization.yaml --
resources: [cm.yaml]
-- top/shop/base/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: base}}
`

// TestRoot builds an overlay whose base lies in or outside of the folder that confines it.
func TestRoot(t *testing.T) {
	for _, tc := range []struct{ name, more, working, want string }{
		{"working folder above", "", "top/shop", ""},
		{"working folder elsewhere", "", "top/shop/base",
			`kustomization.yaml: resources names "../../base", which lies outside of ` +
				`DIR/top/shop/overlays/dev (--root names another folder)`},
		{"work tree", "-- top/.git/HEAD --\n", "top/shop/base", ""},
		{"linked work tree", "-- top/.git --\ngitdir: elsewhere\n", "top/shop/base", ""},
		{"nearest work tree", "-- .git/HEAD --\n-- top/shop/overlays/.git/HEAD --\n", "top/shop",
			`kustomization.yaml: resources names "../../base", which lies outside of ` +
				`DIR/top/shop/overlays (--root names another folder)`},
		{"base outside", "-- top/.git/HEAD --\n-- top/shop/base/kustomization.yaml --\n" +
			"resources: [../../../other]\n-- other/kustomization.yaml --\nresources: [cm.yaml]\n" +
			"-- other/cm.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}\n", "top",
			`../../base/kustomization.yaml: resources names "../../../other", which lies outside of ` +
				`DIR/top (--root names another folder)`},
		{"base behind a link", "-- top/.git/HEAD --\n-- top/shop/base/kustomization.yaml --\n" +
			"resources: [more]\n-- top/shop/base/more.link --\n../../../other\n" +
			"-- other/kustomization.yaml --\nresources: [cm.yaml]\n" +
			"-- other/cm.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}\n", "top",
			`../../base/kustomization.yaml: resources names "more", which lies outside of ` +
				`DIR/top (--root names another folder)`},
		{"base that may not exist outside", "-- top/.git/HEAD --\n" +
			"-- top/shop/base/kustomization.yaml --\nresources: [../../../none]\n", "top",
			`../../base/kustomization.yaml: resources names "../../../none", which lies outside of ` +
				`DIR/top (--root names another folder)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			writeFiles(t, dir, shop+tc.more)
			t.Chdir(filepath.Join(dir, tc.working))
			_, err = Open(t.Context(), Input{Folder: filepath.Join(dir, "top/shop/overlays/dev")})
			got := ""
			if err != nil {
				got = strings.ReplaceAll(err.Error(), dir, "DIR")
			}
			if got != tc.want {
				t.Errorf("error %q, want %q", got, tc.want)
			}
		})
	}
}

// TestLinks opens packages in which a file that is no manifest is a link to a file outside.
func TestLinks(t *testing.T) {
	for _, name := range []string{
		".krmignore", "ready-rules.yaml", "Kptfile", "kustomization.yaml", "resourcegroup.yaml",
	} {
		dir := t.TempDir()
		writeFiles(t, dir, "-- secret --\n[private\n-- top/cm.yaml --\n"+
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n-- top/"+name+".link --\n../secret\n")
		_, failed := Open(t.Context(), Input{Folder: filepath.Join(dir, "top")})
		_, unread := policy.ReadRules(t.Context(), nil, filepath.Join(dir, "top"))
		_, bad := PrepareInit(t.Context(), filepath.Join(dir, "top"),
			InitOptions{File: "resourcegroup.yaml"})
		err := errors.Join(failed, unread, bad)
		if err == nil || strings.Contains(err.Error(), "private") {
			t.Errorf("%s: error %v", name, err)
		}
		if err != nil && !strings.Contains(err.Error(), "link") {
			t.Errorf("%s: the error does not say that it is a link: %v", name, err)
		}
	}
}

// TestEnded opens a package with a kustomization in a context that has ended.
func TestEnded(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, shop)
	t.Chdir(dir)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("no more time")
	cancel(cause)
	_, err := Open(ctx, Input{Folder: filepath.Join(dir, "top/shop/overlays/dev")})
	if !errors.Is(err, cause) {
		t.Errorf("error %v, want %v", err, cause)
	}
}
