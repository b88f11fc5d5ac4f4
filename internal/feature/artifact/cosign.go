package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// cosign is the program that signs artifacts and verifies signatures.
const cosign = "cosign"

// Verification is what the signature of an artifact has to be: made with a key, or by somebody
// whom an issuer of identities knows.
type Verification struct {
	Key              string // file or address of the public key
	Identity, Issuer string
}

// Verify runs cosign on the artifact with the digest of the reference. It returns an error unless
// cosign finds a signature.
func (a Access) Verify(ctx context.Context, r Reference, v Verification) error {
	args := []string{"verify"}
	if v.Key != "" {
		args = append(args, "--key", v.Key)
	} else {
		args = append(args, "--certificate-identity", v.Identity, "--certificate-oidc-issuer", v.Issuer)
	}
	if err := a.runCosign(ctx, r, args); err != nil {
		return fmt.Errorf("%s is not unpacked: its signature is not verified: %w", r, err)
	}
	return nil
}

// Sign runs cosign to sign the artifact with the digest of the reference. Without a key the
// identity of the user is used.
func (a Access) Sign(ctx context.Context, r Reference, key string) error {
	args := []string{"sign", "--yes"}
	if key != "" {
		args = append(args, "--key", key)
	}
	if err := a.runCosign(ctx, r, args); err != nil {
		return fmt.Errorf("%s is not signed: %w", r, err)
	}
	return nil
}

// runCosign runs cosign on an artifact.
func (a Access) runCosign(ctx context.Context, r Reference, args []string) error {
	if a.Credentials != nil {
		return errors.New("cosign reads no credentials but those of docker's configuration")
	}
	if a.PlainHTTP {
		args = append(args, "--allow-http-registry")
	}
	if a.CAFile != "" {
		args = append(args, "--registry-cacert", a.CAFile)
	}
	cmd := exec.CommandContext(ctx, cosign, append(args, r.Exact())...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("the program cosign is not installed (docs.sigstore.dev)")
	}
	if err != nil {
		return fmt.Errorf("cosign: %w%s", err, lastLine(problems.String()))
	}
	return nil
}

// lastLine returns the last line of the output of a program, after a colon.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return ": " + last
	}
	return ""
}
