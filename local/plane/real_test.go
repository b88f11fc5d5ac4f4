package plane

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRealNodesOfAPlane(t *testing.T) {
	for _, test := range []struct {
		name    string
		before  *state // nil: the plane was never up
		o       Options
		running bool
		want    string // the nodes, or the error
	}{
		{"none", nil, Options{}, false, "1 nodes"},
		{"alone", nil, Options{Real: new(2)}, false, "0 simulated and 2 real nodes"},
		{"beside simulated ones", nil, Options{Real: new(1), Nodes: new(3)}, false,
			"3 simulated and 1 real nodes"},
		{"as before", &state{Real: make([]realNode, 2)}, Options{}, false,
			"0 simulated and 2 real nodes"},
		{"beside those of before", &state{Nodes: 1}, Options{Real: new(1)}, false,
			"1 simulated and 1 real nodes"},
		{"no more", &state{Nodes: 1, Real: make([]realNode, 2)}, Options{Real: new(0)}, false,
			"1 nodes"},
		{"while it runs", &state{Nodes: 1}, Options{Real: new(1)}, true,
			"the plane is up with 1 nodes: take it down to start it with 1 simulated and 1 real nodes"},
		{"the same while it runs", &state{Real: make([]realNode, 1)}, Options{Real: new(1)}, true,
			"0 simulated and 1 real nodes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := test.before
			if s == nil {
				s = newState(test.o)
			}
			err := s.setNodes(test.o, test.running)
			got := countNodes(s.Nodes, len(s.Real))
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// Nodes of all planes have different addresses, and certificates for these.
func TestPlacesOfRealNodes(t *testing.T) {
	placed, err := placeReal(3)
	if err != nil || len(placed) != 3 {
		t.Fatalf("%v, %v", placed, err)
	}
	addresses := map[string]bool{}
	for _, n := range placed {
		if n.Port == 0 || addresses[n.address()] {
			t.Errorf("%+v", placed)
		}
		addresses[n.address()] = true
	}
	if _, err := placeReal(realSlots + 1); err == nil || !strings.Contains(err.Error(), "room for") {
		t.Errorf("more nodes than there are addresses: %v", err)
	}
	p, now := newPaths(t), time.Now()
	if err := ensureCerts(p, now); err != nil {
		t.Fatal(err)
	}
	if err := issueReal(p, placed, now); err != nil {
		t.Fatal(err)
	}
	ca, err := readPair(p, certAuthority, now)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	for i, n := range placed {
		got, err := readPair(p, realName(i), now)
		if err != nil {
			t.Fatal(err)
		}
		if subject := got.cert.Subject.String(); subject != "CN=system:node:"+realName(i)+
			",O=system:nodes" {
			t.Error(subject)
		}
		for _, host := range []string{n.address(), "127.0.0.1"} {
			o := x509.VerifyOptions{Roots: roots, DNSName: host}
			if _, err := got.cert.Verify(o); err != nil {
				t.Error(err)
			}
		}
	}
}

// A node that reported before the start that it was ready is not ready for that.
func TestUsableNodes(t *testing.T) {
	start := time.Now()
	report := func(age time.Duration, status corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: status,
			LastHeartbeatTime: metav1.NewTime(start.Add(-age).Truncate(time.Second)),
		}}}}
	}
	for name, test := range map[string]struct {
		node *corev1.Node
		of   process
		want bool
	}{
		"simulated":    {report(time.Hour, corev1.ConditionTrue), process{}, true},
		"not ready":    {report(0, corev1.ConditionFalse), process{}, false},
		"reported now": {report(0, corev1.ConditionTrue), process{1, start.UnixMilli()}, true},
		"reported before": {report(time.Minute, corev1.ConditionTrue),
			process{1, start.UnixMilli()}, false},
	} {
		if got := usable(test.node, test.of); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
