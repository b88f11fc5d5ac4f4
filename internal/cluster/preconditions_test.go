package cluster

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// The preconditions of a patch change nothing else in it, and no digit of a number.
func TestWithPreconditions(t *testing.T) {
	for _, tc := range []struct{ patch, uid, version, want string }{
		{`{"spec":{"serial":9007199254740993,"list":[1234567890123456789]}}`, "u", "7",
			`{"metadata":{"resourceVersion":"7","uid":"u"},` +
				`"spec":{"serial":9007199254740993,"list":[1234567890123456789]}}`},
		{`{"metadata":{"name":"a","uid":"old"},"x":1.50}`, "u", "",
			`{"metadata":{"name":"a","uid":"u"},"x":1.50}`},
		{`{"metadata":null}`, "", "1", `{"metadata":{"resourceVersion":"1"}}`},
		{`{"x":1}`, "", "", `{"x":1}`},
	} {
		got, err := withPreconditions([]byte(tc.patch), types.UID(tc.uid), tc.version)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %s, %v", tc.patch, got, err)
		}
	}
	if _, err := withPreconditions([]byte(`{"metadata":[]}`), "u", ""); err == nil {
		t.Error("metadata that is a list is no error")
	}
}
