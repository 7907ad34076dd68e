package codegen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	syntax "text/template/parse"
)

// Fill fills in a template of text/template that reads fields and maps only. The package itself
// also looks methods up by name, so the linker would keep every exported method of the program:
// see docs/decisions/0021-no-methods-by-name.md.
func Fill(name, text string, data any) ([]byte, error) {
	trees, err := syntax.Parse(name, text, "", "", fillFuncs)
	if err != nil {
		return nil, err
	}
	f := &filler{vars: []fillVar{{"$", reflect.ValueOf(data)}}}
	if tree := trees[name]; tree != nil {
		err = f.node(tree.Root, reflect.ValueOf(data))
	}
	return f.out.Bytes(), err
}

// fillFuncs are the functions of templates. "and" and "or" evaluate all of their arguments.
var fillFuncs = map[string]any{
	"eq":     func(a, b any) bool { return a == b },
	"ne":     func(a, b any) bool { return a != b },
	"not":    func(a any) bool { return !truth(reflect.ValueOf(a)) },
	"and":    func(a, b any) any { return either(a, b, false) },
	"or":     func(a, b any) any { return either(a, b, true) },
	"len":    func(a any) int { return reflect.ValueOf(a).Len() },
	"printf": fmt.Sprintf,
	"json":   jsonText,
}

// jsonText is a value as JSON.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // values of templates are strings, lists and maps of them
	}
	return string(text)
}

// either is the first value that is as true as it should be, or the second.
func either(a, b any, want bool) any {
	if truth(reflect.ValueOf(a)) == want {
		return a
	}
	return b
}

type fillVar struct {
	name  string
	value reflect.Value
}

type filler struct {
	out  bytes.Buffer
	vars []fillVar // the innermost last
}

func (f *filler) node(n syntax.Node, dot reflect.Value) error {
	defer func(vars int) { f.vars = f.vars[:vars] }(len(f.vars))
	switch n := n.(type) {
	case *syntax.ListNode:
		return f.list(n, dot)
	case *syntax.TextNode:
		f.out.Write(n.Text)
	case *syntax.CommentNode:
	case *syntax.ActionNode:
		v, err := f.pipe(n.Pipe, dot)
		if err != nil {
			return err
		}
		fmt.Fprint(&f.out, v.Interface())
	case *syntax.IfNode:
		return f.branch(&n.BranchNode, dot, func(reflect.Value) reflect.Value { return dot })
	case *syntax.WithNode:
		return f.branch(&n.BranchNode, dot, func(v reflect.Value) reflect.Value { return v })
	case *syntax.RangeNode:
		return f.loop(n, dot)
	default:
		return fmt.Errorf("%s is not supported", n)
	}
	return nil
}

func (f *filler) list(n *syntax.ListNode, dot reflect.Value) error {
	if n == nil {
		return nil
	}
	for _, child := range n.Nodes {
		if action, ok := child.(*syntax.ActionNode); ok && len(action.Pipe.Decl) > 0 {
			if action.Pipe.IsAssign {
				return fmt.Errorf("%s is not supported", action)
			}
			v, err := f.pipe(action.Pipe, dot) // stays known up to the end of the list
			if err != nil {
				return err
			}
			f.declare(action.Pipe, v)
			continue
		}
		if err := f.node(child, dot); err != nil {
			return err
		}
	}
	return nil
}

func (f *filler) declare(p *syntax.PipeNode, values ...reflect.Value) {
	for i, decl := range p.Decl {
		f.vars = append(f.vars, fillVar{decl.Ident[0], values[i]})
	}
}

// branch is "if" and "with".
func (f *filler) branch(n *syntax.BranchNode, dot reflect.Value, inside func(reflect.Value) reflect.Value) error {
	v, err := f.pipe(n.Pipe, dot)
	if err != nil {
		return err
	}
	f.declare(n.Pipe, v)
	if truth(v) {
		return f.list(n.List, inside(v))
	}
	return f.list(n.ElseList, dot)
}

func (f *filler) loop(n *syntax.RangeNode, dot reflect.Value) error {
	v, err := f.pipe(n.Pipe, dot)
	if err != nil {
		return err
	}
	if v.Kind() != reflect.Slice {
		return fmt.Errorf("range over %s: only slices are supported", n.Pipe)
	}
	if v.Len() == 0 {
		return f.list(n.ElseList, dot)
	}
	outer := len(f.vars)
	for i := range v.Len() {
		switch len(n.Pipe.Decl) {
		case 1:
			f.declare(n.Pipe, v.Index(i))
		case 2:
			f.declare(n.Pipe, reflect.ValueOf(i), v.Index(i))
		}
		if err := f.list(n.List, v.Index(i)); err != nil {
			return err
		}
		f.vars = f.vars[:outer]
	}
	return nil
}

func (f *filler) pipe(p *syntax.PipeNode, dot reflect.Value) (reflect.Value, error) {
	var v reflect.Value
	for i, cmd := range p.Cmds {
		var last []reflect.Value
		if i > 0 {
			last = []reflect.Value{v}
		}
		var err error
		if v, err = f.command(cmd, dot, last); err != nil {
			return v, err
		}
	}
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v, nil
}

// command is a value, or a call of a function; last is the value that was piped into it.
func (f *filler) command(cmd *syntax.CommandNode, dot reflect.Value, last []reflect.Value) (reflect.Value, error) {
	name, call := cmd.Args[0].(*syntax.IdentifierNode)
	if !call {
		if len(cmd.Args) > 1 || last != nil {
			return reflect.Value{}, fmt.Errorf("%s is not a function", cmd.Args[0])
		}
		return f.value(cmd.Args[0], dot)
	}
	var args []reflect.Value
	for _, arg := range cmd.Args[1:] {
		v, err := f.value(arg, dot)
		if err != nil {
			return v, err
		}
		args = append(args, v)
	}
	args = append(args, last...)
	function := reflect.ValueOf(fillFuncs[name.Ident])
	if t := function.Type(); len(args) != t.NumIn() && !t.IsVariadic() {
		return reflect.Value{}, fmt.Errorf("%s takes %d arguments", name.Ident, t.NumIn())
	}
	return function.Call(args)[0], nil
}

func (f *filler) value(n syntax.Node, dot reflect.Value) (reflect.Value, error) {
	switch n := n.(type) {
	case *syntax.DotNode:
		return dot, nil
	case *syntax.FieldNode:
		return fields(dot, n.Ident)
	case *syntax.VariableNode:
		for i := len(f.vars) - 1; i >= 0; i-- {
			if f.vars[i].name == n.Ident[0] {
				return fields(f.vars[i].value, n.Ident[1:])
			}
		}
	case *syntax.PipeNode:
		return f.pipe(n, dot)
	case *syntax.ChainNode:
		v, err := f.value(n.Node, dot)
		if err != nil {
			return v, err
		}
		return fields(v, n.Field)
	case *syntax.StringNode:
		return reflect.ValueOf(n.Text), nil
	case *syntax.BoolNode:
		return reflect.ValueOf(n.True), nil
	case *syntax.NumberNode:
		if n.IsInt {
			return reflect.ValueOf(int(n.Int64)), nil
		}
	case *syntax.IdentifierNode:
		return f.command(&syntax.CommandNode{Args: []syntax.Node{n}}, dot, nil)
	}
	return reflect.Value{}, fmt.Errorf("%s is not supported", n)
}

// fields follows names through structs and maps.
func fields(v reflect.Value, names []string) (reflect.Value, error) {
	for _, name := range names {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		var next reflect.Value
		switch v.Kind() {
		case reflect.Struct:
			next = v.FieldByName(name)
		case reflect.Map:
			next = v.MapIndex(reflect.ValueOf(name))
		}
		if !next.IsValid() {
			return next, fmt.Errorf("there is no %s", name)
		}
		v = next
	}
	return v, nil
}

// truth is what "if" makes of a value: false for zero values and empty lists.
func truth(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() > 0
	case reflect.Struct:
		return true
	}
	return !v.IsZero()
}
