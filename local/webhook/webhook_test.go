package webhook

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestServe checks that a server refuses connections until it serves, and then answers by TLS.
func TestServe(t *testing.T) {
	s, err := Open("webhook.shop.svc")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(s.CA))
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "webhook.shop.svc"},
	}}
	if _, err := client.Get(s.URL() + "/allow"); err == nil {
		t.Error("a server that does not serve answers")
	}
	if err := s.Serve(); err != nil {
		t.Fatal(err)
	}
	answer, err := client.Post(s.URL()+"/convert/size/length", "application/json",
		bytes.NewBufferString(`{"request":{"desiredAPIVersion":"example.com/v2","objects":[
			{"apiVersion":"example.com/v1","kind":"Pot","spec":{"size":3}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"example.com/v2","kind":"Pot","spec":{"length":3}}`
	if !bytes.Contains(text, []byte(want)) {
		t.Errorf("the conversion answers %s", text)
	}
}

// TestAdmit checks what the paths do with an object.
func TestAdmit(t *testing.T) {
	tests := []struct{ path, want string }{
		{"/allow", `{"data":{"bread":"3"}}`},
		{"/add/data/color/red", `{"data":{"bread":"3","color":"red"}}`},
		{"/add/metadata/labels/a/b", `{"data":{"bread":"3"},"metadata":{"labels":{"a":"b"}}}`},
		{"/drop/data/bread", `{"data":{}}`},
		{"/drop/data/color", `{"data":{"bread":"3"}}`},
	}
	for _, test := range tests {
		raw := []byte(`{"data":{"bread":"3"}}`)
		asked, err := json.Marshal(admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
			UID: "u", Object: runtime.RawExtension{Raw: raw},
		}})
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{counts: map[string]int{}}
		got := s.answer(t, test.path, asked)
		if got.Patch != nil {
			patch, err := jsonpatch.DecodePatch(got.Patch)
			if err != nil {
				t.Fatal(err)
			}
			if raw, err = patch.Apply(raw); err != nil {
				t.Fatal(err)
			}
		}
		if !got.Allowed || !jsonpatch.Equal(raw, []byte(test.want)) || s.Count(test.path) != 1 {
			t.Errorf("%s makes %s, want %s", test.path, raw, test.want)
		}
	}
}

// answer returns the response to a request.
func (s *Server) answer(t *testing.T, path string, asked []byte) *admissionv1.AdmissionResponse {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(asked))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil {
		t.Fatalf("%s answers %s", path, w.Body)
	}
	return review.Response
}

// TestInject checks that a sidecar is added to pods and to pod templates, once.
func TestInject(t *testing.T) {
	tests := []struct{ object, want string }{
		{`{"spec":{"containers":[{"name":"a"}]}}`, `{"name":"mesh","image":"example/mesh"`},
		{`{"spec":{"template":{"spec":{"containers":[{"name":"a"}]}}}}`, "/spec/template/metadata"},
		{`{"spec":{"containers":[{"name":"mesh"}]}}`, ""},
	}
	for _, test := range tests {
		asked, err := json.Marshal(admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
			UID: "u", Object: runtime.RawExtension{Raw: []byte(test.object)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		got := (&Server{counts: map[string]int{}}).answer(t, "/inject/mesh", asked)
		if !bytes.Contains(got.Patch, []byte(test.want)) || (got.Patch == nil) != (test.want == "") {
			t.Errorf("%s gets the patch %s", test.object, got.Patch)
		}
	}
}
