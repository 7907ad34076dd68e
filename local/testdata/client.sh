# What the scripts of the AWS CLI share.
cf() { aws cloudformation "$@"; }
text() { cf "$@" --output text; }
fail() { echo "FAIL: $*" >&2; exit 1; }
is() { # is WHAT GOT WANT
	[ "$2" = "$3" ] || fail "$1 is '$2', want '$3'"
}
eventually() { # eventually COMMAND…, for at most a minute
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ $tries -lt 150 ] || fail "still not: $*"
		sleep 0.2
	done
}
refused() { # refused NAME OPERATION CODE MESSAGE ARGUMENT…
	command=$1 operation=$2 code=$3 message=$4
	shift 4
	if answer=$(cf "$command" "$@" 2>&1); then fail "$operation is not refused: $answer"; fi
	case $answer in
	*"An error occurred ($code) when calling the $operation operation: "*"$message"*) ;;
	*) fail "$operation is refused with $answer, want $code: $message" ;;
	esac
}
