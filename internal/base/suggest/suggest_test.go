package suggest

import (
	"runtime"
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

// TestLongWords compares words of thousands of letters, of which nobody wants to be reminded: they
// are as far from each other as words can be, and take no memory.
func TestLongWords(t *testing.T) {
	long := strings.Repeat("a", 4000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if got := Nearest(long, []string{"b" + long}); got != nil {
		t.Errorf("%d words are near", len(got))
	}
	if got := Distance(long, "b"+long); got != 4001 {
		t.Errorf("the distance is %d", got)
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 4<<20 {
		t.Errorf("%d MiB were allocated", allocated>>20)
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
