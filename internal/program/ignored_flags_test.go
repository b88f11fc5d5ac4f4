package program

import (
	"os"
	"strings"
	"testing"
)

// ignorable are ways to name a set, each with a flag that means nothing beside it unless the
// command reads the files of the set. The folder "absent" does not exist.
var ignorable = []string{
	"-a web -f absent", "-a web -k absent", "-a web --root absent", "-a web --record web",
	"--record web -f absent", "--record web -k absent", "--record web --root absent",
}

// No command ignores a flag beside one that names the set without its files: it reads what the flag
// names, or refuses the flag, before it asks the server.
func TestNoFlagIsIgnored(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir)
	t.Chdir(dir)
	if err := os.CopyFS("groups/shop", os.DirFS("shop")); err != nil {
		t.Fatal(err)
	}
	root := Commands(documented("muster"))
	checked := 0
	for name, given := range asking {
		words := strings.Fields(name)
		cmd, _, err := root.Find(words[1:])
		if err != nil || words[0] != "muster" || cmd.Flag("app") == nil {
			continue
		}
		for _, flags := range ignorable {
			var rest []string
			for _, word := range strings.Fields(given) {
				if word != "shop" && word != "-a" && word != "web" {
					rest = append(rest, word)
				}
			}
			args := append(append(words, strings.Fields(flags)...), rest...)
			checked++
			code, text := outcome(append(args, "--kubeconfig=config"))
			if code == 0 || strings.Contains(text, "127.0.0.1") {
				t.Errorf("%s\nexit code %d:\n%s", strings.Join(args, " "), code, text)
			}
		}
	}
	if checked < 100 {
		t.Errorf("checked %d command lines only", checked)
	}
	for _, line := range []string{
		"diff -a web -f bare --from 1 --to live",
		"status -A -a web", "status --inv-type remote shop",
	} {
		code, text := outcome(append(strings.Fields("muster "+line), "--kubeconfig=config"))
		if code != 1 || !strings.Contains(text, "omit ") {
			t.Errorf("muster %s\nexit code %d:\n%s", line, code, text)
		}
	}
}
