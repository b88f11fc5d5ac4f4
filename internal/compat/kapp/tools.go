package kapp

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/compat/kapp/change"
	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
	"github.com/muster-deploy/muster/internal/sets/input"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

func (p *program) newTools() *cobra.Command {
	return parent("tools", "Tools", []string{"t"}, p.newToolsDiff(), p.newToolsInspect(),
		p.newListLabels())
}

// toolsInspectCommand is the command tools inspect with its flags.
type toolsInspectCommand struct {
	files  fileFlags
	filter filterFlags
	raw    bool
}

func (p *program) newToolsInspect() *cobra.Command {
	i := &toolsInspectCommand{}
	cmd := &cobra.Command{
		Use: "inspect", Aliases: []string{"i"}, Short: "Inspect resources",
		Long: `Inspect resources: show what files describe, file by file. No cluster is asked.`,
		Example: p.named(`  # List what the files of a folder describe
  NAME tools inspect -f config/`),
	}
	i.files.add(cmd)
	i.filter.add(cmd)
	cmd.Flags().BoolVar(&i.raw, "raw", false, "Output raw YAML resource content")
	return p.command(cmd, false, i.run)
}

func (i *toolsInspectCommand) run(ctx context.Context, s *session) error {
	narrow, err := i.filter.ResourceFilter(s.env.Now())
	if err != nil {
		return err
	}
	options := s.inputs(i.files.files)
	for _, file := range options.Files {
		sources, err := options.Sources(file)
		if err != nil {
			return err
		}
		for _, source := range sources {
			objects, err := objectsOf(ctx, source)
			if err != nil {
				return err
			}
			if narrow != nil {
				objects = slices.DeleteFunc(objects,
					func(obj live) bool { return !narrow.Matches(obj) })
			}
			if err := i.print(s, source.Name, objects); err != nil {
				return err
			}
		}
	}
	return nil
}

func (i *toolsInspectCommand) print(s *session, name string, objects []live) error {
	if i.raw {
		return printRaw(s.ui, objects)
	}
	table := resourceTable("Resources in "+name, nil, s.env.Now())
	if !i.files.sort {
		table.SortBy, table.FillFirst = nil, true
	}
	for _, obj := range objects {
		row := resourceRow(obj, ui.Cell{Text: obj.GetName()}, s.env.Now())
		if !stored(obj) {
			clear(row[4:]) // a file has no owner, state and age
		}
		table.Rows = append(table.Rows, row)
	}
	return s.ui.Table(table)
}

// stored reports whether an object in a file was read from a cluster.
func stored(obj live) bool {
	created := obj.GetCreationTimestamp()
	return obj.GetUID() != "" || !created.IsZero()
}

// objectsOf returns the objects of one source.
func objectsOf(ctx context.Context, source input.Source) ([]live, error) {
	all, err := source.Load(ctx)
	objects := make([]live, len(all))
	for i, r := range all {
		objects[i] = r.Unstructured
	}
	return objects, err
}

// toolsDiffCommand is the command tools diff with its flags.
type toolsDiffCommand struct {
	files fileFlags
	old   []string
	diff  diffFlags
}

func (p *program) newToolsDiff() *cobra.Command {
	d := &toolsDiffCommand{}
	cmd := &cobra.Command{
		Use: "diff", Short: "Diff files against files2",
		Long: `Diff files against files2: show what would make what --file2 describes what --file ` +
			`describes. No cluster is asked.`,
		Example: p.named(`  # Show what is different between two folders
  NAME tools diff -f new/ --file2 old/ --changes`),
	}
	d.files.add(cmd)
	cmd.Flags().
		StringSliceVar(&d.old, "file2", nil, "Set second file (format: /tmp/foo, https://..., -) "+
			"(can be specified multiple times)")
	d.diff.add(cmd, "")
	return p.command(cmd, false, d.run)
}

func (d *toolsDiffCommand) run(ctx context.Context, s *session) error {
	wanted, err := s.load(ctx, d.files.files)
	if err != nil {
		return err
	}
	existing, err := s.load(ctx, d.old)
	if err != nil {
		return err
	}
	changes, err := change.Calculate(existing, wanted, &config.Config{},
		change.Options{Now: s.env.Now(), FromFiles: true})
	if err != nil {
		return fmt.Errorf("Comparing files: %w", err)
	}
	newMasker := func() *change.Masker {
		if !d.diff.mask {
			return nil
		}
		return change.NewMasker(config.Default())
	}
	return changePrinter{s, d.diff, changes, newMasker(), newMasker}.print()
}

// load returns the objects of files.
func (s *session) load(ctx context.Context, files []string) ([]live, error) {
	options := s.inputs(files)
	var all []live
	for _, file := range files {
		sources, err := options.Sources(file)
		if err != nil {
			return nil, err
		}
		for _, source := range sources {
			objects, err := objectsOf(ctx, source)
			if err != nil {
				return nil, err
			}
			all = append(all, objects...)
		}
	}
	return all, nil
}
