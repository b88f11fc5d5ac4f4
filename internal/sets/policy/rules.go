package policy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/ready/rules"
)

// RulesName is the file at the top of a package that holds its readiness rules. It is not a
// manifest.
const RulesName = "ready-rules.yaml"

// RuleFile is the content of a file with readiness rules.
type RuleFile struct {
	Name string
	Text string
}

// ReadRules returns the readiness rules of files and folders, as ReadRuleFiles finds them, and then
// the built-in ones. The error joins all problems.
func ReadRules(ctx context.Context, files []string, folders ...string) ([]ready.Rule, error) {
	found, unread := ReadRuleFiles(ctx, files, folders...)
	parsed, err := ParseRules(found)
	return parsed, errors.Join(unread, err)
}

// ParseRules returns the readiness rules of files, and then the built-in ones. The error joins all
// problems.
func ParseRules(files []RuleFile) ([]ready.Rule, error) {
	var found []ready.Rule
	var errs []error
	for _, file := range files {
		parsed, err := rules.Parse(file.Name, []byte(file.Text))
		found, errs = append(found, parsed...), append(errs, err)
	}
	builtin, err := rules.Builtin()
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return append(found, builtin...), nil
}

// ReadRuleFiles returns the files with readiness rules: the given ones, then those at the top of
// folders. Folders that are empty or "-", the standard input, have none. The error joins all
// problems.
func ReadRuleFiles(
	ctx context.Context, files []string, folders ...string,
) ([]RuleFile, error) {
	var found []RuleFile
	var errs []error
	add := func(file string, text []byte, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("read rules: %w", err))
			return
		}
		found = append(found, RuleFile{file, string(text)})
	}
	for _, file := range files {
		text, err := boundedio.ReadNamed(ctx, file)
		add(file, text, err)
	}
	for _, dir := range folders {
		if dir == "" || dir == "-" {
			continue
		}
		file := filepath.Join(dir, RulesName)
		if text, exists, err := boundedio.ReadIn(dir, RulesName); exists {
			add(file, text, err)
		}
	}
	return found, errors.Join(errs...)
}

// NewRuleSet completes rules for the given objects. Whether a volume claim waits for its first
// consumer depends on its storage class, which is read if there is a claim.
func NewRuleSet(
	ctx context.Context, client cluster.Writer, rules []ready.Rule, refs []object.Ref,
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
