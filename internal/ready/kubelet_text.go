package ready

import "regexp"

// noise matches the parts of the kubelet's messages that say which layer reported a fault, and the
// identifiers of pods and sandboxes, which differ from pod to pod.
var noise = regexp.MustCompile(`rpc error: code = \w+ desc = |` +
	`failed to create (?:containerd|shim) task: |OCI runtime create failed: |` +
	`(?:runc|crun|container) create failed: |unable to start container process: |` +
	`error during container init: |` +
	`failed to (?:start|reserve|setup network for|create) (?:sandbox|container)` +
	` (?:name )?"[^"]*": |` +
	`failed to pull and unpack image "[^"]*": |failed to resolve (?:image|reference "[^"]*"): |` +
	` \(pod: "[^"]*", container: [^)]*\)`)

// Texts that repeat what they are about.
var (
	execFault  = regexp.MustCompile(`\bexec: ("[^"]*"): (?:stat \S+: )?`)
	hookFault  = regexp.MustCompile(`^(?:Exec|HTTP) lifecycle hook .* failed - error: `)
	hookOutput = regexp.MustCompile(` ?, message: ".*"$`)
)

// plain returns a message of the kubelet on one line, without what only its developers need.
func plain(message string) string {
	return execFault.ReplaceAllString(noise.ReplaceAllString(oneLine(message), ""), "exec $1: ")
}

// hookMessage returns why a hook failed, by the message of a container that waits for that reason.
func hookMessage(message string) string {
	return hookOutput.ReplaceAllString(hookFault.ReplaceAllString(message, ""), "")
}
