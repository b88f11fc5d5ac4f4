# The two modules and everything built from them. A target is a line or two; what is longer is a script or a test.
SHELL       := /bin/bash
BIN         := $(CURDIR)/bin
PACKAGES    := ./...
LOCAL       := ./e2e/... ./kubelet/... ./lifeline/... ./plane/... ./cmd/muster-local/...
KUBERNETES  := v1.36.3
STAMP       := k8s.io/component-base/version
STAMPS      := -X $(STAMP).gitVersion=$(KUBERNETES) -X $(STAMP).gitMajor=1 -X $(STAMP).gitMinor=36
GOLDEN      := ./internal/diff ./internal/golden ./internal/kpt ./internal/manifest ./internal/plan

.PHONY: build build-muster build-plane check format vet staticcheck boundaries drift test unit e2e golden demo bench clean

build: build-muster build-plane ## everything, into bin/

build-muster:
	go build -trimpath -ldflags '-s -w' -o $(BIN)/muster ./cmd/muster

build-plane:
	cd local && go build -trimpath -ldflags '-s -w $(STAMPS)' -o $(BIN)/ ./cmd/...

check: format vet staticcheck boundaries drift ## everything that needs no cluster and no race detector

format:
	@files=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi

vet:
	go vet $(PACKAGES)
	cd local && go vet $(LOCAL)

staticcheck:
	go tool staticcheck $(PACKAGES)
	cd local && go tool -modfile=../go.mod staticcheck $(LOCAL)

boundaries: ## the import table, the vendor keys, and what the root module may depend on
	go test -count=1 ./internal

drift: ## the goldens are what the code makes of their inputs
	go test -count=1 $(GOLDEN)

test: unit e2e ## all tests

unit:
	go test -race $(PACKAGES)

e2e: build
	cd local && go test -race -count=1 -timeout 20m $(LOCAL)

golden: ## rewrite the goldens
	go test $(GOLDEN) -update

demo: build ## deploy the example to a plane of its own
	hack/demo

bench:
	go test -run '^$$' -bench . -benchmem $(PACKAGES)

clean:
	rm -rf $(BIN)
