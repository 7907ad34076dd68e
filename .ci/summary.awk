# Reads "go test -v", and prints what "go test" would: a line for each package, and of a
# package that fails everything. Of one that passes it also prints which tests were
# skipped and why, once for each reason, and which took longer than 20 s. A last line "exit N" becomes its own exit code.
/^exit [0-9]+$/ { code = $2; next }
{
	if ($0 ~ /^--- (PASS|FAIL|SKIP): / && substr($4, 2) + 0 > 20) slow = slow "    " $4 " " $3 "\n"
	if ($0 ~ /^(=== (RUN|PAUSE|CONT|NAME)|PASS$)/ || $0 ~ /^ *--- PASS/) next
	if ($0 ~ /^ +[A-Za-z0-9_]+\.go:[0-9]+: /) {
		reason = $0
		sub(/^ +[A-Za-z0-9_]+\.go:[0-9]+: (skipped: )?/, "", reason)
	}
	if ($0 ~ /^ *--- SKIP: /) {
		if (!(reason in count)) order[++reasons] = reason
		count[reason]++
	}
	buffer = buffer $0 "\n"
}
/^(ok|FAIL|\?) *\t/ {
	if ($1 == "FAIL") printf "%s", buffer
	else print
	for (i = 1; i <= reasons; i++) printf "    %d skipped: %s\n", count[order[i]], order[i]
	printf "%s", slow
	fflush()
	buffer = slow = ""; reasons = 0; split("", count); split("", order)
}
END { printf "%s", buffer; exit code }
