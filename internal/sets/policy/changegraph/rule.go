package changegraph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

// Rule puts a change before or after all changes of a group.
type Rule struct {
	Action Op     // the rule applies to changes of this operation: Upsert or Delete
	Before bool   // the group waits for the change; else the change waits for the group
	Target Op     // only members of this operation count: Upsert or Delete
	Group  string // the name of the group

	Optional bool // the rule is ignored where it would close a cycle
	Weight   int  // optional rules of a higher weight come first
}

// ParseRule parses a rule of four words: "upsert after upserting GROUP".
func ParseRule(text string) (Rule, error) {
	words := strings.Split(text, " ")
	if len(words) != 4 {
		return Rule{}, fmt.Errorf("Expected change rule annotation value to have format "+
			"'(upsert|delete) (before|after) (upserting|deleting) (change-group)', but was '%s'", text)
	}
	if err := checkGroup(words[3]); err != nil {
		return Rule{}, err
	}
	rule := Rule{Action: Op(words[0]), Before: words[1] == "before", Group: words[3]}
	switch words[2] {
	case "upserting":
		rule.Target = Upsert
	case "deleting":
		rule.Target = Delete
	}
	switch {
	case rule.Action != Upsert && rule.Action != Delete:
		return Rule{}, errors.New("Unknown change rule Action")
	case !rule.Before && words[1] != "after":
		return Rule{}, errors.New("Unknown change rule Order")
	case rule.Target == "":
		return Rule{}, errors.New("Unknown change rule TargetAction")
	}
	return rule, nil
}

// checkGroup returns an error unless name is a qualified name of any length. Nearly all names are
// plain, which saves the regular expressions.
func checkGroup(name string) error {
	if name == "" {
		return errors.New("Expected non-empty group name")
	}
	if isPlain(name) {
		return nil
	}
	problems := slices.DeleteFunc(content.IsLabelKey(name), func(problem string) bool {
		return problem == "name part "+content.MaxLenError(63)
	})
	if len(problems) > 0 {
		return fmt.Errorf("Expected change group name %q to be a qualified name: %s", name,
			strings.Join(problems, "; "))
	}
	return nil
}

// isPlain reports whether a group name is valid without an expression: it has a valid name and a
// prefix of at most 253 characters without empty or dashed labels.
func isPlain(name string) bool {
	prefix, rest, ok := strings.Cut(name, "/")
	if !ok || len(prefix) > 253 || rest == "" || !isAlphanumeric(rest[0]) ||
		!isAlphanumeric(rest[len(rest)-1]) {
		return false
	}
	for i := range len(rest) {
		if c := rest[i]; !isAlphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	edge := true // the next character starts a label, or the last one ended it with a dash
	for i := range len(prefix) {
		switch c := prefix[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			edge = false
		case c == '-' && !edge && i+1 < len(prefix) && prefix[i+1] != '.':
		case c == '.' && !edge:
			edge = true
		default:
			return false
		}
	}
	return !edge
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// UnknownGroup is a rule that waits for the members of a group which no object has.
type UnknownGroup struct {
	Node  int
	Group string
}

// UnknownGroups returns the rules about applied members of groups that no node has. Groups of what
// is deleted are gone once that has happened.
func UnknownGroups(nodes []Node) []UnknownGroup {
	groups := map[string]bool{}
	for _, node := range nodes {
		for _, group := range node.Groups {
			groups[group] = true
		}
	}
	var unknown []UnknownGroup
	for i, node := range nodes {
		for _, rule := range node.Rules {
			if rule.Target == Upsert && !groups[rule.Group] {
				unknown = append(unknown, UnknownGroup{i, rule.Group})
			}
		}
	}
	return unknown
}
