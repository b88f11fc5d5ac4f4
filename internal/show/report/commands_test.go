package report

import (
	"strings"
	"testing"
	"unicode"
)

// TestNoCommands: texts of servers are no commands to the job in whose log they are.
func TestNoCommands(t *testing.T) {
	hostile := "webhook: no\n\u00a0::set-output name=x::y\n\u3000::add-mask::z\n" +
		"##vso[task.complete]\n##teamcity[buildStop]\nsection_start:1:x"
	for name, log := range map[string]func([]*Run) string{"github": gitHubLog, "gitlab": gitLabLog} {
		text := log([]*Run{{Error: hostile}})
		for line := range strings.SplitSeq(text, "\n") {
			if strings.HasPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "::") ||
				strings.Contains(line, "##vso[") || strings.Contains(line, "##teamcity[") ||
				strings.Contains(line, "section_start:1:x") {
				t.Errorf("%s: a command to the job: %q", name, line)
			}
		}
	}
}
