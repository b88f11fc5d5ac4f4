package cmd

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/apps/ui"
)

// labelList is a run of tools list-labels.
type labelList struct {
	accessor string
	values   bool
}

func (p *program) newListLabels() *cobra.Command {
	l := &labelList{}
	cmd := &cobra.Command{
		Use: "list-labels", Aliases: []string{"ls-labels"}, Short: "List labels",
		Long: `List labels: count by their keys, or by their values as well, the labels, annotations or owner references of all
objects of the cluster.`,
		Example: p.named(`  # Count the annotations of all objects
  NAME tools list-labels --accessor annotations`),
	}
	(&fileFlags{}).add(cmd) // as in kapp they mean nothing
	cmd.Flags().StringVar(&l.accessor, "accessor", "labels", "Extracted field (labels, annotations, ownerrefs)")
	cmd.Flags().BoolVar(&l.values, "values", false, "Show values")
	return p.command(cmd, false, l.run)
}

// accessors are what is counted, by the word for it.
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

// annotationsOf are the annotations of an object, without the values of those that hold a copy of a Secret.
func annotationsOf(obj live) map[string]string {
	all := obj.GetAnnotations()
	if obj.GroupVersionKind().GroupKind() != secretKind {
		return all
	}
	for _, key := range []string{resource.AnnOriginal, resource.AnnOriginalDiff, resource.AnnOriginalDiffFull, resource.AnnKubectlApplied} {
		if _, ok := all[key]; ok {
			all[key] = "<-- value not shown"
		}
	}
	return all
}

func (l *labelList) run(ctx context.Context, s *session) error {
	pairs, ok := accessors[l.accessor]
	if !ok {
		return errors.New("Unknown resource accessor (hint: --accessor takes labels, annotations or ownerrefs)")
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

// labelTable counts keys, or keys with their values. Objects without any stand as a key without a name, which counts nothing.
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
