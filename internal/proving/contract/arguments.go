package contract

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Arguments are those of pytest that have a meaning here.
type Arguments struct {
	Selection

	Verbosity   int    // 0: as the official tool runs pytest; -1: -q; 1: -v; 2: -vv
	Live        bool   // -s: what handlers write is shown as it comes
	Traceback   string // --tb: "short", "long", "line" or "no"
	JUnitXML    string // a file; "" means none
	CollectOnly bool   // list the cases and run none
}

// tracebacks are the styles of pytest, with their equivalents.
var tracebacks = map[string]string{
	"auto": "short", "short": "short", "native": "short", "long": "long", "line": "line", "no": "no",
}

// argument is one of pytest's options. Takes "" means that it takes no value.
type argument struct {
	names []string
	takes string
	apply func(a *Arguments, value string) error
}

var arguments = []argument{
	{[]string{"-k"}, "EXPRESSION", func(a *Arguments, v string) (err error) { a.Keywords, err = ParseExpression(v); return }},
	{[]string{"-m"}, "EXPRESSION", func(a *Arguments, v string) (err error) { a.Markers, err = ParseExpression(v); return }},
	{[]string{"-x", "--exitfirst"}, "", func(a *Arguments, _ string) error { a.MaxFailures = 1; return nil }},
	{[]string{"--maxfail"}, "N", func(a *Arguments, v string) (err error) {
		if a.MaxFailures, err = strconv.Atoi(v); err != nil || a.MaxFailures < 0 {
			err = fmt.Errorf("expected a number of failures but got %q", v)
		}
		return err
	}},
	{[]string{"-v", "--verbose"}, "", func(a *Arguments, _ string) error { a.Verbosity++; return nil }},
	{[]string{"-q", "--quiet"}, "", func(a *Arguments, _ string) error { a.Verbosity--; return nil }},
	{[]string{"-s"}, "", func(a *Arguments, _ string) error { a.Live = true; return nil }},
	{[]string{"--capture"}, "no|sys|fd", func(a *Arguments, v string) error { a.Live = v == "no"; return nil }},
	{[]string{"--tb"}, "short|long|line|no", func(a *Arguments, v string) error {
		if a.Traceback = tracebacks[v]; a.Traceback == "" {
			return fmt.Errorf("unknown style %q: choose from short, long, line, no", v)
		}
		return nil
	}},
	{[]string{"--junitxml", "--junit-xml"}, "FILE", func(a *Arguments, v string) error { a.JUnitXML = v; return nil }},
	{[]string{"--collect-only", "--co"}, "", func(a *Arguments, _ string) error { a.CollectOnly = true; return nil }},
	{[]string{"--random-order"}, "", func(a *Arguments, _ string) error { a.Shuffle = true; return nil }},
	{[]string{"--random-order-seed"}, "N", func(a *Arguments, v string) (err error) {
		a.Shuffle = true
		if a.Seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			err = fmt.Errorf("expected a whole number as the seed but got %q", v)
		}
		return err
	}},
	{[]string{"--color", "--show-capture", "--durations", "-p", "-r", "--log-cli-level"}, "VALUE", func(*Arguments, string) error { return nil }},
	{[]string{"--no-header", "--no-summary", "--disable-warnings", "--strict-markers", "-l", "--showlocals"}, "", func(*Arguments, string) error { return nil }},
}

// ParseArguments reads arguments as pytest does: what the official tool hands to pytest
// after "--". Options of pytest that only change how it prints are taken and have no
// effect; those without a meaning here are errors that name the ones that have.
func ParseArguments(args []string) (Arguments, error) {
	a := Arguments{Traceback: "short"}
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		if !strings.HasPrefix(word, "-") || word == "-" {
			a.IDs = append(a.IDs, word)
			continue
		}
		var err error
		if args, err = a.option(word, args); err != nil {
			return a, err
		}
	}
	return a, a.checkIDs()
}

func (a *Arguments) option(word string, args []string) ([]string, error) {
	name, value, hasValue := strings.Cut(word, "=")
	if !strings.HasPrefix(word, "--") && len(word) > 2 { // -kEXPRESSION, -vv, -xv
		name, value, hasValue = word[:2], strings.TrimPrefix(word[2:], "="), true
	}
	option := findArgument(name)
	switch {
	case option == nil:
		return nil, fmt.Errorf("the pytest argument %s is not supported; use one of %s", word, argumentList())
	case option.takes == "" && hasValue && strings.HasPrefix(word, "--"):
		return nil, fmt.Errorf("%s takes no value", name)
	case option.takes == "" && hasValue:
		args = append([]string{"-" + value}, args...) // the rest of a cluster
	case option.takes != "" && !hasValue:
		if len(args) == 0 {
			return nil, fmt.Errorf("%s requires a value: %s", name, option.takes)
		}
		value, args = args[0], args[1:]
	}
	if err := option.apply(a, value); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return args, nil
}

func findArgument(name string) *argument {
	for i := range arguments {
		for _, n := range arguments[i].names {
			if n == name {
				return &arguments[i]
			}
		}
	}
	return nil
}

func argumentList() string {
	var list []string
	for _, a := range arguments {
		text := a.names[0]
		if a.takes == "VALUE" || text == "--no-header" {
			continue // taken, but without effect
		}
		if a.takes != "" {
			text += " " + a.takes
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// checkIDs refuses names of tests that do not exist. pytest's paths before the file name
// do not count.
func (a *Arguments) checkIDs() error {
	for i, id := range a.IDs {
		file, name, _ := strings.Cut(id, "::")
		file = file[strings.LastIndexByte(file, '/')+1:]
		short := file
		if name != "" {
			short += "::" + name
		}
		known := false
		for _, c := range slices.Concat(Cases, FaultCases, allStackCases(), allUpgradeCases()) {
			known = known || c.ID == short || c.File() == short
		}
		if !known {
			return fmt.Errorf("unknown test %s; run cfn test -- --collect-only to list the tests", id)
		}
		a.IDs[i] = short
	}
	return nil
}
