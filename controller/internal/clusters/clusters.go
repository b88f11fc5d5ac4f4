// Package clusters holds connections to clusters: one for each impersonated user, with its own
// knowledge of the server's kinds. Users are service accounts of the controller's cluster and, in
// other clusters, those of kubeconfigs in Secrets.
package clusters

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/gate"
)

// Identity is a user, and the connection of those who act as it.
type Identity struct {
	Key     string // identifies the user and the cluster
	Cluster *muster.Cluster
	Config  *rest.Config // acts as the user
	// Owner acts as the user of the kubeconfig, who may impersonate another one; nil in the
	// controller's own cluster.
	Owner *rest.Config
}

// identity identifies an Identity.
type identity struct {
	namespace, serviceAccount string
	kubeconfig                string // its digest; empty in the controller's own cluster
}

// String returns the user as the server knows it, after what identifies another cluster.
func (i identity) String() string { return i.kubeconfig + " " + i.user() }

// user returns the name of the service account as the server knows it; empty for none.
func (i identity) user() string {
	if i.serviceAccount == "" {
		return ""
	}
	return fmt.Sprintf("system:serviceaccount:%s:%s", i.namespace, i.serviceAccount)
}

// mostAnswers is the limit of the bytes of all large answers of other clusters that are read at
// once: two, of which one namespace has one.
const mostAnswers = 2 * mostAnswer

// Pool holds the identities of Sets.
type Pool struct {
	config    *rest.Config
	reader    client.Reader
	userAgent string
	request   func(method string, code int)
	answers   *gate.Bytes // of other clusters

	mutex      sync.Mutex
	identities map[identity]*Identity
	users      map[types.NamespacedName]identity // by Set
}

// NewPool returns a pool for the server of a configuration, whose user may impersonate service
// accounts. The reader reads Secrets with kubeconfigs. Request is called after every request, from
// any goroutine; it may be nil.
func NewPool(
	config *rest.Config, reader client.Reader, userAgent string, request func(method string, code int),
) *Pool {
	return &Pool{
		config: config, reader: reader, userAgent: userAgent, request: request,
		answers:    gate.NewBytes(mostAnswers),
		identities: map[identity]*Identity{}, users: map[types.NamespacedName]identity{},
	}
}

// ErrNoAccount reports a Set without a service account in the cluster of the controller, where
// nothing is done with the permissions of the controller itself.
var ErrNoAccount = errors.New("the Set names no service account")

// As returns the identity as which a Set is deployed: the service account, or the user of a
// kubeconfig if that is empty. It sends no request but to read the Secret of a kubeconfig, whose
// errors are those of ReadKubeconfig. An identity that no Set has any more is forgotten.
func (p *Pool) As(
	ctx context.Context, set *v1alpha1.Set, serviceAccount string,
) (*Identity, error) {
	id, config := identity{namespace: set.Namespace, serviceAccount: serviceAccount}, p.config
	name := client.ObjectKeyFromObject(set)
	switch {
	case set.Spec.Cluster == nil && serviceAccount == "":
		p.Forget(name)
		return nil, ErrNoAccount
	case set.Spec.Cluster != nil:
		other, err := ReadKubeconfig(ctx, p.reader, set)
		if err != nil {
			p.Forget(name)
			return nil, err
		}
		id.kubeconfig, config = other.digest, other.config
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.identities[id] == nil {
		connected, err := p.connect(id, config)
		if err != nil {
			return nil, err
		}
		p.identities[id] = connected
	}
	if p.users[name] != id {
		p.release(name)
		p.users[name] = id
	}
	return p.identities[id], nil
}

// connect returns a new identity. It sends no request.
func (p *Pool) connect(id identity, config *rest.Config) (*Identity, error) {
	config = rest.CopyConfig(config)
	config.UserAgent, config.QPS, config.Burst = p.userAgent, -1, -1
	i := &Identity{Key: id.String(), Config: config}
	if id.kubeconfig != "" {
		config.Wrap(p.guard(id.namespace))
		i.Owner = rest.CopyConfig(config)
	}
	// The server adds the groups of a service account.
	config.Impersonate = rest.ImpersonationConfig{UserName: id.user()}
	var err error
	i.Cluster, err = muster.Connect(config, muster.ConnectOptions{
		UserAgent: p.userAgent, Request: p.request,
	})
	return i, err
}

// Forget forgets the identity of a Set, unless other Sets have it, too. A run that still uses it is
// not affected.
func (p *Pool) Forget(set types.NamespacedName) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.release(set)
}

// release does what Forget does, for those who hold the lock.
func (p *Pool) release(set types.NamespacedName) {
	id, known := p.users[set]
	if !known {
		return
	}
	delete(p.users, set)
	for _, other := range p.users {
		if other == id {
			return
		}
	}
	delete(p.identities, id)
}
