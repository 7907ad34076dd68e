package jsonata

// A kind is the kind of a node. Before [parser.resolve] there are only nodes of the grammar;
// it turns operators of paths into steps, stages and flags of kindPath.
type kind uint8

const (
	kindEnd         kind = iota // the end of the source, where an expression should be
	kindPlaceholder             // ? as an argument of a partial application
	kindString
	kindNumber
	kindValue // true, false, null
	kindName
	kindVariable
	kindWildcard   // *
	kindDescendant // **
	kindParent     // %
	kindRegex
	kindBinary
	kindNegate
	kindArray  // [a, b]
	kindObject // {a: b}
	kindCall
	kindPartial
	kindLambda
	kindCondition // a ? b : c
	kindElvis     // a ?: b
	kindCoalesce  // a ?? b
	kindBlock     // (a; b)
	kindTransform // |a|b,c|
	kindBind      // $a := b
	kindApply     // a ~> b
	kindPath
	kindSort // a step of a path
	kindThunk
)

// kindNames are the words of the reference for a node, which it gives as the token of S0217.
var kindNames = map[kind]string{
	kindString: "string", kindNumber: "number", kindValue: "value", kindName: "name", kindVariable: "variable",
	kindWildcard: "wildcard", kindDescendant: "descendant", kindParent: "parent", kindRegex: "regex",
	kindBinary: "binary", kindNegate: "unary", kindArray: "unary", kindObject: "unary", kindCall: "function",
	kindPartial: "partial", kindLambda: "lambda", kindCondition: "condition", kindElvis: "condition",
	kindCoalesce: "condition", kindBlock: "block", kindTransform: "transform", kindBind: "bind",
	kindApply: "apply", kindPath: "path", kindSort: "sort",
}

// A node is a part of an expression. It is not changed once the expression is compiled.
type node struct {
	kind   kind
	at     int    // byte of the source where the node's token starts
	text   string // name, variable, operator or string
	height int    // levels of nodes below and including this one

	number float64
	value  any
	regex  *regexValue

	left, right *node   // operands; condition and branch; procedure of a call
	third       *node   // the other branch; the deletions of a transform
	items       []*node // expressions, arguments, steps
	pairs       [][2]*node
	terms       []sortTerm

	params    []string
	signature *signature

	keepArray     bool // followed by []
	keepSingleton bool // a path with such a step
	consArray     bool // an array constructor as the first or last step of a path
	tuple         bool // the step or path works on tuples
	predicates    []stage
	stages        []stage
	group         *group
	focus, index  string    // variables bound by @ and #
	ancestor      *ancestor // what a later % takes from this step
	slot          *ancestor // what this % refers to
	seeking       []*ancestor
}

// A stage filters the values of a step, or numbers them.
type stage struct {
	filter *node  // nil for an index
	index  string // the variable that is bound to the position
}

// A group is the {…} that follows a step.
type group struct {
	at    int
	pairs [][2]*node
}

type sortTerm struct {
	descending bool
	expr       *node
}

// An ancestor is the link between a % and the step whose input it refers to.
type ancestor struct {
	label string // the variable under which the tuple keeps the value
	level int    // number of steps left to go back
	index int    // the number of the % in the expression
}
