// Package clusters holds connections to the cluster: one for each service account as which Sets are
// deployed, with its own knowledge of the server's kinds.
package clusters

import (
	"fmt"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/muster-deploy/muster"
)

// Identity is a service account, and the connection of those who act as it.
type Identity struct {
	Namespace, ServiceAccount string
	Cluster                   *muster.Cluster
	Config                    *rest.Config // impersonates the service account
}

// User returns the name of the service account as the server knows it.
func User(namespace, serviceAccount string) string {
	return fmt.Sprintf("system:serviceaccount:%s:%s", namespace, serviceAccount)
}

// Pool holds the identities.
type Pool struct {
	config    *rest.Config
	userAgent string
	request   func(method string, code int)

	mutex      sync.Mutex
	identities map[string]*Identity // by user
}

// NewPool returns a pool for the server of a configuration, whose user may impersonate service
// accounts. Request is called after every request, from any goroutine; it may be nil.
func NewPool(config *rest.Config, userAgent string, request func(method string, code int)) *Pool {
	return &Pool{
		config: config, userAgent: userAgent, request: request, identities: map[string]*Identity{},
	}
}

// As returns the identity of a service account. It sends no request.
func (p *Pool) As(namespace, serviceAccount string) (*Identity, error) {
	user := User(namespace, serviceAccount)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if known := p.identities[user]; known != nil {
		return known, nil
	}
	config := rest.CopyConfig(p.config)
	config.UserAgent, config.QPS, config.Burst = p.userAgent, -1, -1
	config.Impersonate = rest.ImpersonationConfig{UserName: user} // the server adds its groups
	cluster, err := muster.Connect(config, muster.ConnectOptions{
		UserAgent: p.userAgent, Request: p.request,
	})
	if err != nil {
		return nil, err
	}
	i := &Identity{
		Namespace: namespace, ServiceAccount: serviceAccount, Cluster: cluster, Config: config,
	}
	p.identities[user] = i
	return i, nil
}

// Keep forgets the identities of a namespace that are not among some service accounts.
func (p *Pool) Keep(namespace string, serviceAccounts map[string]bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for user, i := range p.identities {
		if i.Namespace == namespace && !serviceAccounts[i.ServiceAccount] {
			delete(p.identities, user)
		}
	}
}
