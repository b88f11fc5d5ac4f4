package webhook

import (
	"encoding/json"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podTemplate is the part of a pod or of a workload that injectors change.
type podTemplate struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		corev1.PodSpec `json:",inline"`
		Template       *podTemplate `json:"template"`
	} `json:"spec"`
}

// injectSidecar adds to a response the patch that injects a sidecar: containers, a volume, a
// variable and a mount for each container, a label and an annotation. A pod that has it is not
// changed.
func injectSidecar(
	request *admissionv1.AdmissionRequest, response *admissionv1.AdmissionResponse, name string,
) error {
	pod, at := podTemplate{}, ""
	if err := json.Unmarshal(request.Object.Raw, &pod); err != nil {
		return err
	}
	if pod.Spec.Template != nil {
		pod, at = *pod.Spec.Template, "/spec/template"
	}
	if !pod.addSidecar(name) {
		return nil
	}
	spec, err := json.Marshal(pod.Spec.PodSpec)
	if err != nil {
		return err
	}
	raw, err := json.Marshal([]operation{
		{Op: "replace", Path: at + "/spec", Value: json.RawMessage(spec)},
		{Op: "add", Path: at + "/metadata/labels", Value: pod.Metadata.Labels},
		{Op: "add", Path: at + "/metadata/annotations", Value: pod.Metadata.Annotations},
	})
	kind := admissionv1.PatchTypeJSONPatch
	response.Patch, response.PatchType = raw, &kind
	return err
}

// addSidecar adds a sidecar, and reports whether the pod had none.
func (p *podTemplate) addSidecar(name string) bool {
	spec := &p.Spec.PodSpec
	for i, c := range spec.Containers {
		if c.Name == name {
			return false
		}
		spec.Containers[i].Env = append(c.Env, corev1.EnvVar{Name: name, Value: "injected"})
		spec.Containers[i].VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{
			Name: name, MountPath: "/" + name,
		})
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{
		Name:         name,
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
	})
	spec.Containers = append(spec.Containers, corev1.Container{Name: name, Image: "example/" + name})
	spec.InitContainers = append(spec.InitContainers, corev1.Container{
		Name: name + "-init", Image: "example/" + name,
	})
	for _, texts := range []*map[string]string{&p.Metadata.Labels, &p.Metadata.Annotations} {
		if *texts == nil {
			*texts = map[string]string{}
		}
		(*texts)[name] = "injected"
	}
	return true
}
