// Package setflags finds the set of a native command: it holds the flags that name a set and its
// files, and opens the set and the connection to its cluster.
package setflags

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-deploy/muster/internal/base/suggest"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/artifactflags"
	"github.com/muster-deploy/muster/internal/cli/packageflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/artifact"
	"github.com/muster-deploy/muster/internal/feature/managed"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/input/files"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/show/view"
)

// Flags name the set of a command, together with its arguments.
type Flags struct {
	Files     []string
	Kustomize string
	App       string
	Group     string // of the app
	Record    string
	Root      string // that bases of kustomizations do not leave
	Cluster   cli.ClusterGuard
	Artifacts artifactflags.Flags
	Managed   *managed.Set // that an argument named, see UseSet; nil for none

	hasArtifacts bool   // the command takes artifacts
	noManifests  bool   // the command reads none of an app
	command      string // its name
}

// AddFiles adds the flags for a set with its files, which may be in an artifact.
func (f *Flags) AddFiles(cmd *cobra.Command) {
	f.addFiles(cmd)
	cmd.Flags().StringVar(&f.Record, "record", "",
		"Name of the record, in the namespace of -n, of a package in an artifact (oci://)")
	f.AddArtifacts(cmd)
}

// AddRoot adds the flag for the folder that confines the bases of kustomizations.
func (f *Flags) AddRoot(cmd *cobra.Command) { packageflags.AddRoot(cmd.Flags(), &f.Root) }

// AddArtifacts adds the flags for sets in artifacts to a command that has those for files.
func (f *Flags) AddArtifacts(cmd *cobra.Command) {
	f.hasArtifacts = true
	cmd.Flags().Lookup("filename").Usage = "Folder of the package; with --app: " +
		"folders, files, URLs, oci:// or - with manifests (can repeat)"
	f.Artifacts.Add(cmd)
}

// addFiles adds the flags for a set with its files.
func (f *Flags) addFiles(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.Files, "filename", "f", nil, "Folder of the package; with --app: "+
		"folders, files, URLs or - with manifests (can repeat)")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "file" { // as kapp calls it
			name = "filename"
		}
		return pflag.NormalizedName(name)
	})
	flags.StringVarP(&f.Kustomize, "kustomize", "k", "", "Folder with a kustomization")
	f.AddRoot(cmd)
	f.AddName(cmd)
}

// AddRecord adds the flags for a set without its files.
func (f *Flags) AddRecord(cmd *cobra.Command) {
	f.addFiles(cmd)
	f.addRecordFlag(cmd)
}

// AddFolder adds the flags of AddRecord for a command that reads nothing of an app but its record.
func (f *Flags) AddFolder(cmd *cobra.Command) {
	f.AddRecord(cmd)
	f.noManifests = true
	cmd.Flags().Lookup("filename").Usage = "Folder of the package"
}

// AddRecordName adds the flags that name a record.
func (f *Flags) AddRecordName(cmd *cobra.Command) {
	f.AddName(cmd)
	f.addRecordFlag(cmd)
}

func (f *Flags) addRecordFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Record, "record", "",
		"Name of the package's record in the namespace of -n, instead of its folder")
}

func (f *Flags) AddName(cmd *cobra.Command) {
	f.command = cmd.Name()
	cmd.Flags().StringVarP(&f.App, "app", "a", "",
		"Name of the app; its record is in the namespace of -n")
	f.Cluster.Add(cmd.Flags())
}

// AddSelector adds kubectl's flag for the labels of objects to a command that has --filter-labels:
// both set one value.
func AddSelector(cmd *cobra.Command) {
	cmd.Flags().VarP(cmd.Flags().Lookup("filter-labels").Value, "selector", "l",
		"Only objects that this label query selects; the same as --filter-labels (example: x=y)")
}

// Request returns the request for the set that the flags, or one argument, name. It fetches the
// artifacts among them. Readiness rules may be in ruleFiles.
func (f *Flags) Request(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args, ruleFiles []string,
) (sets.Request, error) {
	if err := errors.Join(f.checkArguments(args), f.checkManifests(), f.CheckRoot()); err != nil {
		return sets.Request{}, err
	}
	return f.FilesRequest(ctx, env, kube, args, ruleFiles)
}

// FilesRequest returns the request of Request for a command that takes files: arguments beside a
// flag that names the set are files of it.
func (f *Flags) FilesRequest(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args, ruleFiles []string,
) (sets.Request, error) {
	namespace, explicit, err := kube.Namespace()
	r := sets.Request{
		Files: append(append([]string{}, args...), f.Files...), App: f.App, Group: f.Group,
		Record: f.Record, Root: f.Root,
		Stream: env.In, Namespace: namespace, Enforced: explicit, Rules: ruleFiles, Notice: env.Notice,
		Now: env.Now,
	}
	if f.Kustomize != "" {
		r.Files = append(r.Files, f.Kustomize)
	}
	switch {
	case err != nil:
		return r, err
	case f.App != "" && f.Record != "":
		return r, errors.New("--app names an app and --record a package: give one of them")
	case f.Record != "" && len(r.Files) == 1 && artifact.IsReference(r.Files[0]):
		return r, f.fetch(ctx, env, &r)
	case f.Record != "" && len(r.Files) > 0:
		return r, errors.New("--record names a package without its folder: give one of them")
	case f.ByRecord():
		return r, f.fetch(ctx, env, &r)
	case len(r.Files) > 1:
		return r, fmt.Errorf("a package is one folder, but %s were given; several files are deployed "+
			"as an app: give its name with -a", strings.Join(r.Files, " and "))
	case len(r.Files) == 0:
		r.Files = []string{"."}
	}
	if err := checkPackage(r.Files[0]); err != nil {
		return r, err
	}
	return r, f.fetch(ctx, env, &r)
}

// checkPackage returns an error for an argument that is no folder, and says what it could be meant
// for.
func checkPackage(arg string) error {
	if artifact.IsReference(arg) {
		return fmt.Errorf("%s: an artifact does not say which record is its own: name it with --record "+
			"NAME and -n NAMESPACE, or deploy it as an app, with -a NAME -f %s", arg, arg)
	}
	if strings.Contains(arg, "://") {
		return fmt.Errorf("%s: a package is a folder; manifests at a URL are deployed as an app: give "+
			"its name with -a, as in -a NAME -f URL", arg)
	}
	info, err := os.Stat(arg)
	if arg == packages.Stdin || err != nil || info.IsDir() || !info.Mode().IsRegular() {
		return nil // whoever opens the folder says what is wrong with it
	}
	return fmt.Errorf("%q is a file, but a package is a folder: name the folder that the file is in, "+
		"or deploy the file as an app: -a NAME -f %s", arg, arg)
}

// Open reads the set with its files and connects.
func (f *Flags) Open(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args, ruleFiles []string,
) (sets.Set, cluster.Writer, error) {
	r, err := f.FilesRequest(ctx, env, kube, args, ruleFiles)
	if err != nil {
		return nil, nil, err
	}
	if err := checkFiles(r); err != nil {
		return nil, nil, err
	}
	if r.NamesArtifact() {
		c, err := f.Connect(ctx, env, kube, nil)
		if err != nil {
			return nil, nil, err
		}
		set, err := sets.OpenIn(ctx, c, r)
		return set, c, err
	}
	set, err := sets.Open(ctx, r)
	if err != nil {
		return nil, nil, hintFolder(err)
	}
	c, err := f.Connect(ctx, env, kube, set)
	return set, c, err
}

// OpenOffline reads the set with its files, and does not connect.
func (f *Flags) OpenOffline(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) (sets.Set, error) {
	r, err := f.FilesRequest(ctx, env, kube, args, nil)
	if err != nil {
		return nil, err
	}
	if err := checkFiles(r); err != nil {
		return nil, err
	}
	set, err := sets.Open(ctx, r)
	return set, hintFolder(err)
}

// checkFiles returns an error for a set without files.
func checkFiles(r sets.Request) error {
	switch {
	case len(r.Files) > 0:
		return nil
	case r.Record != "":
		return errors.New("--record names the record of a package in an artifact: give the artifact, " +
			"oci://REGISTRY/REPOSITORY:TAG; a folder says which record is its own")
	}
	return fmt.Errorf("no manifests are given for the app %q: name files or folders with -f", r.App)
}

// OpenRecord reads what names the record of the set, and connects.
func (f *Flags) OpenRecord(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args, ruleFiles []string,
) (sets.Set, cluster.Writer, error) {
	r, err := f.Request(ctx, env, kube, args, ruleFiles)
	if err != nil {
		return nil, nil, err
	}
	if r.Record == "" {
		set, err := f.OpenNamed(ctx, r)
		if err != nil {
			return nil, nil, err
		}
		c, err := f.Connect(ctx, env, kube, set)
		return set, c, err
	}
	c, err := f.Connect(ctx, env, kube, nil)
	if err != nil {
		return nil, nil, err
	}
	set, err := sets.Find(ctx, c, r)
	return set, c, err
}

// OpenNamed reads what names the record of an app or of a package with a folder.
func (f *Flags) OpenNamed(ctx context.Context, r sets.Request) (sets.Set, error) {
	set, err := sets.OpenRecord(ctx, r)
	if err != nil {
		return nil, f.withHint(err, r)
	}
	return set, nil
}

// RecordRequest returns the request for the record of the set, which has this name in a history.
func (f *Flags) RecordRequest(env *cli.Env, named history.Set) sets.Request {
	r := sets.Request{App: f.App, Namespace: named.Namespace, Notice: env.Notice, Now: env.Now}
	if f.App == "" {
		r.Record = named.Name
	}
	return r
}

// ReadyRules returns the readiness rules of the set and of files.
func (f *Flags) ReadyRules(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args, ruleFiles []string,
) ([]ready.Rule, error) {
	r, err := f.Request(ctx, env, kube, args, nil)
	switch {
	case err != nil:
		return nil, err
	case r.App != "":
		return files.ReadRules(ctx, r.Files, ruleFiles)
	case r.Record != "":
		return policy.ReadRules(ctx, ruleFiles)
	}
	return policy.ReadRules(ctx, ruleFiles, r.Files[0])
}

// Targets connects and returns the objects of the set in the cluster.
func (f *Flags) Targets(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) (*operation.StatusTargets, cluster.Writer, error) {
	set, client, err := f.OpenRecord(ctx, env, kube, args, nil)
	if err != nil {
		return nil, nil, err
	}
	m, err := set.Targets(ctx, client)
	if err == nil {
		WarnOfHidden(env, m)
		m.Finished = sets.Finished(client, set, env.Now)
	}
	return m, client, err
}

// WarnOfHidden warns of objects that a set may have and that cannot be listed.
func WarnOfHidden(env *cli.Env, m *operation.StatusTargets) {
	if m.Hidden != nil {
		env.Notice("Warning: " + m.Hidden.Error())
	}
}

// OpenHistory connects and returns the history of the set, and what messages call the set.
func (f *Flags) OpenHistory(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) (s *history.Store, title string, err error) {
	if f.Record != "" {
		r, err := f.Request(ctx, env, kube, args, nil)
		if err != nil {
			return nil, "", err
		}
		client, err := f.Connect(ctx, env, kube, nil)
		if err != nil {
			return nil, "", err
		}
		s, err := sets.FindHistory(ctx, client, r)
		return s, fmt.Sprintf("package %q", f.Record), err
	}
	set, client, err := f.OpenRecord(ctx, env, kube, args, nil)
	if err != nil {
		return nil, "", err
	}
	s, err = sets.OpenHistory(ctx, client, set)
	return s, set.Title(), err
}

// hintFolder adds to the error of a package whose folder does not exist which one could be meant.
func hintFolder(err error) error {
	missing := (*packages.NoFolderError)(nil)
	if !errors.As(err, &missing) {
		return err
	}
	if hint := suggest.HintPath(missing.Folder, true); hint != "" {
		return fmt.Errorf("%w%s", err, hint)
	}
	return err
}

// withHint adds to the error of a package whose folder does not exist what could be meant.
func (f *Flags) withHint(err error, r sets.Request) error {
	missing := (*packages.NoFolderError)(nil)
	if !errors.As(err, &missing) {
		return err
	}
	if hint := f.hintRevision(nil, missing.Folder); hint != "" {
		return fmt.Errorf("%w%s", err, hint)
	}
	if hinted := hintFolder(err); hinted != err {
		return hinted
	}
	name := path.Base(filepath.ToSlash(r.Files[0]))
	return fmt.Errorf("%w; without its folder a package is named by its record (--record %s), and an "+
		"app is named by -a %s; muster list shows both", err, name, name)
}

// Connect connects to the cluster, and returns an error if the user expects another one, or the set
// belongs to another one. The set may be nil.
func (f *Flags) Connect(
	ctx context.Context, env *cli.Env, kube *cli.Kube, set sets.Set,
) (cluster.Writer, error) {
	connect := kube.Client
	if f.App != "" {
		connect = kube.WriteClient
	}
	client, err := connect()
	if err != nil {
		return nil, err
	}
	expected := cli.ExpectedCluster{}
	if set != nil {
		expected.Value, expected.Where = set.Expected()
	}
	return client, f.Cluster.Check(ctx, env, kube, client, expected)
}

// packageFlags are flags that mean something for packages alone.
var packageFlags = []string{
	"field-manager", "status-policy", "install-resource-group",
}

// CheckFlags returns an error for a flag that means nothing for the kind of set.
func (f *Flags) CheckFlags(cmd *cobra.Command) error {
	if f.App == "" {
		return nil
	}
	for _, name := range packageFlags {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is for packages, and %q is an app; omit it", name, f.App)
		}
	}
	return nil
}

// Target is a set in a cluster, which a command is about to change.
type Target struct {
	Cluster      cluster.Writer
	Place, Title string // what messages call the cluster and the set

	Set, Namespace string // what messages call the set, and the namespace of its record
}

// NewTarget returns the target for a set in a cluster.
func NewTarget(kube *cli.Kube, c cluster.Writer, set sets.Set) (Target, error) {
	place, err := kube.Place(c.Host())
	if err != nil {
		return Target{}, err
	}
	namespace, _ := set.Name()
	return Target{
		Cluster: c, Place: place, Title: fmt.Sprintf("%s in namespace %s", set.Title(), namespace),
		Set: set.Title(), Namespace: namespace,
	}, nil
}

// Print prints the target and the number of objects of the plan on standard error, so that users
// notice a wrong cluster. Outputs for programs are left alone.
func (t Target) Print(env *cli.Env, output string, op *sets.Operation) {
	if output != view.OutputText && output != view.OutputTable {
		return
	}
	count, noun := len(op.Plan.Refs()), "objects"
	if count == 1 {
		noun = "object"
	}
	env.Notice(fmt.Sprintf("%s: %d %s of %s", t.Place, count, noun, t.Title))
}

// SourceFolder returns the folder that the files of the set come from; empty if they come from
// elsewhere.
func (f *Flags) SourceFolder(args []string) string {
	paths := append(append([]string{}, args...), f.Files...)
	if f.Kustomize != "" {
		paths = append(paths, f.Kustomize)
	}
	if len(paths) == 0 && f.App == "" {
		return "."
	}
	if len(paths) == 0 || paths[0] == packages.Stdin || strings.Contains(paths[0], "://") {
		return ""
	}
	if info, err := os.Stat(paths[0]); err == nil && !info.IsDir() {
		return filepath.Dir(paths[0])
	}
	return paths[0]
}
