package jsonata

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Config bounds compilation and evaluation, and provides time and randomness. The zero Config
// is ready to use.
type Config struct {
	// MaxSource is the length of an expression in bytes. Zero means 64 KiB.
	MaxSource int
	// MaxNesting is how deeply the parts of an expression are nested in each other. A
	// chain of operators such as a & b & c counts one level for each. Zero means 500.
	MaxNesting int
	// MaxSteps is the number of steps of an evaluation: nodes evaluated, items looked at
	// and stretches of text scanned. Zero means 5 million, a second or two.
	MaxSteps int64
	// MaxDepth is how deeply nodes are evaluated inside each other. A recursive function
	// takes two or three levels for each call of itself, none for a call that is the last
	// thing it does. Zero means 10,000.
	MaxDepth int
	// MaxMemory is the approximate number of bytes of all strings, arrays and objects that
	// an evaluation makes, whether still in use or not. Zero means 64 MiB.
	MaxMemory int64
	// RegexTimeout is the time that all matches of regular expressions in one evaluation
	// may take together. It is observed to about 100 ms. Zero means 250 ms.
	RegexTimeout time.Duration

	// Now is the clock of $now and $millis, read once for each evaluation. Nil means
	// time.Now.
	Now func() time.Time
	// Random gives numbers from 0 up to, not including, 1 to $random and $shuffle. Nil
	// means math/rand/v2.
	Random func() float64
}

func (c Config) withDefaults() Config {
	if c.MaxSource == 0 {
		c.MaxSource = 64 << 10
	}
	if c.MaxNesting == 0 {
		c.MaxNesting = 500
	}
	if c.MaxSteps == 0 {
		c.MaxSteps = 5_000_000
	}
	if c.MaxDepth == 0 {
		c.MaxDepth = 10_000
	}
	if c.MaxMemory == 0 {
		c.MaxMemory = 64 << 20
	}
	if c.RegexTimeout == 0 {
		c.RegexTimeout = 250 * time.Millisecond
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	return c
}

// An Expr is a compiled expression. It is safe for concurrent use.
type Expr struct {
	config Config
	source string
	tree   *node
}

// Compile checks and compiles an expression. Every error is an *[Error].
func Compile(source string, config Config) (*Expr, error) {
	config = config.withDefaults()
	tree, err := config.parse(source)
	if err != nil {
		return nil, err
	}
	return &Expr{config, source, tree}, nil
}

// parse compiles the text of an expression, that of $eval too.
func (c *Config) parse(source string) (*node, error) {
	if len(source) > c.MaxSource {
		e := newError("S0304", unplaced, "", "{why}", fmt.Sprintf("it has %d bytes, more than %d", len(source), c.MaxSource))
		e.Limit = LimitSource
		return nil, e
	}
	if !utf8.ValidString(source) {
		source = strings.ToValidUTF8(source, "\uFFFD")
	}
	p := &parser{
		lexer: lexer{source: source},
		limit: c.MaxNesting,
		regex: func(pattern, flags string) (*regexValue, error) {
			return compileRegexp(pattern, flags, c.RegexTimeout)
		},
	}
	return p.parse()
}

// String is the text that the expression was compiled from.
func (x *Expr) String() string { return x.source }

// Eval evaluates the expression against an input, anything that [NewInput] takes or an
// *[Input] made by it. Each map of bindings gives values to variables, by their names
// without $.
//
// The result is nil for null, a bool, a float64, a string, an []any, an *[Object], a
// *[Regexp] or a *[Function], and so are the values inside it; or it is [Undefined] if
// the expression selects nothing. What JSON cannot hold becomes what JavaScript writes for
// it: nil for undefined inside an array, for NaN and for an infinite number. Half a
// surrogate pair becomes U+FFFD.
//
// The error is an *[Error], except where the input or a binding is not JSON data. It has
// a Limit if a bound of the Config was reached or ctx ended, and then wraps ctx's error.
func (x *Expr) Eval(ctx context.Context, input any, bindings ...map[string]any) (any, error) {
	in, err := NewInput(input)
	if err != nil {
		return nil, err
	}
	root := newFrame(nil)
	root.bind("$", in.value)
	for _, vars := range bindings {
		for _, name := range slices.Sorted(maps.Keys(vars)) {
			value, err := NewInput(vars[name])
			if err != nil {
				return nil, fmt.Errorf("binding %s: %w", name, err)
			}
			root.bind(name, value.value)
		}
	}
	e := &evaluator{
		config:  &x.config,
		natives: functions,
		ctx:     ctx,
		done:    ctx.Done(),
		steps:   x.config.MaxSteps,
		memory:  x.config.MaxMemory,
		regex:   x.config.RegexTimeout,
	}
	if err := ctx.Err(); err != nil {
		return nil, limitError(LimitTime, unplaced, "the evaluation was stopped: "+err.Error(), err)
	}
	focus := in.value
	if a, ok := focus.(*array); ok {
		// An input that is an array is one context, not one for each item.
		focus = &array{items: []any{a}, sequence: true, outerWrapper: true}
	}
	value, err := e.eval(x.tree, focus, root)
	if err == nil {
		value, err = e.export(value, 0)
	}
	if err != nil {
		return nil, x.finish(err)
	}
	return value, nil
}

// finish makes sure that an error is an *Error.
func (x *Expr) finish(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return &Error{Code: "D3121", Position: unplaced, Message: err.Error(), Err: err}
}

// started is the time that $now and $millis give, the same throughout an evaluation.
func (e *evaluator) started() time.Time {
	if e.now.IsZero() {
		e.now = e.config.Now()
	}
	return e.now
}
