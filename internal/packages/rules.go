package packages

import (
	"context"
	"errors"
	"fmt"
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

// ReadRules returns readiness rules: those of the given files, then those at the top of folders,
// then the built-in ones. Folders that are empty or Stdin have none. The error joins all problems.
func ReadRules(ctx context.Context, files []string, folders ...string) ([]ready.Rule, error) {
	var found []ready.Rule
	var errs []error
	add := func(file string, text []byte, err error) {
		var parsed []ready.Rule
		if err != nil {
			err = fmt.Errorf("read rules: %w", err)
		} else {
			parsed, err = rules.Parse(file, text)
		}
		found, errs = append(found, parsed...), append(errs, err)
	}
	for _, file := range files {
		text, err := boundedio.ReadNamed(ctx, file)
		add(file, text, err)
	}
	for _, dir := range folders {
		if dir == "" || dir == Stdin {
			continue
		}
		file := filepath.Join(dir, RulesName)
		if text, exists, err := boundedio.ReadIfExists(file); exists {
			add(file, text, err)
		}
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
