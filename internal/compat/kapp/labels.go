package kapp

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// labelsCommand is the command tools list-labels with its flags.
type labelsCommand struct {
	accessor string
	values   bool
}

func (p *program) newListLabels() *cobra.Command {
	l := &labelsCommand{}
	cmd := &cobra.Command{
		Use: "list-labels", Aliases: []string{"ls-labels"}, Short: "List labels",
		Long: `List labels: count by their keys, or by their values as well, the labels, annotations or owner references of all
objects of the cluster.`,
		Example: p.named(`  # Count the annotations of all objects
  NAME tools list-labels --accessor annotations`),
	}
	(&fileFlags{}).add(cmd) // as in kapp they mean nothing
	cmd.Flags().
		StringVar(&l.accessor, "accessor", "labels", "Extracted field (labels, annotations, "+
			"ownerrefs)")
	cmd.Flags().BoolVar(&l.values, "values", false, "Show values")
	return p.command(cmd, false, l.run)
}

// accessors has the fields that the command counts, by the value of --accessor.
var accessors = map[string]func(live) map[string]string{
	"labels":      live.GetLabels,
	"annotations": annotationsOf,
	"ownerrefs": func(obj live) map[string]string {
		owners := map[string]string{}
		for _, ref := range obj.GetOwnerReferences() {
			owners[obj.GetNamespace()+"/"+ref.APIVersion+"/"+ref.Kind+"/"+ref.Name] = ""
		}
		return owners
	},
}

var secretKind = schema.GroupKind{Kind: "Secret"}

// annotationsOf returns the annotations of an object. It redacts those that hold a copy of a
// Secret.
func annotationsOf(obj live) map[string]string {
	all := obj.GetAnnotations()
	if obj.GroupVersionKind().GroupKind() != secretKind {
		return all
	}
	for _, key := range []string{resource.AnnOriginal, resource.AnnOriginalDiff,
		resource.AnnOriginalDiffFull, resource.AnnKubectlApplied} {
		if _, ok := all[key]; ok {
			all[key] = "<-- value not shown"
		}
	}
	return all
}

func (l *labelsCommand) run(ctx context.Context, s *session) error {
	pairs, ok := accessors[l.accessor]
	if !ok {
		return errors.New(
			"Unknown resource accessor (hint: --accessor takes labels, annotations or ownerrefs)",
		)
	}
	if err := s.connect(ctx); err != nil {
		return err
	}
	found, err := s.apps.Unlabeled(ctx)
	if err != nil {
		return err
	}
	return s.ui.Table(labelTable(found, pairs, l.values))
}

// labelTable returns a table that counts keys, or keys with values. Objects without any have a
// row with an empty key and no count.
func labelTable(found []live, pairs func(live) map[string]string, values bool) ui.Table {
	header := ui.Columns("Name", "Value", "Resources")
	header[1].Hidden = !values
	counts := map[[2]string]int{}
	for _, obj := range found {
		all := pairs(obj)
		for key, value := range all {
			if !values {
				value = ""
			}
			counts[[2]string{key, value}]++
		}
		if len(all) == 0 && !values {
			counts[[2]string{}] = 0
		}
	}
	table := ui.Table{Title: "Labels", Content: "labels", Header: header, SortBy: ui.SortBy(0, 1)}
	for pair, count := range counts {
		table.Rows = append(table.Rows, ui.Cells(pair[0], pair[1], strconv.Itoa(count)))
	}
	return table
}

func (p *program) newLabel() *cobra.Command {
	var flags appFlags
	cmd := &cobra.Command{
		Use: "label", Short: "Print specified app label",
		Long: `Print specified app label: the selector by which the resources of the app are found.`,
		Example: p.named(`  # List the pods of app 'web'
  kubectl get pods -l "$(NAME label -a web)"`),
	}
	flags.add(cmd)
	return p.command(cmd, false, func(ctx context.Context, s *session) error {
		name, err := s.open(ctx, flags)
		if err != nil {
			return err
		}
		target, err := s.apps.Existing(ctx, name)
		if err != nil {
			return err
		}
		s.ui.Block(target.Selector())
		return nil
	})
}
