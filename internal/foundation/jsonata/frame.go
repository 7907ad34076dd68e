package jsonata

// A frame contains the variables of a block, a function call or a tuple, and a link to the
// enclosing frame.
type frame struct {
	parent *frame
	names  []string
	values []any
	index  map[string]int // built beyond smallFrame names
}

// smallFrame is the number of variables up to which a linear search is faster.
const smallFrame = 8

func newFrame(parent *frame) *frame { return &frame{parent: parent} }

// bind gives a variable a value in this frame.
func (f *frame) bind(name string, value any) {
	if i := f.find(name); i >= 0 {
		f.values[i] = value
		return
	}
	f.names = append(f.names, name)
	f.values = append(f.values, value)
	switch {
	case f.index != nil:
		f.index[name] = len(f.names) - 1
	case len(f.names) > smallFrame:
		f.index = make(map[string]int, 2*smallFrame)
		for i, n := range f.names {
			f.index[n] = i
		}
	}
}

func (f *frame) find(name string) int {
	if f.index != nil {
		if i, ok := f.index[name]; ok {
			return i
		}
		return -1
	}
	for i, n := range f.names {
		if n == name {
			return i
		}
	}
	return -1
}

// lookup finds a variable here or in the frames around.
func (f *frame) lookup(name string) (any, bool) {
	for ; f != nil; f = f.parent {
		if i := f.find(name); i >= 0 {
			return f.values[i], true
		}
	}
	return nil, false
}

// tupleFrame is a frame with the variables of a tuple.
func tupleFrame(parent *frame, t *tuple) *frame {
	f := newFrame(parent)
	for i, name := range t.names {
		f.bind(name, t.values[i])
	}
	return f
}
