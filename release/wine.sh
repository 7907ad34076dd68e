#!/bin/sh
# Runs the binary for Windows under Wine (9 or later: Go needs its bcryptprimitives.dll) on loopback:
#
#   release/wine.sh            builds into build/wine, then runs
#   release/wine.sh run DIR    runs what another machine has built
#
# Wine is not Windows: this finds faults in what the program asks of the system, not those of the system.
set -eu
command -v wine >/dev/null || { echo "wine.sh: wine is not installed" >&2 && exit 1; }
dir=$(cd "$(dirname "$0")/.." && pwd)/build/wine
if [ "${1:-}" = run ]; then
	dir=${2:?the folder}
else
	cd "$(dirname "$0")/.."
	export CGO_ENABLED=0
	mkdir -p "$dir"
	GOOS=windows GOARCH=amd64 go build -trimpath -ldflags='-s -w -X main.version=0.0.1-wine' -o "$dir/cfn.exe" ./cmd/cfn
	for target in windows:local/bootstrap.exe linux:bootstrap; do
		(cd examples/tps-report && GOOS=${target%%:*} GOARCH=amd64 go build -trimpath -ldflags='-s -w' -tags=lambda.norpc -o "$dir/bin/${target#*:}" ./cmd)
	done
	cp -R examples/tps-report/. "$dir/project"
	mkdir -p "$dir/project/bin/local"
	cp "$dir/bin/bootstrap" "$dir/project/bin/"
	cp "$dir/bin/local/bootstrap.exe" "$dir/project/bin/local/"
fi
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf -- "$work"' EXIT
cp -R "$dir/project" "$work/project"
cp "$dir/cfn.exe" "$work/"
export WINEDEBUG=-all
unset AWS_ENDPOINT_URL
cd "$work"
cfn() { wine "$work/cfn.exe" "$@"; }
says() { # says TEXT COMMAND…: its output has the text, whatever its exit code
	text=$1
	shift
	echo "== cfn $*"
	cfn "$@" >out 2>&1 </dev/null || true
	tr -d '\r' <out | grep -qF -e "$text" || { cat out && echo "wine.sh: expected: $text" && exit 1; }
}
until_says() { # until_says TEXT FILE
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
		grep -qF -e "$1" "$2" && return
		sleep 1
	done
	cat "$2" && echo "wine.sh: expected: $1" && exit 1
}
starts() { # starts TEXT COMMAND…: in the background, its output in the file server
	text=$1
	shift
	echo "== cfn $*"
	wine "$work/cfn.exe" "$@" >server 2>&1 </dev/null &
	server=$!
	until_says "$text" server
}
stops() { # as Ctrl-C does
	kill -INT "$server"
	(sleep 30 && kill -9 "$server") >/dev/null 2>&1 &
	late=$!
	code=0
	wait "$server" || code=$?
	kill "$late" 2>/dev/null || true
	server=
	[ "$code" = 0 ] || [ "$code" = 130 ] || { cat server && echo "wine.sh: after Ctrl-C, the exit code is $code" && exit 1; }
}
if cfn --version 2>&1 </dev/null | grep -qF 'bcryptprimitives.dll not found'; then
	echo "wine.sh: this is $(wine --version); programs in Go need Wine 9 or later" >&2 && exit 1
fi
says 'cfn 0.0.1-wine' --version
says 'windows/amd64' version
says 'Initialized a new project' init --project site --type-name Acme::Web::Site --artifact-type RESOURCE go --import-path example.com/site
says 'Resource schema is valid.' validate --project site
says 'are up to date' generate --project site --check
sed 's/"maxLength": [0-9]*/"maxLength": 1/' project/initech-tps-report.json >new.json
says 'breaking' diff project/initech-tps-report.json new.json
says "Wrote 1" docs --write docs
[ -s docs/index.html ]
says '26 passed, 4 skipped' test --project project --no-build
says '"status": "SUCCESS"' invoke --project project resource CREATE project/requests/create.json --no-build
[ -z "$(find . -name '.cfn-*')" ] || { echo "wine.sh: temporary files are left" && exit 1; }
starts 'Local CloudFormation at' serve --address 127.0.0.1:4611 --data data
echo '{"Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/shop/x", "Type": "String", "Value": "1"}}}}' >stack.json
says 'CREATE_COMPLETE' deploy stack.json --stack-name shop --yes --endpoint-url http://127.0.0.1:4611
says 'it is a program for linux/amd64, this machine is windows/amd64' submit --project project --no-build --endpoint-url http://127.0.0.1:4611
stops
starts 'Local CloudFormation at' serve --address 127.0.0.1:4611 --data data
says 'shop' stacks --endpoint-url http://127.0.0.1:4611
stops
starts 'Serving the functions' start-lambda --project project --no-build --port 3461
stops
echo "== done"
