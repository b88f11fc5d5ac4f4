package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// How many requests a rollback sends, about.
const ofRollback = 16

// TestCrashRollback kills rollbacks, and applies with --on-failure=rollback while these roll back,
// at a random request: of objects, of the record, of the parts of a revision, of its head, and of
// the revisions that are pruned. The history stays readable and keeps the last revision that
// succeeded, nothing is lost, and the command leads to the same end when it is run again.
func TestCrashRollback(t *testing.T) {
	t.Parallel()
	installResourceGroup(t)
	rounds, seed := seeded(t, roundsEnv, 1)
	for _, p := range kinds {
		for _, recovers := range []bool{false, true} {
			for i := range rounds {
				t.Run(fmt.Sprintf("%s/recovers=%t/%d", p.name, recovers, i), func(t *testing.T) {
					inTurn(t)
					random := rand.New(rand.NewPCG(seed, i))
					r := &rollbackRound{newRound(t, p, random.IntN(4) == 0, random)}
					if random.IntN(2) == 0 {
						r.enlarge()
					}
					if recovers {
						r.crashRecovery()
					} else {
						r.crashRollback()
					}
				})
			}
		}
	}
}

// rollbackRound is a round in which the native commands go back to version 0.
type rollbackRound struct{ *round }

// enlarge adds so many random texts to both versions that a revision has several parts.
func (r *rollbackRound) enlarge() {
	r.t.Helper()
	for i := range 8 {
		random := make([]byte, 120_000)
		for k := range random {
			random[k] = byte(r.random.Uint32())
		}
		text := base64.StdEncoding.EncodeToString(random)
		for v := range r.versions {
			more := version{texts: map[string]string{}}
			more.add(generated("ConfigMap", fmt.Sprintf("large-%d", i), text), text)
			r.versions[v].texts[fmt.Sprintf("ConfigMap/large-%d", i)] = text
			r.write(fmt.Sprintf("v%d/large-%d.yaml", v, i), more.manifests)
		}
	}
}

// command starts a native command on the set, with the objects of a folder.
func (r *rollbackRound) command(
	ctx context.Context, kubeconfig, name, folder string, flags ...string,
) *execution {
	r.t.Helper()
	args := []string{"muster", name, folder}
	if r.app {
		args = []string{"muster", name, "-a", set}
		if name == "apply" {
			args = append(args, "-f", folder)
		}
	}
	if args = append(args, flags...); !r.locked {
		args = append(args, "--lock=false")
	}
	return r.execute(ctx, append(args, "--history-limit=2"), kubeconfig)
}

// expect runs a native command alone and returns it. It ends with one of the codes.
func (r *rollbackRound) expect(
	codes []int, name, folder string, flags ...string,
) *execution {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), hangTimeout)
	defer cancel()
	e := r.command(ctx, r.path("kubeconfig"), name, folder, flags...)
	if r.finish(e); !slices.Contains(codes, e.code) {
		r.t.Errorf("%s alone ends with exit code %d", e, e.code)
	}
	return e
}

// crashRollback kills the rollback from version 1 to version 0.
func (r *rollbackRound) crashRollback() {
	r.expect([]int{0}, "apply", "v0")
	r.expect([]int{0}, "apply", "v1")
	for range 1 + r.random.IntN(3) {
		r.crash(ofRollback, func(ctx context.Context, kubeconfig string) *execution {
			return r.command(ctx, kubeconfig, "rollback", "v0", r.to(), "--yes")
		})
		r.checkRecord()
		r.checkRestorable()
	}
	r.expect([]int{0}, "rollback", "v0", r.to(), "--yes")
	r.checkVersion(0)
	r.checkRestorable()
}

// to returns the flag of a rollback to version 0: the first revision or, if it was pruned, the one
// that restores it.
func (r *rollbackRound) to() string {
	r.t.Helper()
	number := 0
	for _, revision := range r.revisions() {
		if revision.Number == 1 || revision.Restores > 0 && revision.Outcome == "ok" {
			number = revision.Number
			break // the newest one
		}
	}
	if number == 0 {
		r.t.Fatal("the history has no revision of version 0")
	}
	return "--to=" + strconv.Itoa(number)
}

// crashRecovery kills an apply of version 1 with an invalid object, mostly while it goes back to
// version 0.
func (r *rollbackRound) crashRecovery() {
	r.write("v1/invalid.yaml", invalidService)
	r.expect([]int{0}, "apply", "v0")
	apply := func(ctx context.Context, kubeconfig string) *execution {
		return r.command(ctx, kubeconfig, "apply", "v1", "--on-failure=rollback")
	}
	for range 1 + r.random.IntN(2) {
		if r.random.IntN(4) > 0 {
			r.crashAfter(writesHead, ofRollback, apply)
		} else {
			r.crash(2*ofRollback, apply)
		}
		r.checkRecord()
		r.checkRestorable()
	}
	// A run rolls back what it has changed itself: if those that were killed have changed or created
	// something, that is left to the command rollback, which shows what it does.
	if e := r.expect([]int{3, 4}, "apply", "v1", "--on-failure=rollback"); e.code == 3 {
		r.expect([]int{0}, "rollback", "v0", "--to="+strconv.Itoa(r.lastGood()), "--yes")
	}
	r.checkVersion(0)
	r.checkRestorable()
}

// invalidService is an object that the server refuses.
const invalidService = `apiVersion: v1
kind: Service
metadata: {name: invalid}
spec: {ports: [{port: 70000}]}
`

// writesHead reports whether a request creates the head of a revision.
func writesHead(request *http.Request) bool {
	if request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, "/secrets") {
		return false
	}
	data, err := io.ReadAll(request.Body)
	request.Body = io.NopCloser(bytes.NewReader(data))
	return err == nil && bytes.Contains(data, []byte("muster.dev/revision-meta"))
}

// lastGood returns the newest revision whose run succeeded.
func (r *rollbackRound) lastGood() int {
	r.t.Helper()
	for _, found := range r.revisions() {
		if found.Outcome == "ok" {
			return found.Number
		}
	}
	r.t.Fatal("the history has no revision that succeeded")
	return 0
}

// checkRestorable checks that the history can be read, and that the last revision that succeeded
// has all objects of a version.
func (r *rollbackRound) checkRestorable() {
	r.t.Helper()
	e := r.inspect("history show", strconv.Itoa(r.lastGood()), "-o", "yaml")
	for _, v := range r.versions {
		complete := true
		for key := range v.texts {
			_, name, _ := strings.Cut(key, "/")
			complete = complete && bytes.Contains(e.stdout.Bytes(), []byte("name: "+name+"\n"))
		}
		if complete {
			return
		}
	}
	r.t.Errorf("%s shows neither version", e)
}
