#!/bin/sh
# Takes a complete resource type through its whole contract, offline. Run it with
# "make demo", which builds cfn first and puts it into the PATH.
set -eu
cd "$(dirname "$0")/tps-report"

reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT

step() {
	echo
	echo "# $1"
	shift
	echo "\$ $*"
	"$@"
}

echo "Initech::TPS::Report, in $(pwd)"
step "The schema keeps the rules of the registry." cfn validate
step "The handlers are an ordinary Go program." go build -trimpath -o bin/bootstrap ./cmd
step "The contract: cfn runs the program as a local process and plays the service." cfn test --env "REPORTS_DIR=$reports"
