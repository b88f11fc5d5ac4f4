package event

import (
	"encoding/json"
	"testing"
)

// FuzzEvent looks for recorded events that panic, or that are not the same when they are written
// and read again.
func FuzzEvent(f *testing.F) {
	for _, text := range []string{"{}", "null", `{"type": "applied", "error": "no"}`, `{"step": 1}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var e, again Event
		if json.Unmarshal(text, &e) != nil {
			return
		}
		written, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("%s cannot be written: %v", text, err)
		}
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%s cannot be read: %v", written, err)
		}
		if twice, err := json.Marshal(again); err != nil || string(twice) != string(written) {
			t.Errorf("%s became %s (%v)", written, twice, err)
		}
	})
}
