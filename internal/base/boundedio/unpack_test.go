package boundedio

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

// TestGunzip: what is unpacked is limited in all, not each text by itself.
func TestGunzip(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(make([]byte, 3<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	u := NewUnpacker(4 << 20)
	if text, err := u.Gunzip(packed.Bytes()); err != nil || len(text) != 3<<20 {
		t.Errorf("the first text: %d bytes, %v", len(text), err)
	}
	_, err := u.Gunzip(packed.Bytes())
	if err == nil || !strings.Contains(err.Error(), "it unpacks to more than 4 MiB") {
		t.Errorf("the second text: %v", err)
	}
}
