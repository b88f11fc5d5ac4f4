package look

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/artifact"
	"github.com/muster-deploy/muster/internal/feature/drift"
	"github.com/muster-deploy/muster/internal/feature/managed"
	"github.com/muster-deploy/muster/internal/sets"
)

// The output formats of drift, beside text and JSON.
const (
	outputJUnit    = "junit"
	outputGitHub   = "github"
	outputMarkdown = "markdown"
)

// includeControllers is the value of --include.
const includeControllers = "controllers"

// ExitDrift is the exit code if something drifted.
const ExitDrift = 2

// DriftFlags are the flags of drift.
type DriftFlags struct {
	setflags.Flags
	Against  string
	include  cli.Choice
	managers string
	audit    string
	output   cli.Choice
	watch    bool
}

// NewDriftFlags returns the flags with defaults.
func NewDriftFlags() DriftFlags {
	return DriftFlags{
		Against: sets.AgainstGood,
		include: cli.Choice{Meaning: "--include", Allowed: []string{includeControllers}},
		output: cli.Choice{Value: outputText, Meaning: "output", Allowed: []string{
			outputText, cli.OutputJSON, outputJUnit, outputGitHub, outputMarkdown,
		}},
	}
}

// Add adds the flags to a command.
func (f *DriftFlags) Add(cmd *cobra.Command) {
	f.AddRecord(cmd)
	f.AddArtifacts(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.Against, "against", f.Against, "What the cluster is compared with: the number "+
		"of a revision, good for the last good one, . for the files of the set (of an app: those of "+
		"-f), or an artifact (oci://)")
	f.include.AddTo(cmd, "include", "Count differences that are otherwise left alone")
	flags.StringVar(&f.managers, "managers", "", "File with classes of field managers, in addition "+
		"to the known ones")
	flags.StringVar(&f.audit, "audit", "", "Audit log of the API server, or - for the standard "+
		"input: name the persons who changed the objects")
	flags.BoolVarP(&f.watch, "watch", "w", false, "Print changes until interrupted")
	f.output.AddShortTo(cmd, "output", "o", "Output format")
}

// DriftResult is the result of a comparison.
type DriftResult struct {
	Request  sets.Request
	Cluster  cluster.Writer
	Baseline *sets.Baseline
	Options  drift.Options
	Drift    *sets.Drift
	// Accepted is how the files change, as the result in JSON has it; nil without a change of files.
	Accepted *AcceptedDocument
	Managed  *managed.Set // that keeps the set; nil for none

	audit *drift.AuditLog
}

// Drifted returns the objects that drifted.
func (r *DriftResult) Drifted() []drift.Object {
	var drifted []drift.Object
	for _, o := range r.Drift.Objects {
		if o.Counts() {
			drifted = append(drifted, o)
		}
	}
	return drifted
}

// Run compares and prints the differences.
func (f *DriftFlags) Run(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) (*DriftResult, error) {
	r, err := f.Find(ctx, env, kube, args)
	if err != nil {
		return nil, err
	}
	if err := f.Print(env, r); err != nil {
		return nil, err
	}
	if f.watch {
		return r, f.follow(ctx, env, r)
	}
	return r, nil
}

// Find compares.
func (f *DriftFlags) Find(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) (*DriftResult, error) {
	r, err := f.Open(ctx, env, kube, args)
	if err != nil {
		return nil, err
	}
	return r, f.Unrecorded(r.find(ctx))
}

// Exit returns the error for the exit code of a result. Nothing drifted only if all was compared.
func (r *DriftResult) Exit() error {
	if len(r.Drifted()) > 0 {
		return &cli.ExitCodeError{Code: ExitDrift}
	}
	return r.Drift.Incomplete
}

// Output returns the output format, and whether the user has given one.
func (f *DriftFlags) Output() (format string, given bool) {
	return f.output.Value, f.output.Value != outputText
}

// Watches reports whether changes are printed until an interrupt.
func (f *DriftFlags) Watches() bool { return f.watch }

// Open checks the flags, reads what they name, and connects.
func (f *DriftFlags) Open(
	ctx context.Context, env *cli.Env, kube *cli.Kube, args []string,
) (*DriftResult, error) {
	r := &DriftResult{Managed: f.Managed}
	if f.Managed != nil {
		r.Options.Ignore = f.Managed.Spec.Ignore
	}
	if f.include.Value != "" {
		if err := f.include.Check(); err != nil {
			return nil, err
		}
		r.Options.IncludeControllers = true
	}
	if err := f.output.Check(); err != nil {
		return nil, err
	}
	if f.watch && f.output.Value != outputText && f.output.Value != cli.OutputJSON {
		return nil, fmt.Errorf("--watch prints text or json, and %s is one document: omit --watch",
			f.output.Value)
	}
	if f.managers != "" {
		text, err := boundedio.ReadNamed(ctx, f.managers)
		if err != nil {
			return nil, fmt.Errorf("read the classes of managers: %w", err)
		}
		if r.Options.Managers, err = drift.ParseClasses(text); err != nil {
			return nil, fmt.Errorf("read the classes of managers in %s: %w", f.managers, err)
		}
	}
	if err := f.readAudit(env, r); err != nil {
		return nil, err
	}
	var err error
	if r.Request, err = f.Request(ctx, env, kube, args, nil); err != nil {
		return nil, err
	}
	if artifact.IsReference(f.Against) {
		if err := f.againstArtifact(ctx, env, &r.Request); err != nil {
			return nil, err
		}
	}
	if f.Against == sets.AgainstFiles || f.Record != "" {
		r.Cluster, err = f.Connect(ctx, env, kube, nil)
	} else {
		_, r.Cluster, err = f.OpenRecord(ctx, env, kube, args, nil)
	}
	if err != nil {
		return nil, err
	}
	r.Baseline, err = sets.OpenBaseline(ctx, r.Cluster, r.Request, f.Against, false)
	return r, f.Unrecorded(err)
}

// againstArtifact makes the files of an artifact the files of the set.
func (f *DriftFlags) againstArtifact(
	ctx context.Context, env *cli.Env, r *sets.Request,
) error {
	if !f.ByRecord() {
		return fmt.Errorf("--against %s: name the package by its record, with --record NAME", f.Against)
	}
	dir, err := f.FetchInto(ctx, env, r, f.Against)
	r.Files, f.Against = []string{dir}, sets.AgainstFiles
	return err
}

// readAudit reads the audit log that the flag names.
func (f *DriftFlags) readAudit(env *cli.Env, r *DriftResult) error {
	if f.audit == "" {
		return nil
	}
	var in io.Reader = env.In
	name := "standard input"
	if f.audit != "-" {
		file, err := os.Open(f.audit)
		if err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		in, name = file, f.audit
	}
	log, err := drift.ReadAudit(in)
	if err != nil {
		return fmt.Errorf("read the audit log %s: %w", name, err)
	}
	r.audit = log
	return nil
}

// find compares and adds the persons.
func (r *DriftResult) find(ctx context.Context) error {
	found, err := r.Baseline.Find(ctx, r.Options)
	if err != nil {
		return err
	}
	return r.SetDrift(ctx, found)
}

// SetDrift sets what was found, and adds the persons.
func (r *DriftResult) SetDrift(ctx context.Context, found *sets.Drift) error {
	r.Drift = found
	if r.audit != nil {
		return r.Baseline.Join(ctx, found, r.audit)
	}
	return nil
}

// WarnOfUnserved warns of objects that were not compared.
func WarnOfUnserved(env *cli.Env, found *sets.Drift) {
	for _, ref := range found.Unserved {
		env.Notice(fmt.Sprintf("Warning: %s was not compared: the cluster does not serve its kind", ref))
	}
	for _, err := range found.Uncompared {
		env.Notice("Warning: " + err.Error())
	}
}

// Print prints the result in the format of the flag.
func (f *DriftFlags) Print(env *cli.Env, r *DriftResult) error {
	WarnOfUnserved(env, r.Drift)
	var err error
	switch f.output.Value {
	case cli.OutputJSON:
		err = r.json(env, f.watch)
	case outputJUnit:
		err = r.junit(env)
	case outputGitHub:
		err = r.github(env)
	case outputMarkdown:
		err = r.markdown(env)
	default:
		err = r.text(env)
	}
	if err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}
