package plane

import (
	"errors"
	"fmt"
	"net"
)

// ports are the TCP ports of a plane, all on 127.0.0.1.
type ports struct {
	Etcd        int `json:"etcd"`
	EtcdPeer    int `json:"etcdPeer"`
	APIServer   int `json:"apiServer"`
	Controllers int `json:"controllerManager"`
	Scheduler   int `json:"scheduler"`
	Kubelet     int `json:"kubelet"`
}

// freePorts picks ports that nobody listens on. All are held until the last is picked, so they
// differ. Another process may take one before its component listens: that component then dies, and
// the plane picks again.
func freePorts() (chosen ports, err error) {
	for _, port := range []*int{
		&chosen.Etcd, &chosen.EtcdPeer, &chosen.APIServer,
		&chosen.Controllers, &chosen.Scheduler, &chosen.Kubelet,
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return ports{}, fmt.Errorf("find a free port: %w", err)
		}
		defer func() { err = errors.Join(err, listener.Close()) }()
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	return chosen, nil
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

func httpsURL(port int) string { return "https://" + address(port) }
