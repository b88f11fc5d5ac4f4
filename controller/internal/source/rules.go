package source

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-deploy/muster"
	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/internal/ready/rules"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// Rules returns the readiness rules that spec.wait.rules of a Set names; nil if it names none.
// Rules that are invalid are an InvalidError.
func (f *Fetcher) Rules(ctx context.Context, set *v1alpha1.Set) ([]muster.RuleFile, error) {
	if set.Spec.Wait.Rules == nil {
		return nil, nil
	}
	file, err := f.ruleFile(ctx, set.Namespace, set.Spec.Wait.Rules.ConfigMapRef)
	if err != nil {
		return nil, fmt.Errorf("spec.wait.rules: %w", err)
	}
	return []muster.RuleFile{file}, nil
}

// ruleFile returns the rules in a key of a ConfigMap.
func (f *Fetcher) ruleFile(
	ctx context.Context, namespace string, ref v1alpha1.RulesReference,
) (file muster.RuleFile, err error) {
	object, key := &corev1.ConfigMap{}, cmp.Or(ref.Key, policy.RulesName)
	if err := f.getter(namespace)(ctx, "ConfigMap", ref.Name, object); err != nil {
		return file, fmt.Errorf("key %s: %w", key, err)
	}
	text, ok := object.Data[key]
	if !ok {
		return file, invalid("ConfigMap %s/%s has no key %s", namespace, ref.Name, key)
	}
	file = muster.RuleFile{Name: "ConfigMap " + ref.Name + "/" + key, Text: text}
	if _, err := rules.Parse(file.Name, []byte(text)); err != nil {
		return file, &InvalidError{err}
	}
	return file, nil
}
