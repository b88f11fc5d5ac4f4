package config

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/policy/judge"
	"github.com/muster-deploy/muster/internal/sets/policy/ytt"
)

// waitRule judges objects that are waited for: by a script, or else by conditions.
type waitRule struct {
	observed   bool // status.observedGeneration has to equal the generation
	conditions []condition
	script     *string
}

// condition is the meaning of a condition of a live object.
type condition struct {
	name, status              string
	observed                  bool // its observedGeneration has to equal the generation
	failure, success, unblock bool
	timeout                   time.Duration // it is a failure if it holds for so long; 0 is never
}

// unblockPrefix begins the message for an object that is not done and does not block others any
// more.
const unblockPrefix = "Allowing blocked changes to proceed: "

// Judge judges a live object by the first wait rule that matches; ok is false if none does.
// unblock reports that others need not wait for the object, although it is not done. The judgement
// has no description and no children.
func (c *Config) Judge(obj *unstructured.Unstructured) (j judge.Judgement, unblock, ok bool) {
	for _, rule := range c.waits.matching(obj.Object) {
		j, unblock = rule.judge(obj)
		return j, unblock, true
	}
	return j, false, false
}

// Deadline returns when an object that is not done fails although nothing changes: if a condition
// that has a timeout continues to hold. The first such condition of the first rule that matches
// counts.
func (c *Config) Deadline(obj *unstructured.Unstructured) ready.Deadline {
	for _, rule := range c.waits.matching(obj.Object) {
		status, _ := obj.Object["status"].(map[string]any)
		for _, found := range rule.matchedConditions(status) {
			observed := !found.observed || found.generation == obj.GetGeneration()
			if found.timeout > 0 && observed {
				return ready.Deadline{
					Key: found.name + "=" + found.status, After: found.timeout,
					Message: fmt.Sprintf("Encountered failure condition %s%s continuously for %s duration",
						found.words(), found.explanation(), found.timeout),
				}
			}
		}
		break
	}
	return ready.Deadline{}
}

func (w waitRule) judge(obj *unstructured.Unstructured) (j judge.Judgement, unblock bool) {
	status, _ := obj.Object["status"].(map[string]any)
	if w.observed && number(status["observedGeneration"]) != obj.GetGeneration() {
		j.Message = fmt.Sprintf("Waiting for generation %d to be observed", obj.GetGeneration())
		return j, false
	}
	if w.script != nil {
		return judgeScript(obj, *w.script)
	}
	return w.judgeConditions(obj, status)
}

// judgeConditions checks for failures, then for successes, then for conditions that unblock
// others. While a condition with a timeout holds, the object is neither.
func (w waitRule) judgeConditions(obj *unstructured.Unstructured,
	status map[string]any) (j judge.Judgement, unblock bool) {
	late, message := false, ""
	for _, found := range w.matchedConditions(status) {
		switch {
		case found.observed && found.generation != obj.GetGeneration():
			late = true
		case found.timeout > 0:
			j.Message = found.name + ": " + found.reason + found.explanation()
			return j, false
		case found.failure:
			j.Done, j.Message = true, "Encountered failure condition "+found.words()+found.explanation()
			j.Since = found.written
			return j, false
		}
	}
	for _, found := range w.matchedConditions(status) {
		switch {
		case found.observed && found.generation != obj.GetGeneration():
		case found.success:
			j.Done, j.Successful = true, true
			j.Message = "Encountered successful condition " + found.words() + found.explanation()
			return j, false
		case found.unblock:
			message = unblockPrefix + "Encountered condition " + found.words()
		}
	}
	switch {
	case late:
		j.Message = fmt.Sprintf("Waiting for generation %d to be observed by status condition(s)",
			obj.GetGeneration())
	case message != "":
		j.Message, unblock = message, true
	default:
		j.Message = "No failing or successful conditions found"
	}
	return j, unblock
}

// matchedCondition is a condition of a live object that a rule names.
type matchedCondition struct {
	condition
	reason, message string
	generation      int64
	written         time.Time
}

func (s matchedCondition) words() string {
	return s.name + " == " + s.status + ": " + s.reason
}
func (s matchedCondition) explanation() string { return " (message: " + s.message + ")" }

// matchedConditions returns the conditions of a live object that the rule names, in the order of
// the rule.
func (w waitRule) matchedConditions(status map[string]any) []matchedCondition {
	items, _ := status["conditions"].([]any)
	var found []matchedCondition
	for _, c := range w.conditions {
		for _, item := range items {
			fields, _ := item.(map[string]any)
			if text(fields, "type") == c.name && text(fields, "status") == c.status {
				found = append(found, matchedCondition{c, text(fields, "reason"), text(fields, "message"),
					number(fields["observedGeneration"]), judge.WrittenAt(fields)})
			}
		}
	}
	return found
}

func number(value any) int64 {
	switch value := value.(type) {
	case int64:
		return value
	case float64:
		return int64(value)
	}
	return 0
}

// judgeScript judges an object by a script, which reads the live object.
func judgeScript(obj *unstructured.Unstructured, script string) (j judge.Judgement, unblock bool) {
	verdict, err := ytt.IsDone(obj.Object, script, obj.Object)
	if err != nil {
		return judge.Judgement{Done: true,
			Message: "Error: Applying ytt wait rule: " + object.HideValues(obj, err.Error())}, false
	}
	j = judge.Judgement{Done: verdict.Done, Successful: verdict.Successful,
		Message: object.HideValues(obj, verdict.Message)}
	if verdict.UnblockChanges {
		j.Message = unblockPrefix + j.Message
	}
	return j, verdict.UnblockChanges
}

// wait reads a wait rule.
func (n node) wait() waitRule {
	w := waitRule{observed: n.get("supportsObservedGeneration").flag()}
	if contract := n.get("ytt"); contract.isSet() {
		text := contract.contract("wait rule", "funcContractV1", "resource.star")
		w.script = &text
	}
	for _, item := range n.get("conditionMatchers").items() {
		w.conditions = append(w.conditions, condition{
			name: item.get("type").requiredText(), status: item.get("status").requiredText(),
			observed: item.get("supportsObservedGeneration").flag(),
			failure:  item.get("failure").flag(),
			success:  item.get("success").flag(),
			unblock:  item.get("unblockChanges").flag(),
			timeout:  item.get("timeout").duration(),
		})
	}
	return w
}

// JudgeRules returns the rules that judge live objects before those of their kinds: the user's,
// then the flag's.
func (c *Config) JudgeRules(ignoreFailingAPIServices bool) []judge.Rule {
	rules := []judge.Rule{func(obj *unstructured.Unstructured) (judge.Judgement, bool) {
		j, _, ok := c.Judge(obj)
		return j, ok
	}}
	if ignoreFailingAPIServices {
		rules = append(rules, judge.IgnoreFailingAPIServices)
	}
	return rules
}
