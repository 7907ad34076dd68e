#!/bin/sh
# Installs cfn from a release: curl -fsSL https://raw.githubusercontent.com/formwork-dev/formwork/main/install.sh | sh
# Options, after "sh -s --":
#   --version V   a version such as 1.2.3 (default: the latest release)
#   --to DIR      the folder for cfn (default: ~/.local/bin)
#   --from URL    a folder with the files of a release, such as a mirror; https, or http on this machine
#   --key KEY     the public key of minisign that checksums.txt is signed with (default: that of the releases)
# Nothing is installed unless the checksum of the download is the one in checksums.txt, and the signature of
# checksums.txt is checked if minisign is installed. Nothing runs unless the whole script has arrived.
set -eu

releases=https://github.com/formwork-dev/formwork/releases
key= # the public key of the releases; empty until there is one

fail() {
	echo "install.sh: $1" >&2
	[ -z "${2:-}" ] || echo "hint: $2" >&2
	exit 1
}

# check_signature checks the signature of checksums.txt, if it can.
check_signature() {
	if [ -z "$key" ]; then
		unchecked="there is no key yet; pass --key KEY"
	elif ! command -v minisign >/dev/null; then
		unchecked="minisign is not installed"
	else
		get "$from/checksums.txt.minisig" "$work/checksums.txt.minisig" || fail "cannot download $from/checksums.txt.minisig" "checksums.txt is not signed: nothing was installed"
		minisign -Vqm "$work/checksums.txt" -x "$work/checksums.txt.minisig" -P "$key" || fail "the signature of checksums.txt is wrong: nothing was installed" "download again; if the error persists, report it"
	fi
}

main() {
	version= to=${HOME:-}/.local/bin from= unchecked=
	while [ $# -gt 0 ]; do
		case $1 in
		--version | --to | --from | --key) [ $# -gt 1 ] || fail "option $1 requires a value" ;;
		-h | --help)
			echo "usage: install.sh [--version V] [--to DIR] [--from URL] [--key KEY]"
			exit 0
			;;
		*) fail "unknown option $1" "the options are --version V, --to DIR, --from URL and --key KEY" ;;
		esac
		case $1 in
		--version) version=${2#v} ;;
		--to) to=$2 ;;
		--from) from=${2%/} ;;
		--key) key=$2 ;;
		esac
		shift 2
	done
	[ -n "${HOME:-}" ] || [ "$to" != /.local/bin ] || fail "HOME is not set" "pass --to DIR"

	if [ -z "$from" ]; then
		from=$releases/latest/download
		[ -z "$version" ] || from=$releases/download/v$version
	elif [ -n "$version" ]; then
		fail "--version and --from exclude each other" "pass --from with the folder of that version"
	fi
	protocol=https
	case $from in
	https://*) ;;
	http://127.0.0.1[:/]* | http://localhost[:/]* | "http://[::1]"[:/]*) protocol=http ;; # for tests and releases of one's own
	*) fail "$from is not an https URL" "pass a URL such as https://example.com/cfn" ;;
	esac

	case $(uname -s) in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "there is no cfn for $(uname -s) in this form" "on Windows, install it with Scoop or winget, or unpack the zip file of the release" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no cfn for $(uname -m)" "the releases have amd64 and arm64; for others, build it with Go: make build" ;;
	esac

	if command -v curl >/dev/null; then
		get() { curl --proto "=$protocol" --proto-redir =https -fsSL --retry 2 -o "$2" "$1"; }
	elif command -v wget >/dev/null; then
		get() { wget -q -O "$2" "$1"; }
	else
		fail "neither curl nor wget is installed" "install one of them"
	fi
	if command -v sha256sum >/dev/null; then
		sum() { sha256sum "$1"; }
	elif command -v shasum >/dev/null; then
		sum() { shasum -a 256 "$1"; }
	else
		fail "neither sha256sum nor shasum is installed: the download cannot be checked" "install coreutils"
	fi

	archive=cfn_${os}_${arch}.tar.gz
	work=$(mktemp -d) || fail "cannot make a temporary folder" "set TMPDIR to a folder that you can write to"
	case $work in
	/*) ;;
	*) work=$PWD/$work ;;
	esac
	new=
	trap 'rm -rf -- "$work"; [ -z "$new" ] || rm -f -- "$new"' EXIT
	trap 'exit 130' INT TERM

	get "$from/checksums.txt" "$work/checksums.txt" || fail "cannot download $from/checksums.txt" "check the version and the network"
	check_signature
	want=$(awk -v name="$archive" '$2 == name { print $1 }' "$work/checksums.txt")
	[ -n "$want" ] || fail "checksums.txt does not list $archive" "the release may be older than this platform"
	get "$from/$archive" "$work/$archive" || fail "cannot download $from/$archive"
	have=$(sum "$work/$archive" | cut -d ' ' -f 1)
	[ "$have" = "$want" ] || fail "the checksum of $archive is $have, want $want: nothing was installed" "download again; if the error persists, report it"

	tar -xzf "$work/$archive" -C "$work" cfn
	mkdir -p "$to" || fail "cannot make the folder $to" "pass --to DIR with a folder that you can write to"
	[ ! -d "$to/cfn" ] || fail "$to/cfn is a folder" "pass --to DIR with another folder, or remove it"
	new=$(mktemp "$to/.cfn.XXXXXX" 2>/dev/null) || fail "cannot write to $to" "pass --to DIR with a folder that you can write to"
	cp "$work/cfn" "$new" || fail "cannot write to $to" "there may be no space left; pass --to DIR with another folder"
	chmod 755 "$new"
	mv -f "$new" "$to/cfn" # in one step: a cfn that runs goes on
	new=
	version=$("$to/cfn" --version) || fail "$to/cfn was installed, but does not run on this machine"
	echo "Installed $version as $to/cfn"
	[ -z "$unchecked" ] || echo "The checksum was checked, but not its signature: $unchecked" >&2
	case :$PATH: in
	*:"$to":*) ;;
	*) echo "Put it on your PATH: export PATH=\"$to:\$PATH\"" ;;
	esac
}

{ main "$@"; }
