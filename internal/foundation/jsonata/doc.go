// Package jsonata compiles and evaluates JSONata 2.2, the query and transformation
// language of https://docs.jsonata.org, within bounds.
//
//	expr, err := jsonata.Compile(`$lowercase(Name)`, jsonata.Config{})
//	value, err := expr.Eval(ctx, map[string]any{"Name": "Queue"})
//
// [Compile] does once what does not depend on data; an [Expr] may be evaluated any number
// of times, also concurrently. An input that is evaluated often is converted once by
// [NewInput] or, with the keys of its objects in their order, by [DecodeInput].
//
// # What is promised
//
// The whole language and all functions of the documentation: paths with predicates,
// sorting, grouping, the parent operator, context and position variables, functions with
// signatures, partial application, tail calls, transforms, regular expressions, picture
// strings. Results, error codes and their order of precedence are those of the reference,
// jsonata-js 2.2, as far as its test suite and comparison by experiment show them.
//
// Numbers are float64 and are written as JavaScript writes them. Strings have the length and
// the order of JavaScript's: offsets of matches, the order of sorting and the result of $split
// with an empty separator count UTF-16 code units; $length, $substring and $pad count code
// points. Objects keep the order of their keys, see [Object].
//
// No input and no expression makes the package panic, hang or take memory without end:
// see [Config]. Memory is estimated, not measured. Errors never hold values of the input.
//
// # What is different from the reference
//
//   - Regular expressions are matched by regexp2 in its ECMAScript mode, which accepts a
//     little more: inline flags, atomic groups.
//   - A slash starts a regular expression wherever an operand may start, also after an
//     opening bracket, where the reference reports an error.
//   - a ?: b and a ?? b evaluate a once.
//   - A function that is passed as an argument stays itself; the reference passes a
//     wrapper. A partially applied built-in function checks its arguments.
//   - After an order-by clause, tuples keep their variables through predicates.
//   - $replace with a string to look for takes a string to put in its place, no function.
//   - A time zone that is behind UTC by a part of an hour, and one written with a colon,
//     mean what they say. Times without a zone are UTC, not local.
//   - $fromMillis and $formatInteger report numbers that are out of range. Roman numerals
//     end at ten million.
//   - A number picture may have an exponent after a prefix. Separators of a picture stand
//     between digits only.
//   - $power may differ in the last bit, and $formatBase in the digits that a number
//     beyond 2^53 does not hold.
//   - A path that starts with an array constructor that is followed by a predicate, a
//     group or a variable binding, such as [a, b][0].c, continues with what these give; the
//     reference mostly continues with nothing.
//   - A transform passes over matches that are not objects.
//   - Properties that JavaScript gives to every object are not seen.
//
// Go functions cannot be given to an expression, and nothing is evaluated in parallel or
// asynchronously.
package jsonata
