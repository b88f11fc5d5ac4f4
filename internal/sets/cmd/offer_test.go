package cmd

import (
	"strings"
	"testing"
)

func TestPackageName(t *testing.T) {
	for folder, want := range map[string]string{
		"shop": "shop", "My Shop_2": "my-shop-2", "-.x.-": "x", "é": "", "…": "",
		strings.Repeat("a", 62) + "-b": strings.Repeat("a", 62),
	} {
		if got := packageName(folder); got != want {
			t.Errorf("%q: %q, want %q", folder, got, want)
		}
	}
}
