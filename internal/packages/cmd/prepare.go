package cmd

import (
	"context"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// prepared is a package with the plan of what is to be done for it, and what is needed to do it.
type prepared struct {
	pkg    *pkg
	client *cluster.Client
	rules  *ready.RuleSet
	engine *engine.Engine
	policy plan.Policy
	plan   *plan.Plan
}

// prepare reads the package and the cluster and plans. It changes nothing in the cluster but installs the definition of
// the record if the flags want that. An error of planning goes through fail, which may tell it elsewhere as well.
func (f applyFlags) prepare(ctx context.Context, env *cli.Env, kube *cli.Kube, dir string, fail func(error) error) (*prepared, error) {
	p, err := open(env, dir)
	if err != nil {
		return nil, err
	}
	rules, err := readyRules(dir, f.rules)
	if err != nil {
		return nil, err
	}
	client, err := kube.Client()
	if err != nil {
		return nil, err
	}
	s, err := scopingOf(kube)
	if err != nil {
		return nil, err
	}
	desired, err := p.desired(ctx, client, s)
	if err != nil {
		return nil, err
	}
	kube.SetSources(sourcesOf(desired))
	if err := f.ensureDefinition(ctx, env.Err, client, p.inventory); err != nil {
		return nil, err
	}
	policy, err := f.policy(p.inventory)
	if err != nil {
		return nil, err
	}
	p.inventory.advise(env.Err)
	store := newStore(client, p.inventory, f.statusPolicy.value)
	set, err := judging(ctx, client, rules, refsOf(desired))
	if err != nil {
		return nil, err
	}
	eng := newEngine(client, store, set)
	pl, err := eng.Plan(ctx, engine.Request{Desired: desired, Policy: policy})
	if err != nil {
		return nil, fail(err)
	}
	if err := p.checkHome(ctx, client, store, policy.RecordNamespace); err != nil {
		return nil, err
	}
	return &prepared{pkg: p, client: client, rules: set, engine: eng, policy: policy, plan: pl}, nil
}

// sourcesOf tells which file and document describes each object.
func sourcesOf(desired []plan.Desired) map[object.Ref]string {
	sources := make(map[object.Ref]string, len(desired))
	for _, d := range desired {
		sources[object.RefOf(d.Object)] = d.Source
	}
	return sources
}

// unchanged passes an error on.
func unchanged(err error) error { return err }
