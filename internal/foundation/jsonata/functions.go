package jsonata

import "math"

// A builtIn is a row of the table of functions.
type builtIn struct {
	name      string
	signature string
	arity     int // parameters that $map and its like fill
	run       func(c *call, args []any) (any, error)
}

// builtIns are the functions of JSONata 2.2 with the signatures of its documentation.
var builtIns = []builtIn{
	{"sum", "<a<n>:n>", 1, fnSum},
	{"count", "<a:n>", 1, fnCount},
	{"max", "<a<n>:n>", 1, extreme(math.Max)},
	{"min", "<a<n>:n>", 1, extreme(math.Min)},
	{"average", "<a<n>:n>", 1, fnAverage},

	{"string", "<x-b?:s>", 1, fnString},
	{"substring", "<s-nn?:s>", 3, fnSubstring},
	{"substringBefore", "<s-s:s>", 2, around(func(s string, at, _ int) string { return s[:at] })},
	{"substringAfter", "<s-s:s>", 2, around(func(s string, at, length int) string { return s[at+length:] })},
	{"lowercase", "<s-:s>", 1, onText(fnLowercase)},
	{"uppercase", "<s-:s>", 1, onText(fnUppercase)},
	{"length", "<s-:n>", 1, onText(fnLength)},
	{"trim", "<s-:s>", 1, onText(fnTrim)},
	{"pad", "<s-ns?:s>", 3, fnPad},
	{"match", "<s-f<s:o>n?:a<o>>", 3, fnMatch},
	{"contains", "<s-(sf):b>", 2, fnContains},
	{"replace", "<s-(sf)(sf)n?:s>", 4, fnReplace},
	{"split", "<s-(sf)n?:a<s>>", 3, fnSplit},
	{"join", "<a<s>s?:s>", 2, fnJoin},
	{"base64encode", "<s-:s>", 1, onText(fnBase64Encode)},
	{"base64decode", "<s-:s>", 1, onText(fnBase64Decode)},
	{"encodeUrlComponent", "<s-:s>", 1, onText(encodeURL(unreserved))},
	{"encodeUrl", "<s-:s>", 1, onText(encodeURL(unreserved + reserved))},
	{"decodeUrlComponent", "<s-:s>", 1, onText(decodeURL(""))},
	{"decodeUrl", "<s-:s>", 1, onText(decodeURL(reserved))},

	{"formatNumber", "<n-so?:s>", 3, fnFormatNumber},
	{"formatBase", "<n-n?:s>", 2, fnFormatBase},
	{"formatInteger", "<n-s:s>", 2, fnFormatInteger},
	{"parseInteger", "<s-s:n>", 2, fnParseInteger},
	{"number", "<(nsb)-:n>", 1, fnNumber},
	{"floor", "<n-:n>", 1, plain(math.Floor)},
	{"ceil", "<n-:n>", 1, plain(math.Ceil)},
	{"round", "<n-n?:n>", 2, fnRound},
	{"abs", "<n-:n>", 1, plain(math.Abs)},
	{"sqrt", "<n-:n>", 1, onNumber(fnSqrt)},
	{"power", "<n-n:n>", 2, fnPower},
	{"random", "<:n>", 0, fnRandom},

	{"boolean", "<x-:b>", 1, fnBoolean},
	{"not", "<x-:b>", 1, fnNot},
	{"exists", "<x:b>", 1, fnExists},
	{"type", "<x:s>", 1, fnType},

	{"map", "<af>", 2, fnMap},
	{"filter", "<af>", 2, fnFilter},
	{"single", "<af?>", 2, fnSingle},
	{"reduce", "<afj?:j>", 3, fnReduce},
	{"sift", "<o-f?:o>", 2, fnSift},
	{"each", "<o-f:a>", 2, fnEach},

	{"zip", "<a+>", 0, fnZip},
	{"append", "<xx:a>", 2, fnAppend},
	{"reverse", "<a:a>", 1, fnReverse},
	{"shuffle", "<a:a>", 1, fnShuffle},
	{"sort", "<af?:a>", 2, fnSort},
	{"distinct", "<x:x>", 1, fnDistinct},

	{"keys", "<x-:a<s>>", 1, fnKeys},
	{"lookup", "<x-s:x>", 2, fnLookup},
	{"spread", "<x-:a<o>>", 1, fnSpread},
	{"merge", "<a<o>:o>", 1, fnMerge},
	{"clone", "<(oa)-:o>", 1, fnClone},

	{"error", "<s?:x>", 1, fnError},
	{"assert", "<bs?:x>", 2, fnAssert},
	{"eval", "<sx?:x>", 2, fnEval},

	{"now", "<s?s?:s>", 2, fnNow},
	{"millis", "<:n>", 0, fnMillis},
	{"toMillis", "<s-s?:n>", 2, fnToMillis},
	{"fromMillis", "<n-s?s?:s>", 3, fnFromMillis},
}

// functions is the table by name. Nothing changes it; a test reads every signature.
var functions = func() map[string]*native {
	out := make(map[string]*native, len(builtIns))
	for _, f := range builtIns {
		signature, _ := parseSignature(f.signature)
		out[f.name] = &native{f.name, signature, f.arity, f.run}
	}
	return out
}()
