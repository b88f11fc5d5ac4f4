package judge

// StateName returns the state of a judgement as lines and tables print it.
func (j Judgement) StateName() string {
	switch {
	case !j.Done:
		return "ongoing"
	case !j.Successful:
		return "fail"
	}
	return "ok"
}
