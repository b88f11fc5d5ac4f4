package kpt

import (
	"crypto/rand"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
)

//go:embed clusterscoped.yaml
var clusterScopedFile []byte

// initFlags is what was typed after init.
type initFlags struct {
	name        string
	inventoryID string
	file        string
	force       bool
	quiet       bool
}

func newInit(env *cli.Env, kube *cli.Kube) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Give a package its inventory",
		Long: `Write the ResourceGroup object that identifies the inventory of the package in a folder (default: the
working folder). The cluster is not asked. The inventory's namespace is that of --namespace, else the
one that all objects of the package share, else that of the kubeconfig's context.

Exit codes:
  0  the inventory was written
  1  it was not: the error says why`,
		Example:           `  muster init wordpress`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeFolders,
		RunE: func(_ *cobra.Command, args []string) error {
			return runInit(env, kube, folder(args), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "name of the inventory object (default: inventory- and 8 random digits)")
	flags.StringVar(&f.inventoryID, "inventory-id", "", "ID by which objects know their inventory (default: a new one)")
	flags.StringVar(&f.file, "rg-file", "resourcegroup.yaml", "name of the file in the package")
	flags.BoolVar(&f.force, "force", false, "replace the inventory that the package has")
	flags.BoolVar(&f.quiet, "quiet", false, "say nothing about progress")
	return cmd
}

func runInit(env *cli.Env, kube *cli.Kube, dir string, f initFlags) error {
	if f.file != filepath.Base(f.file) || f.file == "." || f.file == ".." {
		return fmt.Errorf("--rg-file must be a file name without a folder, not %q", f.file)
	}
	source, err := openFolder(dir)
	if err != nil {
		return err
	}
	objects, err := source.manifests()
	if err := errors.Join(source.broken, err); err != nil {
		return err
	}
	namespace, explicit, err := kube.Namespace()
	if err != nil {
		return err
	}
	if shared := sharedNamespace(objects); shared != "" && !explicit {
		namespace = shared
	}
	if !f.quiet {
		fmt.Fprintf(env.Err, "initializing %q inventory info (namespace: %s)...", f.file, namespace)
	}
	err = writeInventory(source, namespace, f, objects)
	if !f.quiet {
		word := "success"
		if err != nil {
			word = "failed"
		}
		fmt.Fprintln(env.Err, word)
	}
	return err
}

// writeInventory writes the file of the inventory. A package that has one keeps it unless told otherwise: objects that were
// deployed under the old one would be lost sight of.
func writeInventory(s *source, namespace string, f initFlags, objects []manifest.Object) error {
	found := s.sorted(objects, nil)
	path := filepath.Join(s.dir, f.file)
	for _, obj := range found.groups {
		if !f.force {
			return fmt.Errorf("the package has an inventory already, in %s; objects deployed under it would be lost sight of: "+
				"destroy them first, or give --force", obj.Origin)
		}
		if obj.Origin.Path != f.file {
			return fmt.Errorf("the inventory that --force would replace is in %s, not in %s; remove it there or name that file with --rg-file",
				obj.Origin, f.file)
		}
		if err := holdsOne(path, f.file); err != nil {
			return err
		}
	}
	if len(found.kptfiles) > 0 {
		return fmt.Errorf("the package has an inventory already, in its Kptfile; move name, namespace and ID from there to a " +
			"ResourceGroup object, so that what was deployed stays known")
	}
	text, err := inventoryFile(namespace, f)
	if err != nil {
		return err
	}
	mode := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if len(found.groups) == 0 {
		mode |= os.O_EXCL
	}
	file, err := os.OpenFile(path, mode, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists and is not an inventory; choose another name with --rg-file", path)
	}
	if err != nil {
		return fmt.Errorf("write the inventory: %w", err)
	}
	if _, err := file.Write(text); err != nil {
		return errors.Join(fmt.Errorf("write the inventory: %w", err), file.Close())
	}
	return file.Close()
}

// holdsOne makes sure that a file holds nothing besides the inventory, marked as local configuration or not: it would be lost.
func holdsOne(path, name string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the inventory: %w", err)
	}
	objects, err := manifest.Parse(text, name, isGroup)
	if err == nil && len(objects) > 0 {
		err = fmt.Errorf("%s holds %s, which --force would lose; choose another name with --rg-file, or move it",
			name, object.RefOf(objects[0].Unstructured))
	}
	return err
}

// inventoryFile is the text of the ResourceGroup of a package.
func inventoryFile(namespace string, f initFlags) ([]byte, error) {
	name, id := f.name, f.inventoryID
	if name == "" {
		number, err := rand.Int(rand.Reader, big.NewInt(100_000_000))
		if err != nil {
			return nil, fmt.Errorf("choose a name: %w", err)
		}
		name = fmt.Sprintf("inventory-%08d", number)
	}
	if id == "" {
		sum := sha1.Sum([]byte(namespace + ":" + name))
		id = fmt.Sprintf("%s-%d", hex.EncodeToString(sum[:]), time.Now().UnixNano())
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return nil, fmt.Errorf("--name %q: %s", name, problems[0])
	}
	if problems := validation.IsValidLabelValue(id); len(problems) > 0 {
		return nil, fmt.Errorf("--inventory-id %q: %s", id, problems[0])
	}
	// Not marshalled: the file is for people, who expect the order of other manifests.
	return fmt.Appendf(nil, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  namespace: %s\n  labels:\n    %s: %s\n",
		resourceGroupKind.GroupVersion(), resourceGroupKind.Kind, scalar(name), scalar(namespace), inventoryIDKey, scalar(id)), nil
}

// scalar quotes a string where YAML would read it as something else.
func scalar(value string) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%q", value)
	}
	return string(text[:len(text)-1])
}

// sharedNamespace is the namespace in which all namespaced objects of a package are, or nothing. Whether a kind is
// namespaced is known of Kubernetes' own kinds; others count as namespaced.
func sharedNamespace(objects []manifest.Object) string {
	var clusterScoped []string
	if err := yaml.UnmarshalStrict(clusterScopedFile, &clusterScoped); err != nil {
		return ""
	}
	kinds := groupKinds(clusterScoped)
	shared := ""
	for _, obj := range objects {
		if slices.Contains(kinds, obj.GroupVersionKind().GroupKind()) {
			continue
		}
		namespace := obj.GetNamespace()
		if namespace == "" || shared != "" && shared != namespace {
			return ""
		}
		shared = namespace
	}
	return shared
}
