package packageflags

import (
	"strings"
	"testing"
)

func TestFolderName(t *testing.T) {
	for folder, want := range map[string]string{
		"shop": "shop", "a/My Shop_2": "my-shop-2", "-.x.-": "x", "v1.2": "v1-2", "é": "", "…": "",
		"/": "", "shop/": "shop", "x/..": "packageflags",
		strings.Repeat("a", 62) + "-b": strings.Repeat("a", 62),
	} {
		if got := folderName(t.Context(), folder); got != want {
			t.Errorf("%q: %q, want %q", folder, got, want)
		}
	}
}
