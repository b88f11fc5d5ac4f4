package main

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// jobPolicy names the admission policy and its binding.
const jobPolicy = "jobs.local.muster.dev"

// copyNotes is the CEL expression that copies our annotations from a Job to its pod template.
const copyNotes = `Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{
  annotations: object.metadata.annotations.transformMap(key, value, key.startsWith("local.muster.dev/"), value)}}}}`

// makeJobPolicy creates a policy that copies our annotations from a Job to its pod template. So a
// Job can be made to misbehave without touching the template. Stages see pods alone.
func (s *simulator) makeJobPolicy(ctx context.Context) error {
	policy := &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: jobPolicy},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			FailurePolicy:      new(admissionv1.Ignore),
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionv1.MatchResources{
				ResourceRules: []admissionv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionv1.RuleWithOperations{
						Operations: []admissionv1.OperationType{admissionv1.Create},
						Rule: admissionv1.Rule{
							APIGroups:   []string{"batch"},
							APIVersions: []string{"v1"},
							Resources:   []string{"jobs"},
						},
					},
				}},
			},
			MatchConditions: []admissionv1.MatchCondition{{
				Name: "has-annotations",
				Expression: `has(object.metadata.annotations) &&
object.metadata.annotations.exists(key, key.startsWith("local.muster.dev/"))`,
			}},
			Mutations: []admissionv1.Mutation{{
				PatchType:          admissionv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: copyNotes},
			}},
		},
	}
	client := s.client.AdmissionregistrationV1()
	_, err := client.MutatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{})
	if ignoreExisting(err) != nil {
		return fmt.Errorf("make the policy for jobs: %w", err)
	}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: jobPolicy},
		Spec:       admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: jobPolicy},
	}
	_, err = client.MutatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{})
	if ignoreExisting(err) != nil {
		return fmt.Errorf("bind the policy for jobs: %w", err)
	}
	return nil
}
