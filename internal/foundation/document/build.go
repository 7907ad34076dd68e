package document

// NewString is a string without a position.
func NewString(text string) *Value { return &Value{Kind: String, Text: text} }

// NewBool is a boolean without a position.
func NewBool(b bool) *Value { return &Value{Kind: Bool, Bool: b} }

// NewArray is an array without a position.
func NewArray(items ...*Value) *Value { return &Value{Kind: Array, Items: items} }

// NewObject is an object without a position.
func NewObject(members ...Member) *Value { return &Value{Kind: Object, Members: members} }

// Set sets a member of an object that is being built.
func (v *Value) Set(key string, value *Value) {
	if m := v.Member(key); m != nil {
		m.Value = value
		return
	}
	v.Members = append(v.Members, Member{Key: key, Value: value})
}

// WithArticle is the kind in a sentence: "a string", "an array", "null".
func (k Kind) WithArticle() string {
	switch k {
	case Null:
		return "null"
	case Array, Object:
		return "an " + k.String()
	}
	return "a " + k.String()
}
