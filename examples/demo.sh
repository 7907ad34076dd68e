#!/bin/sh
# Validates, builds, tests and registers a complete resource type, offline. Run it with
# "make demo", which builds cfn first and puts it into the PATH.
set -eu
cd "$(dirname "$0")/tps-report"

REPORTS_DIR=$(mktemp -d)
export REPORTS_DIR
trap 'rm -rf "$REPORTS_DIR"' EXIT

step() {
	printf '\n# %s\n$ ' "$1"
	shift
	echo "$*"
	"$@"
}

echo "Initech::TPS::Report, a resource type whose handlers store reports as files ($(pwd))"
step "Check the schema." cfn validate
step "Check that the generated code is current." cfn generate --check
step "Build the handlers, a Go program." go build -trimpath -o bin/bootstrap ./cmd
step "Run one operation: cfn calls the handler until it finishes." \
	cfn invoke resource CREATE requests/create.json --env REPORTS_DIR --mount "$REPORTS_DIR:rw"
step "Run all contract tests: no network, no Docker, no AWS account." cfn test --suite all --env REPORTS_DIR --mount "$REPORTS_DIR:rw"
step "Register the type with the local CloudFormation." cfn serve -- cfn submit --set-default
