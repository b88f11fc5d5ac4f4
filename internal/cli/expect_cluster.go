package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// expectClusterVariable is the variable of the environment for --expect-cluster.
const expectClusterVariable = "MUSTER_EXPECT_CLUSTER"

// contextPrefix begins an expectation about the name of the kubeconfig context.
const contextPrefix = "context:"

// systemNamespace exists in every cluster. Its UID identifies the cluster.
var systemNamespace = object.Ref{Kind: "Namespace", Name: "kube-system"}

// ClusterGuard refuses to work on a cluster that the user does not expect. The zero value refuses
// none; Add enables it.
type ClusterGuard struct {
	enabled bool
	value   string
}

// ExpectedCluster is a cluster that a set belongs to.
type ExpectedCluster struct {
	Value string // UID of the namespace kube-system, or "context:" and a pattern; empty for any
	Where string // where the value is written, for errors
}

// WrongClusterError reports a cluster that is not the expected one.
type WrongClusterError struct {
	Expected ExpectedCluster
	Found    string // the cluster in use
}

func (e *WrongClusterError) Error() string {
	return fmt.Sprintf("wrong cluster: %s expects %s, but this is %s; nothing was changed; choose "+
		"the cluster with --context, or correct %s",
		e.Expected.Where, e.Expected.Value, e.Found, e.Expected.Where)
}

// Add adds the flag.
func (g *ClusterGuard) Add(flags *pflag.FlagSet) {
	g.enabled = true
	flags.StringVar(&g.value, "expect-cluster", "",
		"Fail if this is another cluster: UID of namespace kube-system, or context:PATTERN for the "+
			"name of the kubeconfig context (default: "+expectClusterVariable+")")
}

// CompleteExpected completes the value of the flag of a guard: the contexts of the kubeconfig, and
// the UID of the cluster that the flags choose.
func (k *Kube) CompleteExpected(cmd *cobra.Command) {
	CompleteFlag(cmd, "expect-cluster", func(cmd *cobra.Command) []string {
		raw, err := k.config().RawConfig()
		if err != nil {
			return nil
		}
		values := k.Ask(cmd, func(ctx context.Context, c *cluster.Client) []string {
			uid, err := ClusterUID(ctx, c)
			if err != nil || uid == "" {
				return nil
			}
			return []string{uid}
		})
		for _, name := range sortedKeys(raw.Contexts) {
			values = append(values, contextPrefix+name)
		}
		return values
	})
}

// Check returns an error unless the cluster is the one of the flag, or else of the environment, and
// that of set. It sends a request only if a UID is expected.
func (g ClusterGuard) Check(
	ctx context.Context, env *Env, kube *Kube, c cluster.Reader, set ExpectedCluster,
) error {
	if !g.enabled {
		return nil
	}
	user := ExpectedCluster{Value: g.value, Where: "--expect-cluster"}
	if g.value == "" {
		user = ExpectedCluster{env.Getenv(expectClusterVariable), expectClusterVariable}
	}
	for _, expected := range []ExpectedCluster{user, set} {
		if expected.Value == "" {
			continue
		}
		if err := kube.checkCluster(ctx, c, expected); err != nil {
			return err
		}
	}
	return nil
}

// checkCluster returns an error if the cluster is not the expected one.
func (k *Kube) checkCluster(ctx context.Context, c cluster.Reader, expected ExpectedCluster) error {
	name, err := k.context()
	if err != nil {
		return err
	}
	if pattern, ok := strings.CutPrefix(expected.Value, contextPrefix); ok {
		matches, err := path.Match(pattern, name)
		switch {
		case err != nil:
			return fmt.Errorf("%s: the pattern %q is invalid: %w", expected.Where, pattern, err)
		case !matches:
			return &WrongClusterError{expected, fmt.Sprintf("%q at %s", contextPrefix+name, c.Host())}
		}
		return nil
	}
	uid, err := ClusterUID(ctx, c)
	if err != nil {
		return fmt.Errorf("%s: %w", expected.Where, err)
	}
	if uid != expected.Value {
		found := fmt.Sprintf("%s at %s", cmp.Or(uid, "a cluster without a UID"), c.Host())
		if name != "" {
			found += fmt.Sprintf(" (context %q)", name)
		}
		return &WrongClusterError{expected, found}
	}
	return nil
}

// ClusterUID returns the UID of the namespace kube-system, which identifies the cluster.
func ClusterUID(ctx context.Context, c cluster.Reader) (string, error) {
	snapshot, err := c.Read(ctx, []cluster.Target{{Ref: systemNamespace}})
	if denied := (*cluster.DeniedError)(nil); errors.As(err, &denied) {
		return "", fmt.Errorf("find out which cluster this is: %w, or expect context:PATTERN", err)
	}
	if err != nil {
		return "", fmt.Errorf("find out which cluster this is: %w", err)
	}
	if obj := snapshot.Objects[systemNamespace]; obj != nil {
		return string(obj.GetUID()), nil
	}
	return "", nil
}

// Place returns the context of the kubeconfig, if there is one, and the address of the server, as
// in: context prod, cluster https://10.0.0.1:6443.
func (k *Kube) Place(address string) (string, error) {
	name, err := k.context()
	if err != nil {
		return "", err
	}
	if u, err := url.Parse(address); err == nil {
		address = u.Redacted()
	}
	text := "cluster " + address
	if name != "" {
		text = fmt.Sprintf("context %s, %s", name, text)
	}
	return text, nil
}

// context returns the name of the kubeconfig context; empty without one.
func (k *Kube) context() (string, error) {
	if name := k.flags.overrides.CurrentContext; name != "" {
		return name, nil
	}
	raw, err := k.config().RawConfig()
	if err != nil {
		return "", k.unreadable(err)
	}
	return raw.CurrentContext, nil
}
