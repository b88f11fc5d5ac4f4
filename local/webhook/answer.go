package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// ServeHTTP answers an AdmissionReview or a ConversionReview.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.counts[r.URL.Path]++
	s.mu.Unlock()
	words := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if words[0] == "slow" {
		s.wait(r.Context())
		words = words[1:]
	}
	answer, err := review(r, words)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // a client that is gone is no concern
}

// review returns the answer to a request for a path.
func review(r *http.Request, words []string) (any, error) {
	if len(words) == 3 && words[0] == "convert" {
		var asked conversionReview
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Request == nil {
			return nil, fmt.Errorf("not a ConversionReview: %w", err)
		}
		return asked.convert(words[1], words[2]), nil
	}
	var asked admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Request == nil {
		return nil, fmt.Errorf("not an AdmissionReview: %w", err)
	}
	response, err := admit(asked.Request, words)
	if err != nil {
		return nil, err
	}
	response.UID = asked.Request.UID
	return admissionv1.AdmissionReview{TypeMeta: asked.TypeMeta, Response: response}, nil
}

// admit returns the response to a request of admission.
func admit(
	request *admissionv1.AdmissionRequest, words []string,
) (*admissionv1.AdmissionResponse, error) {
	response := &admissionv1.AdmissionResponse{Allowed: true}
	switch last := len(words) - 1; {
	case words[0] == "deny":
		response.Allowed = false
		response.Result = &metav1.Status{Message: strings.Join(words[1:], "/"), Code: 403}
	case words[0] == "add" && last > 1:
		return response, patch(request, response, words[1:last], words[last])
	case words[0] == "drop" && last > 0:
		return response, patch(request, response, words[1:], nil)
	case words[0] == "inject" && last == 1:
		return response, injectSidecar(request, response, words[1])
	case words[0] != "allow":
		return nil, fmt.Errorf("no webhook has the path /%s", strings.Join(words, "/"))
	}
	return response, nil
}

// operation is one operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// patch adds to a response the patch that sets a field, or removes it if the value is nil. Maps on
// the way to a field that is set are made.
func patch(
	request *admissionv1.AdmissionRequest, response *admissionv1.AdmissionResponse,
	fields []string, value any,
) error {
	if len(request.Object.Raw) == 0 {
		return nil // a deletion
	}
	obj := map[string]any{}
	if err := json.Unmarshal(request.Object.Raw, &obj); err != nil {
		return err
	}
	depth := 1
	for depth < len(fields) {
		if _, found, _ := unstructured.NestedFieldNoCopy(obj, fields[:depth]...); !found {
			break
		}
		depth++
	}
	change := operation{Op: "add", Path: pointer(fields[:depth]), Value: value}
	if value == nil {
		if _, found, _ := unstructured.NestedFieldNoCopy(obj, fields...); !found {
			return nil
		}
		change.Op = "remove"
	}
	for i := len(fields) - 1; value != nil && i >= depth; i-- {
		change.Value = map[string]any{fields[i]: change.Value}
	}
	raw, err := json.Marshal([]operation{change})
	kind := admissionv1.PatchTypeJSONPatch
	response.Patch, response.PatchType = raw, &kind
	return err
}

// pointer returns a JSON pointer.
func pointer(fields []string) string {
	var text strings.Builder
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, field := range fields {
		text.WriteString("/" + escape.Replace(field))
	}
	return text.String()
}

// conversionReview is a ConversionReview of apiextensions.k8s.io/v1.
type conversionReview struct {
	metav1.TypeMeta `json:",inline"`
	Request         *conversionRequest  `json:"request,omitempty"`
	Response        *conversionResponse `json:"response,omitempty"`
}

type conversionRequest struct {
	UID               types.UID                    `json:"uid"`
	DesiredAPIVersion string                       `json:"desiredAPIVersion"`
	Objects           []*unstructured.Unstructured `json:"objects"`
}

type conversionResponse struct {
	UID              types.UID                    `json:"uid"`
	ConvertedObjects []*unstructured.Unstructured `json:"convertedObjects"`
	Result           metav1.Status                `json:"result"`
}

// convert returns the review with the objects in the version that was asked for: the field of the
// spec is old in v1 and renamed in all others.
func (c conversionReview) convert(old, renamed string) conversionReview {
	for _, obj := range c.Request.Objects {
		from, to := old, renamed
		if strings.HasSuffix(c.Request.DesiredAPIVersion, "/v1") {
			from, to = to, from
		}
		value, found, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", from)
		if found {
			spec := obj.Object["spec"].(map[string]any)
			delete(spec, from)
			spec[to] = value
		}
		obj.SetAPIVersion(c.Request.DesiredAPIVersion)
	}
	return conversionReview{TypeMeta: c.TypeMeta, Response: &conversionResponse{
		UID: c.Request.UID, ConvertedObjects: c.Request.Objects,
		Result: metav1.Status{Status: metav1.StatusSuccess},
	}}
}
