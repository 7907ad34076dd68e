# Every target is also a plain go command; "make help" lists them.
export CGO_ENABLED := 0

VERSION  ?= $(shell git describe --tags --match 'v*' --always --dirty 2>/dev/null | sed -n 's/^v\([0-9]*\.[0-9]*\.[0-9]*\)$$/\1/p')
LDFLAGS  := -s -w $(if $(VERSION),-X main.version=$(VERSION))
# One flag for all targets, so that each dependency is compiled once: "go build", "go vet", "go test" and the
# linter share the build cache.
export GOFLAGS := -trimpath
# The compiler collects its garbage less often, which saves a quarter of its time and takes half as much memory
# again. "go test", whose programs would inherit that, finds most packages compiled by "go vet".
COMPILER := GOGC=400
# Modules of their own: what they need never reaches the binary.
NESTED   := sdk sdk/awscreds examples/tps-report examples/kinesis-stream examples/wordpress release
LINT     := golangci-lint
LINT_VERSION := v2.15.0
GORELEASER_VERSION := v2.16.0
CYCLONEDX_VERSION  := v1.10.0

.DEFAULT_GOAL := build

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  %-10s %s\n", $$1, $$2}'

.PHONY: build
build: ## build bin/cfn, one static binary
	$(COMPILER) go build -trimpath -ldflags="$(LDFLAGS)" -o bin/cfn ./cmd/cfn

.PHONY: release-files
release-files: ## write what a release has besides the binaries into build/release
	cd release && go run . clear build/release
	@set -e; for arch in amd64 arm64; do \
		GOOS=linux GOARCH=$$arch go build -trimpath -ldflags="-s -w -buildid= -X main.version=$(VERSION)" -o build/release/$$arch/cfn ./cmd/cfn; done
	cd release && go run . manual ../build/release "$(VERSION)" && go run . licenses ../build/release/licenses
	cd release && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) go run . image ../build/release/cfn_image.tar "$(VERSION)" ../build/release/amd64/cfn ../build/release/arm64/cfn

.PHONY: release-snapshot
release-snapshot: ## build a whole release into dist/, without publishing it
	@PATH="$$(go env GOPATH)/bin:$$PATH"; \
	command -v goreleaser >/dev/null || go install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION); \
	command -v cyclonedx-gomod >/dev/null || go install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX_VERSION); \
	GOPROXY=off goreleaser release --snapshot --clean $(if $(MINISIGN_KEY),,--skip=sign)
	cd release && go run . packages ../dist

.PHONY: release-host
release-host: ## build the archive and the packages for this machine into dist/, without GoReleaser
	cd release && go run . host ../dist "$(VERSION)"

.PHONY: vsix
vsix: ## write the extension for Visual Studio Code into build/, without npm or a network
	cd release && go run . vsix ../build "$(VERSION)"

.PHONY: site
site: build ## write the documentation as a static site into build/site
	bin/cfn docs --write build/site

.PHONY: screenshots
screenshots: ## write pictures of the console and of the documentation into build/screenshots (needs Chromium)
	FORMWORK_SCREENSHOTS=$(CURDIR)/build/screenshots go test -count=1 -run '^(TestInABrowser|TestDocsInABrowser)$$' ./internal/running/console ./internal/cli

.PHONY: picture
picture: ## write docs/console.png, the picture of the console in README (needs Chromium)
	FORMWORK_PICTURE=$(CURDIR)/docs/console.png go test -count=1 -run '^TestInABrowser$$/^picture$$' ./internal/running/console

.PHONY: demo
demo: build ## build, then take a complete resource type through its whole contract
	@PATH="$(CURDIR)/bin:$$PATH" sh examples/demo.sh

.PHONY: test
test: ## run every test of all modules and sum up; what a test lacks on this machine is said in a line
	@.ci/test $(NESTED)

.PHONY: vm
vm: ## the tests of the sandbox in a virtual machine with delegated control groups: KERNEL=PATH, see CONTRIBUTING.md
	internal/foundation/sandbox/testdata/vm.sh $(KERNEL)

.PHONY: wine
wine: ## the binary for Windows under Wine 9 or later, see docs/install.md
	release/wine.sh

MINUTES ?= 15
KILLS   ?= 40
.PHONY: torture
torture: build ## attack what was built for MINUTES (default 15): servers killed, hostile projects, requests, packages, handlers
	@MINUTES=$(MINUTES) KILLS=$(KILLS) .ci/torture

.PHONY: race
race: ## the tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race ./...
	cd sdk && CGO_ENABLED=1 go test -race ./...

.PHONY: fuzz
fuzz: ## fuzz every parser for FUZZTIME (default 1m) each
	@set -e; for p in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
			echo "== $$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzzminimizetime 2s -fuzztime $(or $(FUZZTIME),1m) $$p; \
		done; done

.PHONY: bench
bench: build ## the benchmarks behind docs/performance.md
	FORMWORK_CFN=$(CURDIR)/bin/cfn go test -run '^$$' -bench . -benchmem -timeout 60m ./...
	cd sdk && go test -run '^$$' -bench . -benchmem ./...

.PHONY: lint
lint: ## gofmt, go vet and golangci-lint
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -d $$(git ls-files '*.go'); exit 1; }
	$(COMPILER) go vet ./...
	@export $(COMPILER); PATH="$$(go env GOPATH)/bin:$$PATH"; command -v $(LINT) >/dev/null || go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION); \
	$(LINT) run ./... && for m in sdk release; do (cd $$m && $(LINT) run -c ../.golangci.yml ./...) || exit 1; done

.PHONY: generate
generate: build ## rewrite everything that is generated
	go generate ./...
	@set -e; for e in tps-report tps-report-python tps-report-typescript tps-report-java kinesis-stream wordpress; do bin/cfn generate --project examples/$$e; done

.PHONY: verify
verify: generate ## fail if "make generate" changes anything
	@git diff --exit-code --stat || { echo 'generated files are stale: commit what "make generate" wrote'; exit 1; }
	go mod verify
