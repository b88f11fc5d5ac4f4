// Package protocol has what the program kubectl of the tests and the tests send to each other.
package protocol

// The names beside the program of the socket of the tests and of the kubectl of the machine.
const (
	Socket  = "kubectl.socket"
	Machine = "kubectl.machine"
)

// Unknown is the answer for a command that the kubectl of the machine has to run.
const Unknown = 255

// Most is the size of the first message, with which the files come; the rest follows.
const Most = 1 << 16

// Call is a call of kubectl, as JSON. The files of its input and outputs come beside it.
type Call struct {
	Args       []string `json:"args"`
	Dir        string   `json:"dir"`
	Home       string   `json:"home"`
	Kubeconfig string   `json:"kubeconfig"`
}
