package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/muster-deploy/muster/local/kubelet"
)

// jobPolicy names the admission policy and its binding.
const jobPolicy = "jobs.local.muster.dev"

// policyTimeout bounds the wait for the policy's effect. It takes a fraction of a second where the
// machine is not busy.
const policyTimeout = time.Minute

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
	if err := s.createPolicy(ctx, "MutatingAdmissionPolicy", policy); err != nil {
		return fmt.Errorf("make the policy for jobs: %w", err)
	}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: jobPolicy},
		Spec:       admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: jobPolicy},
	}
	if err := s.createPolicy(ctx, "MutatingAdmissionPolicyBinding", binding); err != nil {
		return fmt.Errorf("bind the policy for jobs: %w", err)
	}
	if err := s.awaitJobPolicy(ctx); err != nil {
		return fmt.Errorf("wait for the policy for jobs: %w", err)
	}
	return nil
}

// awaitJobPolicy waits until the policy is applied to new Jobs: the API server follows its policies
// by a watch of its own, some time after they are stored.
func (s *simulator) awaitJobPolicy(ctx context.Context) error {
	note := map[string]string{kubelet.ExitCode: "1"}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{GenerateName: "try-", Annotations: note}}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "example/try:1"}}
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, policyTimeout, true,
		func(ctx context.Context) (bool, error) {
			var got *batchv1.Job
			got, last = s.client.BatchV1().
				Jobs(metav1.NamespaceDefault).
				Create(ctx, job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return last == nil && maps.Equal(got.Spec.Template.Annotations, note), nil
		})
	return errors.Join(err, last)
}

// createPolicy creates an object of an admission kind in the version that the server prefers:
// servers before Kubernetes 1.36 have no v1 of mutating policies. Their fields are the same in all.
func (s *simulator) createPolicy(ctx context.Context, kind string, policy runtime.Object) error {
	mapper, err := s.kwok.ToRESTMapper()
	if err != nil {
		return err
	}
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: admissionv1.GroupName, Kind: kind})
	if err != nil {
		return err
	}
	client, err := s.kwok.ToDynamicClient()
	if err != nil {
		return err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(policy)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	_, err = client.Resource(mapping.Resource).Create(ctx, object, metav1.CreateOptions{})
	return ignoreExisting(err)
}
