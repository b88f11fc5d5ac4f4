# The modules and everything built from them. A target is a line or two; what is longer is a script or a test.
SHELL       := /bin/bash
BIN         := $(CURDIR)/bin
# What a release is built with, in all builds and checks, so that none compiles again what another has compiled. Without C
# the programs run on every Linux; the race detector needs it.
export GOFLAGS     := $(strip $(GOFLAGS) -trimpath)
export CGO_ENABLED := 0
PACKAGES    := ./...
OTHERS      := ./mutants/... ./bench/... ./chart/... ./faults/... ./gitserver/... ./kubectl/... ./kubelet/... ./laws/... ./lifeline/... ./plane/... ./registry/... ./ring/... ./site/... ./testimage/... ./types/... ./webhook/... ./cmd/muster-local/... ./cmd/muster-node/...
LIGHT       := $(OTHERS) ./e2e/...
ALONE       := ^Test(Fresh|KappBroken|Unlisted|Sets|Managed|ShowSets|Deploy|Controller|ControllerSources)$$
HEAVY       := ./cmd/muster-components/... ./cmd/muster-kwok/...
FAULTS      := 500
LAWS        := 5000
MUTANTS     := 40
REPOSITORIES := https://github.com
BREAK        = PATH="$(BIN):$$PATH" go test -C local ./e2e -count=1 -timeout 12h -parallel 12 -v -run
# Packages whose own code is concurrent, and how tests are built: "make check" has vetted them, and nobody debugs them.
CONCURRENT   = $(shell git grep -lE '[.]Go\b|go func|"sync"|"sync/atomic"|\bchan\b' -- 'internal/*.go' 'cmd/*.go' '*.go' ':!*_test.go' ':!local' ':!controller' ':!release' | xargs -n1 dirname | sort -u | sed 's,^,./,')
QUICK       := -vet=off '-ldflags=-s -w'
OUTLINED    := archive encoding/asn1 encoding/xml mime github.com/muster-deploy/muster/internal/cli github.com/muster-deploy/muster/internal/show/report github.com/muster-deploy/muster/internal/compat/kpt github.com/muster-deploy/muster/internal/compat/kapp/ui github.com/muster-deploy/muster/internal/show/live go.yaml.in github.com/opencontainers github.com/pkg github.com/xlab k8s.io/apimachinery/pkg/api github.com/antlr4-go github.com/go-openapi github.com/google github.com/spf13 golang.org/x/crypto google.golang.org html k8s.io/client-go k8s.io/kube-openapi net oras.land sigs.k8s.io/kustomize text go.starlark.net
FUZZTIME    := 30s
VERSION     :=
RELEASE_URL :=
DIST        := dist
RELEASED     = -X github.com/muster-deploy/muster/internal/cli.version=$(VERSION)
KUBERNETES  := v1.36.3
OLDER        = $(shell awk '$$1 == "k8s.io/kubernetes" {print $$2}' local/older.mod)
STAMP       := k8s.io/component-base/version
stamps       = -X $(STAMP).gitVersion=$(1) -X $(STAMP).gitMajor=1 -X $(STAMP).gitMinor=$(word 2,$(subst ., ,$(1)))
TOOLS       := helm.sh/helm/v4/cmd/helm carvel.dev/kapp/cmd/kapp ./kpt
# RING runs the parts of a ring of tests and prints how many minutes each took, and whether all took more than a limit.
RING         = go build -C local -o $(BIN)/ring ./ring && $(BIN)/ring
# The parts of the second ring; each is a target below. SEEDED are the tests with generated inputs.
LONG        := long-campaigns long-seeds long-rollouts long-loaded long-busy long-late long-runs long-older long-released long-controllers long-capabilities
# CAMPAIGNS are those that break many requests, and kill programs, the server and its parts: only for the second ring.
CAMPAIGNS   := SingleFault|CrashMigrate|CrashRollback|Kills|Loaded|Restart|ControllerFaults|ControllerKills|ControllerOutage
# CONTROLLERS are the tests beside the controllers of others, which define kinds: only for the second ring.
CONTROLLERS := Flux|ArgoCD
FLUX        := source-controller kustomize-controller
# TAGS leave out of containerd what a real node does not use.
TAGS        := urfave_cli_no_docs no_btrfs no_devmapper no_zfs no_tracing
RUNS        := 20
ROUNDS      := 10
LATENCY     := 200ms
SEEDED       = $(shell awk '/^func Test/ {test = $$2; sub(/[^A-Za-z0-9].*/, "", test)} /= seeded[^ ]t, / {print test}' local/e2e/*_test.go | paste -sd'|')
GOLDEN       = $(shell git grep -lE 'internal/testing/golden"|"update", false' -- 'internal/*_test.go' 'cmd/*_test.go' | xargs -n1 dirname | sort -u | sed 's,^,./,') ./internal/testing/golden

.PHONY: build build-muster build-controller build-plane generate check format vet systems staticcheck boundaries drift test tools unit e2e suite e2e-test alone beside rest others build-tools build-argocd build-flux build-node e2e-node compare-node record-node build-older e2e-older golden site session demo bench faults test-long $(LONG) faults-mutants mutants fuzz vuln outdated reproducible release clean

# The compiler spends a sixth of its time collecting garbage; with this it needs up to 600 MB for a package instead of 450.
build-%: export GOGC := 400
e2e-test: export GOGC := 400

build: build-muster build-controller build-plane ## everything, into bin/

build-muster: ## the linker leaves out what only Go plugins could call; OUTLINED is small rather than fast
	go build $(OUTLINED:%=-gcflags=%/...=-l) -ldflags '-s -w $(if $(VERSION),$(RELEASED))' -o $(BIN)/muster$$(go env GOEXE) ./cmd/muster

build-controller: ## the controller
	cd controller && go build -ldflags '-s -w $(if $(VERSION),-X main.version=$(VERSION))' -o $(BIN)/ ./cmd/muster-controller

generate: ## the definition of Set, and the copies of its types
	cd controller && go tool -modfile=tools/go.mod controller-gen object paths=./api/... crd output:crd:stdout >../deploy/crds/sets.yaml
	cp deploy/crds/*.yaml deploy/chart/muster-controller/definitions/

build-plane: ## the control plane and, where there is none, the kubectl of its version
	cd local && ./compile -ldflags '-s -w $(call stamps,$(KUBERNETES))' -o $(BIN)/ ./cmd/...
	command -v kubectl >/dev/null || (cd local && ./compile -ldflags '-s -w $(call stamps,$(KUBERNETES))' -o $(BIN)/ k8s.io/kubernetes/cmd/kubectl)

check: format vet systems staticcheck boundaries drift ## everything that needs no cluster and no race detector

format:
	@files=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi

vet:
	go vet $(PACKAGES)
	go vet -tags profile ./cmd/muster
	cd controller && go vet $(PACKAGES)
	cd local && go vet $(LIGHT) $(HEAVY)

systems: ## the types of the program for every system of a release; nothing is compiled for them
	go test -count=1 -run '^TestSystems$$' ./release

staticcheck:
	go tool staticcheck $(PACKAGES)
	cd controller && go tool -modfile=../go.mod staticcheck $(PACKAGES)
	cd local && go tool -modfile=../go.mod staticcheck $(LIGHT)

boundaries: ## the import table, the vendor keys, the dependencies, and the language of code and docs
	go test -count=1 ./internal

drift: ## the goldens are what the code makes of their inputs, the definition of Set is that of its types, and no link of the documentation is broken
	cd controller && go tool -modfile=tools/go.mod controller-gen crd output:crd:stdout paths=./api/... | diff - ../deploy/crds/sets.yaml
	go test -count=1 $(GOLDEN)
	cd local && go test -count=1 ./site

test: build build-tools ## all tests of a change, the first of three rings; the others are test-long and faults
	$(RING) -name test -limit 12 unit e2e -- $(MAKE) {}

tools: ## on Debian, as root: the programs of the tests that MUSTER_TEST_TOOLS=required does not skip, and what build-node needs
	@missing=$$(for pair in chromium:chromium dot:graphviz npm:npm tmux:tmux gcc:gcc pkg-config:pkg-config; do command -v $${pair%:*} >/dev/null || echo $${pair#*:}; done; \
	  pkg-config --exists libseccomp 2>/dev/null || echo libc6-dev libseccomp-dev); \
	if [ -z "$$missing" ]; then exit; fi; echo "missing:" $$missing; \
	[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "on Debian, make tools installs these as root" >&2; exit 1; }; \
	apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing fonts-dejavu-core >/dev/null

unit: ## with the race detector where something is concurrent, without the long tests in which nothing is
	go test $(QUICK) $(PACKAGES)
	CGO_ENABLED=1 go test $(QUICK) -race -short $(CONCURRENT)
	cd controller && CGO_ENABLED=1 go test $(QUICK) -race $(PACKAGES)

e2e: build build-tools e2e-test ## all tests that need a plane, on two at the same time: one for those beside which no others may run
	$(MAKE) -k -j2 -Oline rest beside

suite: e2e-test ## the end-to-end tests, of what is built
	$(MAKE) -k -j2 -Oline alone beside

e2e-test:
	cd local && go test $(QUICK) -c -o $(BIN)/e2e.test ./e2e

alone beside:
	cd local/e2e && PATH="$(BIN):$$PATH" $(BIN)/e2e.test -test.timeout 75m $(if $(filter alone,$@),-test.run '$(ALONE)',-test.skip '$(ALONE)|^Test($(CAMPAIGNS)|$(CONTROLLERS)|Capabilities|Node|NodeRollouts|NodeTools)$$')

rest:
	$(RING) alone others -- $(MAKE) {}

others: ## the tests of the plane and of what else the end-to-end tests use
	cd local && PATH="$(BIN):$$PATH" go test $(QUICK) -count=1 -timeout 30m $(OTHERS) $(HEAVY)

build-tools: ## Helm, kapp, kpt (kpt live alone) and kapply, from their module, for tests of coming from them, into bin/tools/
	cd local/tools && go build -ldflags '-s -w' -o $(BIN)/tools/ $(TOOLS)
	cd local/tools && go build -ldflags '-s -w' -o $(BIN)/tools/kapply sigs.k8s.io/cli-utils/cmd

build-argocd: ## the parts of Argo CD that sync Applications, and their definitions, from their module, into bin/argocd/
	set -e; cd local/argocd; go build -p 2 -ldflags '-s -w' -o $(BIN)/argocd/ .; \
	crds="$$(go list -m -f '{{.Dir}}' github.com/argoproj/argo-cd/v3)"/manifests/crds; \
	for name in application appproject; do echo ---; cat "$$crds/$$name-crd.yaml"; done >$(BIN)/argocd/definitions.yaml

build-flux: ## the source-controller and the kustomize-controller of Flux, and their definitions, from their module, into bin/flux/
	set -e; cd local/flux; for name in $(FLUX); do go build -p 2 -ldflags '-s -w' -o $(BIN)/flux/ github.com/fluxcd/$$name; \
	  cat "$$(go list -m -f '{{.Dir}}' github.com/fluxcd/$$name)"/config/crd/bases/*.yaml >$(BIN)/flux/$$name.yaml; done

build-node: ## what a real node needs besides the plane, into bin/node/: the components with a kubelet, containerd, its shim, runc and network plugins from their module, and the test image; runc needs a C compiler and libseccomp-dev, or that of the system is used
	cd local && go build -ldflags '-s -w' -o $(BIN)/node/ ./testimage
	cd local && ./compile -tags node -ldflags '-s -w $(call stamps,$(KUBERNETES))' -o $(BIN)/node/ ./cmd/muster-components
	set -e; cd local/node; containerd=github.com/containerd/containerd/v2; \
	go build -tags '$(TAGS)' -ldflags "-s -w -X $$containerd/version.Version=$$(go list -m -f '{{.Version}}' $$containerd)" -o $(BIN)/node/ $$containerd/cmd/containerd; \
	go build -tags '$(TAGS) no_grpc' -ldflags '-s -w' -o $(BIN)/node/ $$containerd/cmd/containerd-shim-runc-v2; \
	go build -ldflags '-s -w' -o $(BIN)/node/ github.com/containernetworking/plugins/plugins/{main/ptp,ipam/host-local}; \
	if command -v $${CC:-gcc} >/dev/null && pkg-config --exists libseccomp 2>/dev/null; then \
	  CGO_ENABLED=1 go build -tags 'seccomp urfave_cli_no_docs netgo osusergo' -ldflags '-s -w -linkmode external -extldflags -static' -o $(BIN)/node/ github.com/opencontainers/runc; \
	else command -v runc || { echo "install gcc, pkg-config and libseccomp-dev, to build runc, or runc" >&2; exit 1; }; fi

e2e-node: build build-node ## workloads on a node that runs containers; needs root and Linux
	MUSTER_TEST_NODE=required $(BREAK) '^TestNode(Rollouts)?$$'

compare-node: build build-node build-tools ## what muster and other tools say about these workloads, into docs/comparison.md; needs root and Linux
	MUSTER_TEST_NODE=required MUSTER_TEST_TOOLS=required $(BREAK) '^TestNodeTools$$' -update-docs

record-node: build build-node ## the statuses of pods on a real node, into local/kubelet/testdata/real; needs root and Linux
	local/kubelet/record/sequences local/kubelet/testdata/real

build-older: build build-tools ## the control plane of the version in local/older.mod, with everything else of bin/, into bin-older/
	mkdir -p $(BIN)-older
	ln -sf $(BIN)/muster $(BIN)/muster-controller $(BIN)/muster-kwok $(BIN)/muster-local $(BIN)/tools $(BIN)-older/
	cd local && go build -modfile=older.mod -ldflags '-s -w $(call stamps,$(OLDER))' -o $(BIN)-older/ ./cmd/muster-components

e2e-older: build-older ## the end-to-end tests on an API server of that version
	MUSTER_E2E_BIN=$(BIN)-older $(MAKE) suite

golden: ## rewrite the goldens
	go test $(GOLDEN) -update

site: ## the documentation as static pages, into bin/site/
	cd local && go run ./site -out $(BIN)/site

session: build ## run the session of the README, and draw docs/session.svg
	PATH="$(BIN):$$PATH" go test -C local ./e2e -count=1 -run '^TestDocs$$/^local-site-session$$' -update-docs
	cd local && go run ./site -session

demo: ## the commands of the README and of docs/examples.md on a plane of its own, or only the first steps: with NODE=real on a node that runs containers, with CLUSTER=current in a new namespace of the cluster of the current context
	@echo $(if $(CLUSTER),"building muster","building muster and Kubernetes: six minutes the first time on two cores, seconds later")
	$(MAKE) build-muster $(if $(CLUSTER),,build-plane $(if $(NODE),build-node))
	examples/demo $(or $(CLUSTER),$(NODE))

bench: build ## micro-benchmarks, then muster beside other tools on a plane of its own; BENCH holds flags, as in docs/performance.md
	go test -run '^$$' -bench . -benchmem $(PACKAGES)
	cd local && go run ./bench -bin $(BIN) $(BENCH)

faults: build ## the long runs of the tests that break things: FAULTS mixtures of faults per kind of set, every request once, 300 kills of each command, 50 of the API server and of etcd, 20 of the controller that leads, 100 mixtures for the controller, five minutes without an API server, the laws of merging with LAWS objects, a minute of hostile kustomizations
	MUSTER_E2E_ROUNDS=$(FAULTS) $(BREAK) '^TestFaults$$'
	MUSTER_E2E_ROUNDS=60 $(BREAK) '^TestSingleFault$$'
	MUSTER_E2E_ROUNDS=150 $(BREAK) '^TestCrash$$'
	MUSTER_E2E_ROUNDS=300 $(BREAK) '^TestCrashMigrate$$'
	MUSTER_E2E_ROUNDS=50 $(BREAK) '^TestKills$$'
	MUSTER_E2E_ROUNDS=20 $(BREAK) '^TestControllerKills$$'
	MUSTER_E2E_ROUNDS=100 $(BREAK) '^TestControllerFaults$$'
	MUSTER_E2E_OUTAGE=300 $(BREAK) '^TestControllerOutage$$'
	MUSTER_E2E_OBJECTS=$(LAWS) $(BREAK) '^TestLaws$$'
	for name in FuzzFields FuzzArchive; do \
	  go test -run '^$$' -fuzz "^$$name\$$" -fuzztime 30s ./internal/manifest/kustomize || exit 1; done

test-long: build build-tools ## the second ring: its parts, LONG, of which one that fails does not keep the others from running
	$(RING) -name test-long -limit 600 $(LONG) -- $(MAKE) {}

long-campaigns: ## the tests that the first ring leaves to this one
	$(BREAK) '^Test($(CAMPAIGNS))$$'

long-seeds: ## ROUNDS of each test with generated inputs, from new seeds
	MUSTER_E2E_ROUNDS=$(ROUNDS) MUSTER_E2E_OBJECTS=$(ROUNDS)00 $(BREAK) '^($(SEEDED))$$'

long-rollouts: ## 500 updates to versions that crash at random moments
	MUSTER_E2E_ROUNDS=500 $(BREAK) '^TestCrashingRollouts$$'

long-loaded: ## the same output RUNS times beside eight busy loops
	MUSTER_E2E_RUNS=$(RUNS) $(BREAK) '^TestLoaded$$'

long-busy: ## the end-to-end tests beside two busy processors
	$(RING) -busy 2 suite -- $(MAKE) {}

long-late: ## the end-to-end tests with a server whose answers come LATENCY later
	MUSTER_E2E_LATENCY=$(LATENCY) $(MAKE) suite

long-runs: ## the end-to-end tests RUNS times
	$(RING) -runs $(RUNS) suite -- $(MAKE) {}

long-older: e2e-older

long-released: ## sets that other projects release, from REPOSITORIES; needs git, and an hour
	MUSTER_E2E_REPOSITORIES=$(REPOSITORIES) $(BREAK) '^TestReleased$$'

long-controllers: build-flux build-argocd ## scripts beside the controllers of others
	MUSTER_TEST_CONTROLLERS=required $(BREAK) '^Test($(CONTROLLERS))$$'

long-capabilities: ## capabilities that patches add to a copy of the tree, for packages and apps
	$(BREAK) '^TestCapabilities$$'

faults-mutants: build ## shows that these tests fail if muster has a defect
	MUSTER_E2E_MUTANTS=1 MUSTER_E2E_ROUNDS=60 $(BREAK) '^TestMutants$$'

mutants: build ## shows which of MUTANTS defects, drawn by the commit before, no test sees
	cd local/mutants && go run . -n $(MUTANTS)

fuzz: ## every fuzz test for FUZZTIME
	@set -e; for dir in $$(git grep -l '^func Fuzz' -- '*_test.go' | xargs -n1 dirname | sort -u); do \
	  for name in $$(grep -ho '^func Fuzz[A-Za-z0-9]*' $$dir/*_test.go | cut -c6-); do \
	    echo "$$dir $$name"; go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) ./$$dir; done; done

vuln: ## known vulnerabilities in code that is called; GOVULNDB is the database, or a copy of it
	go tool govulncheck $(if $(GOVULNDB),-db $(GOVULNDB)) $(PACKAGES)

outdated: ## direct dependencies of which there are newer versions
	@go list -m -u -f '{{if and .Update (not .Indirect)}}{{.Path}} {{.Version}} -> {{.Update.Version}}{{end}}' all | grep . || true

reproducible: ## two builds of the same commit, with nothing in common but the toolchain, are equal
	@set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; for n in 1 2; do \
	  git clone -q . "$$dir/$$n/muster"; GOCACHE="$$dir/cache$$n" $(MAKE) -C "$$dir/$$n/muster" build-muster; done; \
	sha256sum "$$dir"/?/muster/bin/muster; cmp "$$dir"/?/muster/bin/muster

release: ## the files of release VERSION (v1.2.3) for all platforms, into DIST; RELEASE_URL is the address that they will have, or none
	go run ./release -version '$(VERSION)' -url '$(RELEASE_URL)' -out '$(DIST)'

clean:
	rm -rf $(BIN) $(BIN)-older
