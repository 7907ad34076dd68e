#!/bin/sh
# Takes a complete resource type through its whole contract, offline. Run it with
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

echo "Initech::TPS::Report, a resource type whose handlers keep reports as files ($(pwd))"
step "Is the schema one that the registry takes?" cfn validate
step "Is the generated code what the schema says today?" cfn generate --check
step "The handlers are an ordinary Go program." go build -trimpath -o bin/bootstrap ./cmd
step "One operation: cfn calls the handler again until it has finished." \
	cfn invoke resource CREATE requests/create.json --env REPORTS_DIR
step "The whole contract: no network, no Docker, no AWS account." cfn test --suite all --env REPORTS_DIR
step "A CloudFormation on this machine takes it." cfn serve -- cfn submit --set-default
