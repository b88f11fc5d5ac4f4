package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// TestControllerKills kills the leader of two replicas, or stops it for as long as another one
// leads, in the middle of the rollouts of many Sets. Every Set ends right, nothing is lost, no
// object is written twice or out of order, and no run begins while another one has the lock.
func TestControllerKills(t *testing.T) {
	installController(t)
	rounds, seed := seeded(t, roundsEnv, 2)
	number := 6
	if os.Getenv(roundsEnv) != "" {
		number = 20
	}
	k := newKillRound(t, number, rand.New(rand.NewPCG(seed, 0)))
	k.start()
	k.start()
	for range rounds {
		k.rollout(func(leader *replica) {
			leader.signal(t, syscall.SIGKILL)
			<-leader.done
			k.start()
		})
	}
	for range max(1, rounds/4) {
		k.pause()
	}
	k.checkSeen()
	k.delete()
}

// killRound is many Sets in one namespace, whose objects are of an edition, and the replicas that
// keep them.
type killRound struct {
	t         *testing.T
	random    *rand.Rand
	dir       string
	namespace string
	sets      []string
	cluster   dynamic.Interface
	replicas  []*replica
	dead      dead
	edition   int

	mutex    sync.Mutex
	editions map[string][]int // that each object had, one after the other
	faults   []string         // found by the watches
}

// The objects of a Set: ConfigMaps, of which the later half depends on a Deployment, and one more
// in every second edition.
const keptMaps = 8

// newKillRound returns Sets that do not exist yet.
func newKillRound(t *testing.T, number int, random *rand.Rand) *killRound {
	t.Helper()
	k := &killRound{
		t: t, random: random, dir: t.TempDir(), namespace: "kills-" + utilrand.String(10),
		editions: map[string][]int{},
	}
	for i := range number {
		k.sets = append(k.sets, fmt.Sprintf("set-%02d", i))
	}
	check(t, createNamespace(t.Cleanup, k.namespace))
	t.Cleanup(func() { releaseSets(k.namespace) })
	check(t, grant(k.namespace))
	check(t, writeControllerConfig(k.path("kubeconfig-controller")))
	check(t, writeKubeconfig(k.path("kubeconfig"), k.namespace))
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	check(t, err)
	config.QPS = -1
	k.cluster, err = dynamic.NewForConfig(config)
	check(t, err)
	k.watch("ConfigMap", k.seeObject)
	k.watch("Lease", k.seeLock())
	return k
}

func (k *killRound) path(name string) string { return filepath.Join(k.dir, name) }

// isApp reports whether a Set is an app.
func (k *killRound) isApp(name string) bool { return slices.Index(k.sets, name)%2 == 1 }

// start starts a replica.
func (k *killRound) start() {
	k.t.Helper()
	dir := k.path(fmt.Sprintf("replica-%d", len(k.replicas)))
	k.replicas = append(k.replicas, startReplica(k.t, dir, k.path("kubeconfig-controller"),
		[]string{k.namespace}, "--leader-election-namespace="+k.namespace,
		"--concurrent-per-namespace=16"))
}

// restart starts a replica if none is left, as pods are started again: a leader ends by itself
// that could not renew its Lease in time, on a busy machine.
func (k *killRound) restart() {
	k.t.Helper()
	alive := 0
	for _, r := range k.replicas {
		if r.runs() && !k.dead.has(r.cmd.Process.Pid) {
			alive++
		}
	}
	if alive == 0 {
		k.start()
	}
}

// leader waits until a replica that runs leads, and returns it: the one that was elected last.
func (k *killRound) leader() (leader *replica) {
	k.t.Helper()
	until(k.t, "a replica leads", func() (bool, string) {
		for _, r := range k.replicas {
			if r.runs() && !k.dead.has(r.cmd.Process.Pid) && r.leads() {
				leader = r
			}
		}
		k.restart()
		return leader != nil, ""
	})
	return leader
}

// rollout writes the next edition of all Sets, ends the leader when some objects are of that
// edition, and waits until all Sets are.
func (k *killRound) rollout(end func(leader *replica)) {
	k.t.Helper()
	k.edition++
	for _, name := range k.sets {
		applySet(k.t, k.cluster, keptSet(k.namespace, name, k.isApp(name), k.manifests(name)))
	}
	some := 1 + k.random.IntN(len(k.sets)*keptMaps*3/4)
	until(k.t, "some objects are written", func() (bool, string) {
		return k.written() >= some, fmt.Sprintf("%d of %d", k.written(), some)
	})
	leader := k.leader()
	k.dead.add(leader.cmd.Process.Pid)
	k.t.Logf("edition %d: the leader %d ends after %d objects", k.edition, leader.cmd.Process.Pid,
		k.written())
	end(leader)
	for _, name := range k.sets {
		until(k.t, "Set "+name+" is ready", func() (bool, string) {
			k.restart()
			return isKept(k.t, k.cluster, k.namespace, name)
		})
		k.checkSet(name)
	}
}

// pause stops the leader in the middle of a rollout, lets another one take over and end it, and
// continues the first one, which has to end without writing anything.
func (k *killRound) pause() {
	k.t.Helper()
	var stopped *replica
	k.rollout(func(leader *replica) {
		leader.signal(k.t, syscall.SIGSTOP)
		stopped = leader
	})
	stopped.signal(k.t, syscall.SIGCONT)
	until(k.t, "the replica that was stopped ends", func() (bool, string) {
		return !stopped.runs(), ""
	})
	k.start()
	for _, name := range k.sets {
		k.checkSet(name)
	}
}

// manifests returns the present edition of a Set.
func (k *killRound) manifests(name string) string {
	var text strings.Builder
	add := func(object *unstructured.Unstructured) {
		data, _ := json.Marshal(object) // of texts only
		fmt.Fprintf(&text, "---\n%s\n", data)
	}
	edition := strconv.Itoa(k.edition)
	deployment := generated("Deployment", name, edition)
	annotate(deployment, "kapp.k14s.io/change-group", "e2e/"+name)
	add(deployment)
	for _, object := range k.objects(name)[1:] {
		made := generated("ConfigMap", strings.TrimPrefix(object, "ConfigMap/"), edition)
		made.SetLabels(map[string]string{keptLabel: "true"})
		if n, err := strconv.Atoi(object[len(object)-1:]); err == nil && n >= keptMaps/2 {
			annotate(made, "kapp.k14s.io/change-rule", "upsert after upserting e2e/"+name)
			annotate(made, "config.kubernetes.io/depends-on",
				fmt.Sprintf("apps/namespaces/%s/Deployment/%s", k.namespace, name))
		}
		add(made)
	}
	return text.String()
}

// keptLabel marks the ConfigMaps of Sets.
const keptLabel = "e2e-kept"

// objects returns the keys of the objects of a Set, the Deployment first.
func (k *killRound) objects(name string) []string {
	keys := []string{"Deployment/" + name}
	for i := range keptMaps {
		keys = append(keys, fmt.Sprintf("ConfigMap/%s-%d", name, i))
	}
	if k.edition%2 == 1 {
		keys = append(keys, "ConfigMap/"+name+"-odd")
	}
	return keys
}

// watch watches the objects of a kind until the end of the test.
func (k *killRound) watch(kind string, see func(watch.EventType, *unstructured.Unstructured)) {
	k.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	k.t.Cleanup(stop)
	resource := k.cluster.Resource(watched[kind]).Namespace(k.namespace)
	list, err := resource.List(ctx, metav1.ListOptions{})
	check(k.t, err)
	version := list.GetResourceVersion()
	go func() { // ends with the context
		for ctx.Err() == nil {
			events, err := resource.Watch(ctx, metav1.ListOptions{ResourceVersion: version})
			if err != nil {
				continue // the API server may be busy
			}
			for event := range events.ResultChan() {
				object, ok := event.Object.(*unstructured.Unstructured)
				if !ok || event.Type == watch.Error {
					k.found("the watch of %ss has lost events: %v", kind, event.Object)
					return
				}
				version = object.GetResourceVersion()
				see(event.Type, object)
			}
		}
	}()
}

// found notes a fault.
func (k *killRound) found(format string, args ...any) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.faults = append(k.faults, fmt.Sprintf(format, args...))
}

// seeObject notes the edition of an object.
func (k *killRound) seeObject(kind watch.EventType, object *unstructured.Unstructured) {
	if kind == watch.Deleted || object.GetLabels()[keptLabel] == "" {
		return
	}
	edition, err := strconv.Atoi(textOf(object))
	if err != nil {
		k.found("%s is of no edition: %v", key(object), object)
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.editions[key(object)] = append(k.editions[key(object)], edition)
}

// written returns how many objects are of the present edition.
func (k *killRound) written() (n int) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for _, editions := range k.editions {
		if editions[len(editions)-1] == k.edition {
			n++
		}
	}
	return n
}

// seeLock returns what looks at the locks of Sets: one is only taken over from a process that was
// killed or stopped.
func (k *killRound) seeLock() func(watch.EventType, *unstructured.Unstructured) {
	holders := map[string]string{}
	return func(kind watch.EventType, lease *unstructured.Unstructured) {
		if _, locks := lease.GetAnnotations()["muster.dev/lock"]; !locks {
			return // the leader's
		}
		name := lease.GetName()
		before := holders[name]
		if kind == watch.Deleted {
			delete(holders, name)
			return
		}
		now, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
		if holders[name] = now; before == "" || before == now {
			return
		}
		pid, err := pidOf(before)
		if err != nil || !k.dead.has(pid) {
			k.found("the lock %s was taken from %s by %s", name, before, now)
		}
	}
}

// pidOf returns the process in the identity of a holder: USER@HOST/PID-RUN.
func pidOf(identity string) (int, error) {
	_, process, _ := strings.Cut(identity[strings.LastIndex(identity, "/"):], "/")
	pid, _, _ := strings.Cut(process, "-")
	return strconv.Atoi(pid)
}

// checkSet checks that the objects and the record of a Set are those of the present edition.
func (k *killRound) checkSet(name string) {
	k.t.Helper()
	want := k.objects(name)
	for _, object := range want {
		kind, name, _ := strings.Cut(object, "/")
		live, err := k.cluster.Resource(watched[kind]).Namespace(k.namespace).Get(k.t.Context(), name,
			metav1.GetOptions{})
		if err != nil || textOf(live) != strconv.Itoa(k.edition) {
			k.t.Errorf("%s is not of edition %d: %v, %v", object, k.edition, live, err)
		}
	}
	slices.Sort(want)
	recorded := recordedBy(k.t, k.cluster, k.dir, k.namespace, name, k.isApp(name))
	if !slices.Equal(recorded, want) {
		k.t.Errorf("the record of %s has %s, want %s", name, recorded, want)
	}
}

// checkSeen checks what the watches have seen: each object was written once in each edition, and in
// their order.
func (k *killRound) checkSeen() {
	k.t.Helper()
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for _, fault := range k.faults {
		k.t.Error(fault)
	}
	writes := 0
	for object, editions := range k.editions {
		writes += len(editions)
		if !slices.IsSorted(editions) || len(slices.Compact(slices.Clone(editions))) < len(editions) {
			k.t.Errorf("%s was written twice or out of order: %d", object, editions)
		}
	}
	k.t.Logf("%d writes of %d ConfigMaps in %d editions", writes, len(k.editions), k.edition)
}

// delete deletes the Sets, and checks that nothing is left of them.
func (k *killRound) delete() {
	k.t.Helper()
	sets := k.cluster.Resource(setsResource).Namespace(k.namespace)
	for _, name := range k.sets {
		check(k.t, sets.Delete(k.t.Context(), name, metav1.DeleteOptions{}))
	}
	for _, name := range k.sets {
		until(k.t, "Set "+name+" is gone", func() (bool, string) {
			_, status := isKept(k.t, k.cluster, k.namespace, name)
			return isGone(k.t, k.cluster, k.namespace, name), status
		})
	}
	for kind, resource := range watched {
		list, err := k.cluster.Resource(resource).Namespace(k.namespace).List(k.t.Context(),
			metav1.ListOptions{})
		check(k.t, err)
		for _, object := range list.Items {
			if kind != "Lease" && object.GetName() != "kube-root-ca.crt" {
				k.t.Errorf("%s is left", key(&object))
			}
		}
	}
}
