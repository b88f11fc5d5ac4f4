package look

import (
	"context"
	"fmt"
	"regexp"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/feature/managed"
	"github.com/muster-deploy/muster/internal/show/view"
)

// setsFlags are the flags of sets.
type setsFlags struct {
	allNamespaces bool
	output        cli.Choice
}

// NewSets returns the command that lists the Sets of the controller.
func NewSets(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := setsFlags{output: cli.Choice{
		Value: view.OutputText, Meaning: "output",
		Allowed: []string{view.OutputText, cli.OutputJSON, outputName},
	}}
	cmd := &cobra.Command{
		Use:   "sets",
		Short: "List the Sets that the controller keeps in the cluster",
		Long: `List the objects of kind Set (sets.muster.dev) in a namespace, or in all namespaces. MODE is what
the controller does with a Set: Apply, Plan, Observe, or Suspended. READY is Unknown as long as the
controller has not seen the last change of the Set. OBJECTS counts those that are ready, and all.
REVISION is the one that was applied last.

The packages and apps that Sets keep are ordinary ones: list, status, history and why show them.

Exit codes:
  0  the Sets were listed
  1  they could not be listed: the error says why`,
		Example: "  " + env.Name() + " sets -A\n  " + env.Name() + " sets -n shop -o json",
		Args:    cli.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), env, kube)
		},
	}
	cmd.Flags().BoolVarP(&f.allNamespaces, "all-namespaces", "A", false,
		"List the Sets of all namespaces")
	f.output.AddShortTo(cmd, "output", "o", "Output format")
	return cmd
}

func (f *setsFlags) run(ctx context.Context, env *cli.Env, kube *cli.Kube) error {
	if err := f.output.Check(); err != nil {
		return err
	}
	namespace := ""
	if !f.allNamespaces {
		var err error
		if namespace, _, err = kube.Namespace(); err != nil {
			return err
		}
	}
	client, err := kube.Client()
	if err != nil {
		return err
	}
	found, err := managed.List(ctx, client, namespace)
	switch {
	case err != nil:
		return err
	case len(found) == 0 && f.output.Value != cli.OutputJSON && namespace == "":
		env.Notice("No Sets found")
		return nil
	case len(found) == 0 && f.output.Value != cli.OutputJSON:
		env.Notice(fmt.Sprintf("No Sets found in %s namespace.", namespace))
		return nil
	}
	return f.print(env, found)
}

func (f *setsFlags) print(env *cli.Env, found []managed.Set) error {
	switch f.output.Value {
	case cli.OutputJSON:
		document := setsDocument{Items: make([]setItem, len(found))}
		for i := range found {
			document.Items[i] = newSetItem(&found[i])
		}
		return cli.Encode(env.Out, f.output.Value, document)
	case outputName:
		for _, s := range found {
			if err := env.Print(s.Title()); err != nil {
				return err
			}
		}
		return nil
	}
	return f.table(env, found)
}

// table prints a row for each Set.
func (f *setsFlags) table(env *cli.Env, found []managed.Set) error {
	table := tabwriter.NewWriter(env.Out, 0, 8, 3, ' ', 0)
	if f.allNamespaces {
		fmt.Fprint(table, "NAMESPACE\t")
	}
	fmt.Fprintln(table, "NAME\tMODE\tREADY\tOBJECTS\tREVISION\tAGE\tMESSAGE")
	for _, s := range found {
		mode := s.Spec.Mode
		if s.Spec.Suspend {
			mode = "Suspended"
		}
		if f.allNamespaces {
			fmt.Fprintf(table, "%s\t", s.Namespace)
		}
		ready, message := s.Ready()
		fmt.Fprintf(table, "%s\t%s\t%s\t%d/%d\t%s\t%s\t%s\n", s.Name, known(plaintext.Line(mode)), ready,
			s.Status.Objects.Ready, s.Status.Objects.Total,
			known(shortRevision(s.Status.Revision.Applied)), ageText(env, s.Created),
			plaintext.Line(message))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// digest is a digest of which twelve digits are enough for people.
var digest = regexp.MustCompile(`(sha256:[0-9a-f]{12})[0-9a-f]{52}`)

// shortRevision returns a revision of a source with a short digest.
func shortRevision(revision string) string {
	return plaintext.Line(digest.ReplaceAllString(revision, "$1"))
}

// setsDocument is the JSON of sets.
type setsDocument struct {
	Items []setItem `json:"items"`
}

// setItem is the JSON of a Set.
type setItem struct {
	Namespace string                 `json:"namespace"`
	Name      string                 `json:"name"`
	Kind      string                 `json:"kind"`   // that of list: package or app
	Record    string                 `json:"record"` // the name of the package or app
	Mode      string                 `json:"mode"`
	Suspended bool                   `json:"suspended"`
	Ready     metav1.ConditionStatus `json:"ready"`
	Message   string                 `json:"message,omitempty"`
	Objects   managed.Objects        `json:"objects"`
	Attempted string                 `json:"attemptedRevision,omitempty"`
	Applied   string                 `json:"appliedRevision,omitempty"`
	Plan      *setPlan               `json:"plan,omitempty"`
	Created   time.Time              `json:"created,omitzero"`
}

// setPlan is the JSON of the last plan of a Set.
type setPlan struct {
	Digest  string `json:"digest,omitempty"`
	Summary string `json:"summary"`
	State   string `json:"state"`
}

// newSetItem returns the JSON of a Set.
func newSetItem(s *managed.Set) setItem {
	record := s.Record()
	item := setItem{
		Namespace: s.Namespace, Name: s.Name, Kind: record.Format, Record: record.Name,
		Mode: s.Spec.Mode, Suspended: s.Spec.Suspend, Objects: s.Status.Objects,
		Attempted: s.Status.Revision.Attempted, Applied: s.Status.Revision.Applied,
		Created: s.Created,
	}
	item.Ready, item.Message = s.Ready()
	if p := s.Status.Plan; p.State != "" {
		item.Plan = &setPlan{Digest: p.Digest, Summary: p.Summary, State: p.State}
	}
	return item
}
