package jsonata

import (
	"fmt"
	"strings"
)

// A Limit names one of the bounds of a [Config].
type Limit string

// The bounds that an evaluation or a compilation can run into.
const (
	LimitSource  Limit = "source"  // the text of the expression is too long
	LimitNesting Limit = "nesting" // the expression, or data, is nested too deeply
	LimitDepth   Limit = "depth"   // evaluation recurses too deeply
	LimitSteps   Limit = "steps"   // evaluation takes too many steps
	LimitMemory  Limit = "memory"  // evaluation makes too much data
	LimitTime    Limit = "time"    // the context ended, or regular expressions took too long
)

// An Error is the reason why an expression cannot be compiled or evaluated.
//
// The message names types and symbols of the expression, never a value of the input:
// those may be secret. The one exception is D3137 and D3141, whose text the expression
// itself gave to $error or $assert.
type Error struct {
	// Code is the reference's code for the fault: S0xxx for syntax, T0xxx to T2xxx for
	// types, D1xxx to D3xxx for values, U1001 where a bound of the Config was reached.
	// S0303 and S0304 are codes of this package only: a regular expression that cannot
	// be compiled, and a source over the bounds.
	Code string
	// Position is the byte of the source, from 0, where Token starts; -1 where the
	// fault has no place. A fault in the text given to $eval has the place of the call,
	// and D3120 or D3121 as its code.
	Position int
	// Token is the symbol or the name that caused the error, "" if unknown.
	Token string
	// Message is a sentence without capital and period.
	Message string
	// Limit is the bound that was reached, "" for all other faults.
	Limit Limit
	// Err is the cause, nil mostly: the error of the context or of the regular expression.
	Err error
}

// Error is the code, the place and the message.
func (e *Error) Error() string {
	if e.Position < 0 {
		return fmt.Sprintf("jsonata %s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("jsonata %s at %d: %s", e.Code, e.Position, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// unplaced marks an error that the nearest call still has to place.
const unplaced = -1

// newError makes an error with the message of its code. The pairs are placeholders of
// the message and their texts; "token" is the error's token as well.
func newError(code string, position int, token string, pairs ...string) *Error {
	text, found := messages[code]
	if !found {
		text = "fault " + code
	}
	shown := token
	if shown == "" {
		shown = "the function"
	}
	old := append([]string{"{token}", shown}, pairs...)
	return &Error{Code: code, Position: position, Token: token, Message: strings.NewReplacer(old...).Replace(text)}
}

// messages has the words for each code. The meaning of a code is the reference's.
var messages = map[string]string{
	"S0101": "the string literal has no closing quote",
	"S0102": "the number {token} is out of range",
	"S0103": "\\{token} is not an escape sequence",
	"S0104": "\\u wants four hexadecimal digits after it",
	"S0105": "the quoted name has no closing backtick",
	"S0106": "the comment has no closing */",
	"S0201": "{token} is not expected here: the expression is already complete",
	"S0202": "expected {want}, found {token}",
	"S0203": "expected {want} before the end of the expression",
	"S0204": "{token} is not an operator",
	"S0205": "{token} is not expected here",
	"S0206": "{token} is not an expression",
	"S0207": "the expression ends too early",
	"S0208": "parameter {index} of a function definition must be a variable, such as $x",
	"S0209": "a predicate cannot follow a grouping expression",
	"S0210": "a step has one grouping expression only",
	"S0211": "{token} cannot start an expression",
	"S0212": "the left side of := must be a variable, such as $x",
	"S0213": "{token} cannot be a step of a path",
	"S0214": "the right side of {token} must be a variable, such as $x",
	"S0215": "a context variable (@) must come before the predicates of its step",
	"S0216": "a context variable (@) must come before the order-by clause of its step",
	"S0217": "the object that % stands for cannot be derived here",
	"S0301": "a regular expression cannot be empty",
	"S0302": "the regular expression has no closing /",
	"S0303": "the regular expression cannot be compiled: {why}",
	"S0304": "the expression is larger than the bounds allow: {why}",
	"S0401": "in a signature, only a and f take a type in < >, not {token}",
	"S0402": "a choice of types cannot hold a parameterised type: {token}",
	"T0410": "argument {index} of {token} does not match its signature",
	"T0411": "the context is not of a type that can be argument {index} of {token}",
	"T0412": "argument {index} of {token} must be an array of {type}",
	"T1003": "the key of an object must be a string, not {type}",
	"T1005": "{token} is not a function; did you mean ${token}?",
	"T1006": "what is called here is not a function",
	"T1007": "{token} is not a function that could be applied partially; did you mean ${token}?",
	"T1008": "what is applied partially here is not a function",
	"T1010": "the matcher function does not return {match, start, end, groups, next}",
	"T2001": "the left side of {token} must be a number, not {type}",
	"T2002": "the right side of {token} must be a number, not {type}",
	"T2003": "the left side of .. must be a whole number",
	"T2004": "the right side of .. must be a whole number",
	"T2006": "the right side of ~> must be a function, not {type}",
	"T2007": "values of different types ({type}) cannot be put in order",
	"T2008": "an order-by clause takes numbers and strings, not {type}",
	"T2009": "both sides of {token} must be of the same type: {type}",
	"T2010": "the sides of {token} must be numbers or strings, not {type}",
	"T2011": "the update of a transform must be an object, not {type}",
	"T2012": "the deletions of a transform must be a string or an array of strings, not {type}",
	"T2013": "the transform cannot copy its input: $clone is not a function here",
	"D1001": "the number is out of range",
	"D1002": "only a number can be negated, not {type}",
	"D1004": "the regular expression matches the empty string",
	"D1009": "two entries of the object have the same key",
	"D2014": "the range has more than ten million entries",
	"D3001": "{token} cannot be applied to Infinity or NaN",
	"D3010": "the second argument of {token} cannot be the empty string",
	"D3011": "the fourth argument of {token} must be positive",
	"D3012": "what replaces a match must be a string, not {type}",
	"D3020": "the third argument of {token} must be positive",
	"D3030": "the value cannot be read as a number",
	"D3040": "the third argument of {token} must be positive",
	"D3050": "the function given to {token} must take two arguments at least",
	"D3060": "{token} cannot be applied to a negative number",
	"D3061": "the result of {token} is out of range",
	"D3070": "{token} without a comparison function takes an array of strings or of numbers",
	"D3080": "a number picture has two sub-pictures at most",
	"D3081": "a sub-picture has one decimal separator at most",
	"D3082": "a sub-picture has one percent sign at most",
	"D3083": "a sub-picture has one per-mille sign at most",
	"D3084": "a sub-picture has either a percent or a per-mille sign",
	"D3085": "the mantissa of a sub-picture needs a digit",
	"D3086": "a sub-picture has other characters between those that stand for digits",
	"D3087": "a sub-picture has a grouping separator beside its decimal separator",
	"D3088": "the integer part of a sub-picture ends in a grouping separator",
	"D3089": "a sub-picture has two grouping separators side by side",
	"D3090": "the integer part of a sub-picture has an optional digit after a mandatory one",
	"D3091": "the fractional part of a sub-picture has a mandatory digit after an optional one",
	"D3092": "a sub-picture with an exponent cannot have a percent or per-mille sign",
	"D3093": "the exponent of a sub-picture takes mandatory digits only, one at least",
	"D3100": "the base given to {token} must be from 2 to 36",
	"D3110": "the text given to {token} is not an ISO 8601 time",
	"D3120": "the expression given to {token} does not compile ({why})",
	"D3121": "the expression given to {token} fails ({why})",
	"D3130": "integers cannot be written or read by a picture like this one",
	"D3131": "the picture of an integer mixes digits of different scripts",
	"D3132": "{token} is not a component of a date/time picture",
	"D3133": "component {token} of a date/time picture has no name",
	"D3134": "a time zone is written with one to four digits",
	"D3135": "the date/time picture has no closing ]",
	"D3136": "the date/time picture leaves out a component that the instant needs",
	"D3137": "$error() was evaluated",
	"D3138": "{token} found more than one matching value",
	"D3139": "{token} found no matching value",
	"D3140": "the text given to {token} cannot be encoded or decoded",
	"D3141": "$assert() failed",
	"U1001": "{why}",
}

// limitError is the error of a limit that was reached.
func limitError(limit Limit, position int, why string, cause error) *Error {
	e := newError("U1001", position, "", "{why}", why)
	e.Limit, e.Err = limit, cause
	return e
}
