package e2e

import (
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// timesOut runs a command with the flag --timeout until its output matches, and checks its exit
// code. Each attempt has twice the time of the one before, since the machine may be busy.
func timesOut(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) >= 3, neg, "timesout CODE PATTERN COMMAND [ARGUMENT]...")
	want, pattern := number(ts, args[0]), regexp.MustCompile("(?m)"+args[1])
	for limit := 2 * time.Second; ; limit *= 2 {
		got := exitCode(ts, append(args[2:len(args):len(args)], "--timeout="+limit.String()))
		if pattern.MatchString(ts.ReadFile("stdout")) || pattern.MatchString(ts.ReadFile("stderr")) {
			if got != want {
				ts.Fatalf("%s ended with exit code %d, want %d", strings.Join(args[2:], " "), got, want)
			}
			return
		}
		if limit > hangTimeout {
			ts.Fatalf("%s never prints what matches %s", strings.Join(args[2:], " "), args[1])
		}
	}
}
