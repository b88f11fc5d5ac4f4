package cmd

import (
	"crypto/rand"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
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

func newInit(env *cli.Env, kube *cli.Kube, g grammar) *cobra.Command {
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
		Example:           "  " + g.command + " init wordpress",
		Args:              g.args,
		ValidArgsFunction: completeFolders,
		RunE: func(_ *cobra.Command, args []string) error {
			return runInit(env, kube, g, folder(args), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "name of the inventory object (default: inventory- and 8 random digits)")
	flags.StringVar(&f.inventoryID, "inventory-id", "", "ID by which objects know their inventory (default: a new one)")
	addFile(cmd, &f.file)
	flags.BoolVar(&f.force, "force", false, "replace the inventory that the package has")
	flags.BoolVar(&f.quiet, "quiet", false, "say nothing about progress")
	return cmd
}

func runInit(env *cli.Env, kube *cli.Kube, g grammar, dir string, f initFlags) error {
	if err := checkFile(f.file); err != nil {
		return err
	}
	source, err := openFolder(dir)
	if err != nil {
		return err
	}
	c, replaces := source.contents(), false
	if c.broken != nil && f.force && source.onlyInventory(f.file) {
		source.without = f.file
		if rest := source.contents(); rest.broken == nil {
			c, replaces = rest, true
		}
	}
	if c.broken != nil {
		return c.broken
	}
	namespace, explicit, err := kube.Namespace()
	if err != nil {
		return err
	}
	if shared := sharedNamespace(c.objects); shared != "" && !explicit {
		namespace = shared
	}
	if !f.quiet {
		fmt.Fprintf(env.Err, "initializing %q %s (namespace: %s)...", f.file, g.initializes, namespace)
	}
	err = beginInventory(dir, namespace, f, c.described, replaces)
	if !f.quiet {
		word := "success"
		if err != nil {
			word = "failed"
		}
		fmt.Fprintln(env.Err, word)
	}
	return err
}

// beginInventory gives the package an inventory that it does not have yet. One in an older format is replaced if that is
// forced and it can be done without losing more than the inventory: a section of the Kptfile. So is a file that is too broken
// to be read, if replaces says so.
func beginInventory(dir, namespace string, f initFlags, d described, replaces bool) error {
	if len(d.maps) > 0 {
		return fmt.Errorf("the package has an inventory already, a ConfigMap in %s; migrate moves it to a ResourceGroup", d.maps[0].Origin)
	}
	if len(d.kptfiles) > 0 && !f.force {
		return worded(fmt.Errorf("the package has an inventory already, in its Kptfile; migrate moves it to a ResourceGroup, "+
			"and --force begins a new one, which loses sight of what was deployed"), asMessage, liveInitialized, "Kptfile")
	}
	inv, err := f.inventory(namespace)
	if err != nil {
		return err
	}
	if err := writeInventory(dir, d, inv, f, replaces); err != nil || len(d.kptfiles) == 0 {
		return err
	}
	return stripKptfile(dir)
}

// writeInventory writes the file of the inventory. A package that has one keeps it unless told otherwise: objects that were
// deployed under the old one would be lost sight of. The file may be there although it describes none if replaces says so.
func writeInventory(dir string, d described, inv *inventory, f initFlags, replaces bool) error {
	for _, obj := range d.groups {
		if !f.force {
			return worded(fmt.Errorf("the package has an inventory already, in %s; objects deployed under it would be lost sight of: "+
				"destroy them first, or give --force", obj.Origin), asMessage, liveInitialized, "ResourceGroup")
		}
		if obj.Origin.Path != f.file {
			return fmt.Errorf("the inventory that --force would replace is in %s, not in %s; remove it there or name that file with --rg-file",
				obj.Origin, f.file)
		}
		rest, err := others(dir, f.file, isGroup)
		if err != nil {
			return err
		}
		if len(rest) > 0 {
			return fmt.Errorf("%s holds %s, which --force would lose; choose another name with --rg-file, or move it",
				f.file, object.RefOf(rest[0].Unstructured))
		}
	}
	return inv.writeFile(filepath.Join(dir, f.file), replaces || len(d.groups) > 0)
}

// kindLine is a line that says of what kind an object is.
var kindLine = regexp.MustCompile(`(?m)^[ "'{-]*kind["']?:[ "']*(\w*)`)

// onlyInventory reports whether a file, which perhaps cannot be parsed, seems to hold a ResourceGroup and nothing else.
func (s *source) onlyInventory(file string) bool {
	text, err := os.ReadFile(filepath.Join(s.dir, file))
	kinds := kindLine.FindAllSubmatch(text, -1)
	return err == nil && len(kinds) == 1 && string(kinds[0][1]) == resourceGroupKind.Kind
}

// others gives the objects of a manifest besides those that omit leaves out, marked as local configuration or not.
func others(dir, name string, omit manifest.Omit) ([]manifest.Object, error) {
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, fmt.Errorf("read the inventory: %w", err)
	}
	return manifest.Parse(text, name, omit)
}

// inventory is the one that the flags want, with a name and an ID of its own where they give none.
func (f initFlags) inventory(namespace string) (*inventory, error) {
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
	return &inventory{
		ref: object.Ref{Group: resourceGroupKind.Group, Kind: resourceGroupKind.Kind, Namespace: namespace, Name: name},
		id:  id, labels: map[string]string{inventoryIDKey: id},
	}, nil
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
