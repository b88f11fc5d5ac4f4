package packageflags

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/sets/packages"
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
		return "Name of the ResourceGroup (default: that of the folder; of an " +
			"overlay, with that of what it belongs to: APP-OVERLAY)"
	}
	return "Name of the ResourceGroup (default: inventory- and 8 random digits)"
}

// contact returns the sentence of the help that says when the command contacts the cluster.
func (f InitForm) contact() string {
	if f.FolderName {
		return `If there is a cluster, it is asked whether another
package has the name there.`
	}
	return "This does not contact the cluster."
}

// NewInit returns the command init.
func NewInit(env *cli.Env, kube *cli.Kube, form InitForm) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Create the inventory of a package",
		Long: `Write the ResourceGroup that identifies the inventory of the package in a folder
(default: the working folder). ` + form.contact() + `

The namespace of the inventory is that of --namespace, else the one of all objects of the package,
else that of the kubeconfig's context.

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
	given := f.name != ""
	if !given && form.FolderName {
		f.name = folderName(ctx, dir)
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
	if form.FolderName {
		if err := checkName(ctx, env, kube, i, namespace, given); err != nil {
			return err
		}
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

// checkName returns an error if the cluster, as far as there is one, has the record of another
// package with the name of a new inventory. The cluster may be another one than the package is for:
// a name that was given is used, with a warning.
func checkName(
	ctx context.Context, env *cli.Env, kube *cli.Kube, i *packages.Initialization,
	namespace string, given bool,
) error {
	if i.Check() != nil {
		return nil // Write returns it
	}
	err := cli.Ask(ctx, kube, i.NameCheck(namespace))
	taken := (*packages.NameTakenError)(nil)
	switch {
	case !errors.As(err, &taken):
		return nil // so does Write
	case given:
		env.Notice("Warning: " + err.Error())
		return nil
	default:
		return fmt.Errorf("%w; choose another name with --name", err)
	}
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
	name := folderName(ctx, dir)
	i, err := packages.PrepareInit(ctx, dir, InventoryOptions(ctx, env, dir, root))
	if err != nil {
		return nil, err
	}
	namespace, err := inventoryNamespace(kube, i)
	return &NewInventory{name, namespace, filepath.Join(dir, inventoryFile), i}, err
}

// InventoryOptions returns the options of a new inventory with the name of a folder.
func InventoryOptions(
	ctx context.Context, env *cli.Env, dir, root string,
) packages.InitOptions {
	return packages.InitOptions{
		Name: folderName(ctx, dir), File: inventoryFile, Root: packages.Root{Dir: root}, Now: env.Now,
	}
}

// CheckName returns an error if the cluster has the record of another package with the name.
func (n *NewInventory) CheckName(ctx context.Context, env *cli.Env, kube *cli.Kube) error {
	return checkName(ctx, env, kube, n.initialization, n.Namespace, false)
}

// Write writes the file of the inventory.
func (n *NewInventory) Write() error { return n.initialization.Write(n.Namespace) }

// folderName returns the default name of the set in a folder as the name of an object; empty if
// nothing is left of it.
func folderName(ctx context.Context, dir string) string {
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(packages.SetName(ctx, dir)))
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
