package packages

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/packages/inventory"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
)

//go:embed crd.yaml
var definitionFile []byte

// establishTimeout limits how long the server may take to establish the definition.
const establishTimeout = 30 * time.Second

// installAttempts limits how often the definition is planned because others install it at the same
// time.
const installAttempts = 3

// ourDefinition returns the definition that ships with the program.
func ourDefinition() (*unstructured.Unstructured, error) {
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(definitionFile, &crd.Object); err != nil {
		return nil, fmt.Errorf("read the ResourceGroup definition: %w", err)
	}
	return crd, nil
}

// Install installs or updates the definition unless the cluster's is good enough: it is planned,
// written and waited for as other objects are. Then the cluster knows the kind.
func Install(ctx context.Context, client Cluster) error {
	crd, err := ourDefinition()
	if err != nil {
		return err
	}
	state, err := definitionStateIn(ctx, client, crd)
	if err == nil && state == definitionCurrent {
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
	return &InstallError{err}
}

func applyDefinition(ctx context.Context, client Cluster, crd *unstructured.Unstructured) error {
	eng := &engine.Engine{Cluster: client, Records: record.Discard{}}
	p, err := eng.Plan(ctx, engine.Request{
		Desired: []plan.Desired{{Object: crd}},
		Policy:  plan.Policy{LastApplied: lastAppliedKey, Manager: inventory.Manager},
	})
	if err != nil {
		return err
	}
	var last event.Event
	summary, err := eng.Apply(
		ctx, p, engine.Options{Limits: engine.Limits{Apply: establishTimeout}},
		func(e event.Event) { last = e },
	)
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
