package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/ready/rules"
)

// rulesName is the file at the top of a package that holds its rules of readiness. It is no manifest.
const rulesName = "ready-rules.yaml"

// ReadRules are the rules by which objects of a package are judged: those of the flags, then those of the package, then
// those for well-known operators. A stream has no rules of its own, and neither has what is no package (an empty folder name).
func ReadRules(dir string, files []string) ([]ready.Rule, error) {
	var found []ready.Rule
	var errs []error
	own := filepath.Join(dir, rulesName)
	hasOwn := dir != "" && dir != Stdin
	if hasOwn {
		files = append(files[:len(files):len(files)], own)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
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

// JudgeBy completes rules for the objects that are to be judged: whether a volume claim waits for its first consumer
// depends on its storage class, which is asked for if there is a claim.
func JudgeBy(ctx context.Context, client Cluster, rules []ready.Rule, refs []object.Ref) (*ready.RuleSet, error) {
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
