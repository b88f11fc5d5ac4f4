package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/boundedio"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/ready/rules"
)

// RulesName is the file at the top of a package that holds its readiness rules. It is not a
// manifest.
const RulesName = "ready-rules.yaml"

// ReadRules returns the readiness rules for a package: those of the given files, then those in its
// folder, then the built-in ones. The folder is empty or Stdin if there is none.
func ReadRules(ctx context.Context, dir string, files []string) ([]ready.Rule, error) {
	var found []ready.Rule
	var errs []error
	own := filepath.Join(dir, RulesName)
	hasOwn := dir != "" && dir != Stdin
	if hasOwn {
		files = append(files[:len(files):len(files)], own)
	}
	for _, file := range files {
		read := boundedio.ReadNamed
		if file == own {
			read = func(_ context.Context, path string) ([]byte, error) { return boundedio.ReadFile(path) }
		}
		text, err := read(ctx, file)
		if errors.Is(err, fs.ErrNotExist) && hasOwn && file == own {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("read rules: %w", err))
			continue
		}
		parsed, err := rules.Parse(file, text)
		found, errs = append(found, parsed...), append(errs, err)
	}
	builtin, err := rules.Builtin()
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return append(found, builtin...), nil
}

// NewRuleSet completes rules for the given objects. Whether a volume claim waits for its first
// consumer depends on its storage class, which is read if there is a claim.
func NewRuleSet(
	ctx context.Context, client Cluster, rules []ready.Rule, refs []object.Ref,
) (*ready.RuleSet, error) {
	claim := schema.GroupKind{Kind: "PersistentVolumeClaim"}
	if slices.ContainsFunc(refs, func(ref object.Ref) bool { return ref.GroupKind() == claim }) {
		delayed, err := client.DelayedBindingClasses(ctx)
		if err != nil {
			return nil, err
		}
		rules = append(rules, ready.FirstConsumer(func(class string) bool { return delayed[class] }))
	}
	return ready.NewRuleSet(rules...), nil
}
