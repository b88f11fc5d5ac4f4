package commands

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/packages"
)

// initFlags are the flags of init.
type initFlags struct {
	name        string
	inventoryID string
	file        string
	force       bool
	quiet       bool
	cluster     string // as the user typed it
	applySet    bool
	root        string
}

// InitForm is what differs between the native command and that of kpt.
type InitForm struct {
	Command   string // before the name of the command, in examples
	Arguments cobra.PositionalArgs
	Object    string // in the message: what is initialized
	Guard     bool   // the package can expect a cluster
	// FolderName means that an inventory has the name of its folder by default, else a random one.
	FolderName bool
}

// nameHelp returns the help of the flag for the name of an inventory.
func (f InitForm) nameHelp() string {
	if f.FolderName {
		return "Name of the ResourceGroup (default: that of the folder)"
	}
	return "Name of the ResourceGroup (default: inventory- and 8 random digits)"
}

// NewInit returns the command init.
func NewInit(env *cli.Env, kube *cli.Kube, form InitForm) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Create the inventory of a package",
		Long: `Write the ResourceGroup that identifies the inventory of the package in a folder
(default: the working folder). This contacts the cluster only for --expect-cluster=current. The
namespace of the inventory is that of --namespace, else the one of all objects of the package, else
that of the kubeconfig's context.

Exit codes:
  0  the inventory was written
  1  it was not: the error says why`,
		Example:           "  " + form.Command + " init wordpress",
		Args:              form.Arguments,
		ValidArgsFunction: cli.CompleteAllFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, kube, form, cli.Folder(args))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", form.nameHelp())
	flags.StringVar(&f.inventoryID, "inventory-id", "", "ID of the inventory (default: generated)")
	addFile(flags, &f.file)
	flags.BoolVar(&f.force, "force", false, "Replace the existing inventory")
	if form.Guard {
		flags.StringVar(&f.cluster, "expect-cluster", "", "Cluster that the package belongs to: UID of "+
			"namespace kube-system, context:PATTERN, or current for the UID of this cluster")
		flags.BoolVar(&f.applySet, "applyset", false, "Label the objects as members of an ApplySet, so "+
			"that other tools can list them")
	}
	flags.BoolVar(&f.quiet, "quiet", false, "Do not print progress")
	AddRoot(flags, &f.root)
	return cmd
}

func (f initFlags) run(
	ctx context.Context, env *cli.Env, kube *cli.Kube, form InitForm, dir string,
) error {
	if err := checkFile(f.file); err != nil {
		return err
	}
	if f.cluster == "current" {
		uid, err := currentCluster(ctx, kube)
		if err != nil {
			return err
		}
		f.cluster = uid
	}
	if f.name == "" && form.FolderName {
		f.name = folderName(dir)
	}
	i, err := packages.PrepareInit(ctx, dir, packages.InitOptions{
		Name: f.name, ID: f.inventoryID, File: f.file, Force: f.force, Cluster: f.cluster, Now: env.Now,
		ApplySet: f.applySet, Root: packages.Root{Dir: f.root},
	})
	if err != nil {
		return err
	}
	namespace, err := inventoryNamespace(kube, i)
	if err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(env.Err, "initializing %q %s (namespace: %s)...", f.file, form.Object, namespace)
	}
	err = i.Write(namespace)
	if !f.quiet {
		word := "success"
		if err != nil {
			word = "failed"
		}
		fmt.Fprintln(env.Err, word)
	}
	return err
}

// inventoryNamespace returns the namespace of the inventory of a package: that of the flag, else
// that of all its objects, else that of the context.
func inventoryNamespace(kube *cli.Kube, i *packages.Initialization) (string, error) {
	namespace, explicit, err := kube.Namespace()
	if shared := i.CommonNamespace(); err == nil && shared != "" && !explicit {
		return shared, nil
	}
	return namespace, err
}

// NewInventory is an inventory that a package does not have yet.
type NewInventory struct {
	Name, Namespace string
	Path            string // of its file
	initialization  *packages.Initialization
}

// PrepareInventory returns the inventory that the native init would write for a folder.
func PrepareInventory(
	ctx context.Context, env *cli.Env, kube *cli.Kube, dir, root string,
) (*NewInventory, error) {
	name := folderName(dir)
	i, err := packages.PrepareInit(ctx, dir, InventoryOptions(env, dir, root))
	if err != nil {
		return nil, err
	}
	namespace, err := inventoryNamespace(kube, i)
	return &NewInventory{name, namespace, filepath.Join(dir, inventoryFile), i}, err
}

// InventoryOptions returns the options of a new inventory with the name of a folder.
func InventoryOptions(env *cli.Env, dir, root string) packages.InitOptions {
	return packages.InitOptions{
		Name: folderName(dir), File: inventoryFile, Root: packages.Root{Dir: root}, Now: env.Now,
	}
}

// Write writes the file of the inventory.
func (n *NewInventory) Write() error { return n.initialization.Write(n.Namespace) }

// folderName returns the name of a folder as the name of an object; empty if nothing is left of it.
func folderName(dir string) string {
	path, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(filepath.Base(path)))
	return strings.Trim(name[:min(len(name), 63)], "-")
}

// currentCluster returns the UID of the cluster in use.
func currentCluster(ctx context.Context, kube *cli.Kube) (string, error) {
	client, err := kube.Client()
	if err != nil {
		return "", err
	}
	uid, err := cli.ClusterUID(ctx, client)
	if err == nil && uid == "" {
		err = errors.New("the cluster has no namespace kube-system, whose UID identifies it; expect " +
			"context:PATTERN")
	}
	return uid, err
}

// inventoryFile is the default name of the file with the inventory.
const inventoryFile = "resourcegroup.yaml"

// addFile adds the flag for the name of the ResourceGroup file.
func addFile(flags *pflag.FlagSet, file *string) {
	flags.StringVar(file, "rg-file", inventoryFile,
		"Name of the ResourceGroup file in the package")
}

// checkFile returns an error for a value that is not the name of a file in the package.
func checkFile(file string) error {
	if file != filepath.Base(file) || file == "." || file == ".." {
		return &FileNameError{file}
	}
	return nil
}

// FileNameError reports a value of --rg-file that is not the name of a file.
type FileNameError struct{ Name string }

func (e *FileNameError) Error() string {
	return fmt.Sprintf("--rg-file must be a file name without a folder, not %q", e.Name)
}
