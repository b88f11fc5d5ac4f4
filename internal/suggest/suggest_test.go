package suggest

import (
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	words := strings.Fields("dry-run prune-timeout server-side namespace name output web web-2 shop")
	for word, want := range map[string]string{
		"dryrun":        "dry-run",
		"dry_run":       "dry-run",
		"serverside":    "server-side",
		"prunetimeout":  "prune-timeout",
		"namepsace":     "namespace",
		"NameSpace":     "namespace",
		"outptu":        "output",
		"wbe":           "web",
		"web":           "web-2",
		"server":        "server-side",
		"sho":           "shop",
		"x":             "",
		"":              "",
		"kubernetes":    "",
		"web3":          "web web-2",
		"prune-timeuot": "prune-timeout",
	} {
		if got := Nearest(word, words); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestHint(t *testing.T) {
	if got := Hint("dryrun", []string{"dry-run"}, "--"); got != "; did you mean --dry-run?" {
		t.Errorf("got %q", got)
	}
	if got := Hint("abc", []string{"abcd", "abce", "abcf", "abcg"}, ""); got !=
		"; did you mean abcd or abce or abcf?" {
		t.Errorf("got %q", got)
	}
}

func FuzzNearest(f *testing.F) {
	f.Add("dryrun", "dry-run\nä\n\xff")
	f.Fuzz(func(t *testing.T, word, words string) {
		if len(word)+len(words) > 200 {
			return
		}
		all := strings.Split(words, "\n")
		for _, near := range Nearest(word, all) {
			if !slices.Contains(all, near) || near == word {
				t.Errorf("%q: %q is not one of %q", word, near, all)
			}
		}
	})
}
