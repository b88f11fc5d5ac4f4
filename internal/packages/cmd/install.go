package cmd

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
)

//go:embed crd.yaml
var definitionFile []byte

// establishTimeout is how long the server may take to accept the definition of the record.
const establishTimeout = 30 * time.Second

func newInstall(env *cli.Env, kube *cli.Kube) *cobra.Command {
	return &cobra.Command{
		Use:   "install-resource-group",
		Short: "Install or update the ResourceGroup definition in the cluster",
		Long: `Install the CustomResourceDefinition of ResourceGroup, in which packages keep their record, or bring
it up to date where it lacks something. apply does the same by itself.

Exit codes:
  0  the definition is there
  1  it could not be installed: the error says why`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return errors.New("too many arguments; install-resource-group takes no arguments")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := kube.Client()
			if err != nil {
				return err
			}
			fmt.Fprint(env.Out, "installing inventory ResourceGroup CRD...")
			if err := installDefinition(cmd.Context(), client); err != nil {
				fmt.Fprintln(env.Out, "failed")
				return err
			}
			fmt.Fprintln(env.Out, "success")
			return nil
		},
	}
}

// installAttempts is how often the definition is planned anew because somebody else installed it at the same moment.
const installAttempts = 3

// ourDefinition is the definition that this version works with.
func ourDefinition() (*unstructured.Unstructured, error) {
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(definitionFile, &crd.Object); err != nil {
		return nil, fmt.Errorf("read the ResourceGroup definition: %w", err)
	}
	return crd, nil
}

// installDefinition brings the definition to the cluster, unless one is there that serves, in the way of every other object:
// planned, written if it differs, waited for. Afterwards the client knows the kind.
func installDefinition(ctx context.Context, client *cluster.Client) error {
	crd, err := ourDefinition()
	if err != nil {
		return err
	}
	state, err := definitionFitness(ctx, client, crd)
	if err == nil && state == fit {
		return nil
	}
	for attempt := 0; err == nil && attempt < installAttempts; attempt++ {
		if err = applyDefinition(ctx, client, crd); err == nil {
			return client.LearnKind(ctx, crd)
		}
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
	}
	if err == nil {
		err = errors.New("others keep installing and deleting it")
	}
	return worded(fmt.Errorf("install the ResourceGroup definition: %w", err),
		asMessage, "Error: Unable to install the ResourceGroup CRD.\n\nDetails:\n%s", err)
}

func applyDefinition(ctx context.Context, client *cluster.Client, crd *unstructured.Unstructured) error {
	eng := &engine.Engine{Cluster: client, Records: record.Discard{}}
	p, err := eng.Plan(ctx, engine.Request{
		Desired: []plan.Desired{{Object: crd}},
		Policy:  plan.Policy{LastApplied: lastAppliedKey, Manager: manager},
	})
	if err != nil {
		return err
	}
	var last event.Event
	summary, err := eng.Apply(ctx, p, engine.Options{Limits: engine.Limits{Apply: establishTimeout}}, func(e event.Event) { last = e })
	switch {
	case err != nil || summary.Failures() == 0:
		return err
	case last.Err != nil:
		return last.Err
	case summary.Interrupted:
		return context.Canceled
	default:
		return fmt.Errorf("it is not established: %s", last.Status.Message)
	}
}
