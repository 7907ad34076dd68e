package smithy

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// A ledger lists the cases that may fail. Every case is put to it once.
type ledger struct {
	reasons map[string]string
	passed  map[string]int // by group
	cases   map[string]int
}

func openLedger(t *testing.T) *ledger {
	t.Helper()
	f, err := os.Open("testdata/ledger.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := &ledger{reasons: map[string]string{}, passed: map[string]int{}, cases: map[string]int{}}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, found := strings.Cut(line, "\t")
		if !found || reason == "" {
			t.Fatalf("testdata/ledger.txt: %q has no reason", line)
		}
		l.reasons[name] = reason
	}
	return l
}

// check judges a case by what was wrong with it, "" if nothing was.
func (l *ledger) check(t *testing.T, group, name, wrong string) {
	t.Helper()
	key := group + "/" + name
	_, listed := l.reasons[key]
	delete(l.reasons, key)
	l.cases[group]++
	if wrong == "" {
		l.passed[group]++
	}
	switch {
	case wrong != "" && !listed:
		t.Errorf("%s: %s", key, wrong)
	case wrong == "" && listed:
		t.Errorf("%s passes: take it off testdata/ledger.txt", key)
	}
}

// close reports how many cases of a group passed, and entries that name no case.
func (l *ledger) close(t *testing.T, group string) {
	t.Helper()
	t.Logf("%s: %d of %d cases pass", group, l.passed[group], l.cases[group])
	for key := range l.reasons {
		if strings.HasPrefix(key, group+"/") {
			t.Errorf("testdata/ledger.txt names %s, which is not a case", key)
		}
	}
}
