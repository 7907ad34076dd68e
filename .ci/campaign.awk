# Reads "go test -v" of a campaign while it runs. Prints a line for each test that ends and for
# each round, the reason of a test that was skipped, and of a campaign that fails everything else.
# A last line "exit N" becomes its own exit code.
/^exit [0-9]+$/ { code = $2; next }
/^(=== |PASS$)|^ +--- PASS: / { next }
/^--- (PASS|SKIP): / {
	time = $4
	gsub(/[()]/, "", time)
	printf "    %s %s %s%s\n", ($2 == "PASS:" ? "ok  " : "skip"), $3, time, ($2 == "SKIP:" ? " " reason : "")
	tests++; fflush(); next
}
/_test\.go:[0-9]+: round [0-9]+/ { text = $0; sub(/^ +[a-z_]+_test\.go:[0-9]+: /, "    ", text); print text; fflush(); next }
/_test\.go:[0-9]+: skipped/ { reason = $0; sub(/^.*skipped:? */, "(", reason); reason = reason ")" }
{ if (length(output) < 1000000) output = output $0 "\n" }
END {
	if (code != 0) printf "%s", output
	else if (!tests) { print "    no test ran"; code = 1 }
	exit code
}
