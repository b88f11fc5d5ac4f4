package judge

// Lines are what is printed of a judgement, without the time of day: the state, with the verb of what is waited for
// (reconcile or delete), the message below it, and the children.
func (j Judgement) Lines(verb string) []string {
	lines := []string{j.Word() + ": " + verb + " " + j.Object}
	if j.Message != "" {
		lines = append(lines, " ^ "+j.Message)
	}
	for _, child := range j.Children {
		lines = append(lines, " L "+child.Word()+": waiting on "+child.Object)
		if child.Message != "" {
			lines = append(lines, "    ^ "+child.Message)
		}
	}
	return lines
}

// Word is the state of a judgement in one word, as it also stands in tables.
func (j Judgement) Word() string {
	switch {
	case !j.Done:
		return "ongoing"
	case !j.Successful:
		return "fail"
	}
	return "ok"
}
