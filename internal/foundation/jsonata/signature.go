package jsonata

import (
	"strconv"
	"strings"
)

// A signature lists the arguments of a function, in the notation of JSONata: <s-nn?:s> is a
// string, which defaults to the context, a number, an optional number, and after the colon the
// result, which is not checked.
type signature struct {
	params []parameter
}

type parameter struct {
	accepts  string // the symbols of the types, "m" being undefined
	array    bool   // a: whatever is given is made an array
	items    string // the type of the items of an array, "" for any
	context  bool   // "-": the context replaces a missing argument
	optional bool
	many     bool
}

// symbolOf is the symbol of a value's type in signatures.
func symbolOf(value any) byte {
	switch value.(type) {
	case nil:
		return 'm'
	case nullValue:
		return 'l'
	case bool:
		return 'b'
	case float64:
		return 'n'
	case string:
		return 's'
	case *array:
		return 'a'
	case *Object:
		return 'o'
	}
	return 'f'
}

// parseSignature reads a signature with its angle brackets. The error has no position.
func parseSignature(text string) (*signature, *Error) {
	s := &signature{}
	text = strings.TrimSuffix(text, ">")
	for i := 1; i < len(text) && text[i] != ':'; i++ {
		symbol := text[i]
		var last *parameter
		if len(s.params) > 0 {
			last = &s.params[len(s.params)-1]
		}
		switch symbol {
		case 's', 'n', 'b', 'l', 'o':
			s.params = append(s.params, parameter{accepts: string(symbol) + "m"})
		case 'a':
			s.params = append(s.params, parameter{accepts: "asnblfom", array: true})
		case 'f':
			s.params = append(s.params, parameter{accepts: "f"})
		case 'j':
			s.params = append(s.params, parameter{accepts: "asnblom"})
		case 'x':
			s.params = append(s.params, parameter{accepts: "asnblfom"})
		case '(':
			end := closing(text, i, '(', ')')
			choice := text[i+1 : end]
			if strings.Contains(choice, "<") {
				return nil, newError("S0402", unplaced, quoteToken(choice))
			}
			s.params = append(s.params, parameter{accepts: choice + "m"})
			i = end
		case '-', '?', '+':
			if last == nil {
				continue // the reference overlooks it too
			}
			last.context = last.context || symbol == '-'
			last.optional = last.optional || symbol != '+'
			last.many = last.many || symbol == '+'
		case '<':
			if last == nil || !last.array && last.accepts != "f" {
				return nil, newError("S0401", unplaced, quoteToken(text[max(0, i-1):i]))
			}
			end := closing(text, i, '<', '>')
			if last.array {
				last.items = text[i+1 : end]
			}
			i = end
		}
	}
	return s, nil
}

// closing finds the bracket that closes the one at start, or the end of the text.
func closing(text string, start int, open, close byte) int {
	depth := 0
	for i := start; i < len(text); i++ {
		switch text[i] {
		case open:
			depth++
		case close:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// itemNames are the words for what an array must hold.
var itemNames = map[string]string{
	"a": "arrays", "b": "booleans", "f": "functions", "n": "numbers", "o": "objects", "s": "strings",
}

// check fits the arguments to the parameters: how many of them belong to each, which one
// comes from the context, which must become an array.
func (s *signature) check(name string, args []any, context any) ([]any, error) {
	if s == nil {
		return args, nil
	}
	counts, failed := s.assign(args)
	if counts == nil {
		return nil, newError("T0410", unplaced, name, "{index}", strconv.Itoa(failed+1))
	}
	out := make([]any, 0, max(len(args), len(s.params)))
	next := 0
	for i := range s.params {
		param := &s.params[i]
		if counts[i] == 0 {
			switch {
			case !param.context:
				// The reference implementation passes this argument on, though it belongs to a
				// later parameter. Its test suite requires it.
				out = append(out, argument(args, next))
				next++
			case strings.IndexByte(param.accepts, symbolOf(context)) >= 0:
				out = append(out, context)
			default:
				return nil, newError("T0411", unplaced, name, "{index}", strconv.Itoa(next+1))
			}
			continue
		}
		for range counts[i] {
			arg := argument(args, next)
			if param.array && arg != nil {
				if !param.holds(arg) {
					return nil, newError("T0412", unplaced, name, "{index}", strconv.Itoa(next+1), "{type}", itemNames[param.items])
				}
				if _, ok := arg.(*array); !ok {
					arg = &array{items: []any{arg}}
				}
			}
			out = append(out, arg)
			next++
		}
	}
	return out, nil
}

// holds reports whether arg is an array of the parameter's items, or one such item.
func (p *parameter) holds(arg any) bool {
	if p.items == "" {
		return true
	}
	a, ok := arg.(*array)
	if !ok {
		return p.items == string(symbolOf(arg))
	}
	for _, item := range a.items {
		if symbolOf(item) != p.items[0] {
			return false
		}
	}
	return true
}

// assign gives the number of arguments that belong to each parameter, as many as
// possible to the first ones. If there is no way, counts is nil and failed the index of
// the argument up to which the parameters could be matched.
func (s *signature) assign(args []any) (counts []int, failed int) {
	counts = make([]int, len(s.params))
	dead := map[[2]int]bool{}
	var fit func(param, arg int) bool
	fit = func(param, arg int) bool {
		if param == len(s.params) {
			return arg == len(args)
		}
		if dead[[2]int{param, arg}] {
			return false
		}
		p := &s.params[param]
		most := 0
		for arg+most < len(args) && (most == 0 || p.many) && strings.IndexByte(p.accepts, symbolOf(args[arg+most])) >= 0 {
			most++
		}
		least := 1
		if p.optional {
			least = 0
		}
		for n := most; n >= least; n-- {
			counts[param] = n
			if fit(param+1, arg+n) {
				return true
			}
		}
		dead[[2]int{param, arg}] = true
		return false
	}
	if s.simple(args, counts) || fit(0, 0) {
		return counts, 0
	}
	return nil, s.failedAt(args)
}

// simple assigns one argument to each parameter in turn, which nearly every call allows.
func (s *signature) simple(args []any, counts []int) bool {
	if len(args) > len(s.params) {
		return false
	}
	for i := range s.params {
		p := &s.params[i]
		if p.many {
			return false
		}
		switch {
		case i >= len(args):
			if !p.optional {
				return false
			}
			counts[i] = 0
		case strings.IndexByte(p.accepts, symbolOf(args[i])) < 0:
			return false
		default:
			counts[i] = 1
		}
	}
	return true
}

// failedAt is the argument that the longest matching list of parameters leaves over.
func (s *signature) failedAt(args []any) int {
	good := 0
	for n := 1; n <= len(s.params); n++ {
		reached := s.reach(args, s.params[:n])
		if reached < 0 {
			return good
		}
		good = reached
	}
	return good
}

// reach is the number of arguments that the parameters take greedily, or -1.
func (s *signature) reach(args []any, params []parameter) int {
	// ends[i] reports whether the parameters up to here can take exactly the first i
	// arguments.
	ends := make([]bool, len(args)+1)
	ends[0] = true
	for i := range params {
		p := &params[i]
		next := make([]bool, len(args)+1)
		for start, ok := range ends {
			if !ok {
				continue
			}
			if p.optional {
				next[start] = true
			}
			for end := start; end < len(args) && strings.IndexByte(p.accepts, symbolOf(args[end])) >= 0; end++ {
				next[end+1] = true
				if !p.many {
					break
				}
			}
		}
		ends = next
	}
	for i := len(args); i >= 0; i-- {
		if ends[i] {
			return i
		}
	}
	return -1
}
