# Reads "go test -v", and prints what "go test" would: a line for each package, and of a
# package that fails what its failed tests printed, what no test printed, and which tests failed.
# Of every package it also prints which tests were skipped and why, once for each reason, and
# which took longer than 20 s. A last line "exit N" becomes its own exit code.
/^exit [0-9]+$/ { code = $2; next }
/^=== (RUN|CONT|NAME) / { test = $3; next }
/^(=== PAUSE |PASS$|FAIL$)/ { next }
/^ *--- (PASS|FAIL|SKIP): / {
	if ($0 ~ /^---/) {
		test = "" # what follows is of no test
		if (substr($4, 2) + 0 > 20) slow = slow "    " $4 " " $3 "\n"
	}
	if ($2 == "SKIP:") {
		reason = reasons_of[$3]
		if (!(reason in count)) order[++reasons] = reason
		count[reason]++
	}
	if ($2 == "FAIL:") {
		failed = failed printed[$3]
		results = results $0 "\n"
	}
	delete printed[$3]
	next
}
/^(ok|FAIL|\?) *\t/ {
	if ($1 == "FAIL") {
		for (t in printed) if (t != "") failed = failed printed[t] # they were running at the end
		printf "%s%s%s", failed, results, printed[""]
	}
	print
	for (i = 1; i <= reasons; i++) printf "    %d skipped: %s\n", count[order[i]], order[i]
	printf "%s", slow
	fflush()
	test = failed = results = slow = ""; reasons = 0; split("", count); split("", order); split("", printed); split("", reasons_of)
	next
}
{
	if ($0 ~ /^(panic|fatal error): /) test = ""
	if ($0 ~ /^ +[A-Za-z0-9_]+\.go:[0-9]+: /) {
		reason = $0
		sub(/^ +[A-Za-z0-9_]+\.go:[0-9]+: (skipped: )?/, "", reason)
		reasons_of[test] = reason
	}
	printed[test] = printed[test] $0 "\n"
}
END { printf "%s", printed[""]; exit code }
