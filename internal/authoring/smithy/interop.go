package smithy

import (
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// zeroByDefault reports whether version 1.0 gave values of the type a default of zero.
func zeroByDefault(t Type) bool {
	switch t {
	case Byte, Short, Integer, Long, Float, Double, Boolean, IntEnum:
		return true
	}
	return false
}

// zeroValue is that default.
func zeroValue(t Type, at *Shape) *document.Value {
	switch t {
	case Boolean:
		return &document.Value{Kind: document.Bool, At: at.At}
	case Blob:
		return &document.Value{Kind: document.String, At: at.At}
	}
	return &document.Value{Kind: document.Number, Text: "0", At: at.At}
}

// valueOfVersion returns the own traits of a shape with the default that version 1.0
// implied written out.
func valueOfVersion(s *Shape) []*Trait {
	if s.version != version1 || !zeroByDefault(s.Type) || findTrait(s.own, traitBox) != nil {
		return s.own
	}
	return setTrait(s.own, &Trait{ID: traitDefault, Value: zeroValue(s.Type, s), At: s.At})
}

// boxed reports whether version 1.0 treats a number or boolean as optional: by its trait, or
// because it is of version 2.0 and has no default of zero.
func boxed(s *Shape) bool {
	if s.Has(traitBox) {
		return true
	}
	if s.version != version2 || !zeroByDefault(s.Type) {
		return false
	}
	t := s.Trait(traitDefault)
	return t == nil || !isZero(t.Value, s.Type)
}

func isZero(v *document.Value, t Type) bool {
	if t == Boolean {
		return v.Kind == document.Bool && !v.Bool
	}
	return v.Kind == document.Number && number(v.Text).Sign() == 0
}

// upgrade writes out the defaults that members of version 1.0 structures have by
// themselves, so that the rest of the package need know version 2.0 only.
func upgrade(m *Model) {
	for _, s := range m.roots {
		if s.Type != Structure || s.version != version1 {
			continue
		}
		for _, member := range s.Members {
			target := m.target(member)
			if target == nil {
				continue
			}
			value := upgradedDefault(member, target)
			if value == nil {
				continue
			}
			t := &Trait{ID: traitDefault, Value: value, At: member.At}
			shared := len(member.inMixins) == 0
			member.own = setTrait(member.own, t)
			if shared {
				member.Traits = member.own
			} else {
				member.Traits = setTrait(member.Traits, t)
			}
		}
	}
}

// upgradedDefault is the default of a version 1.0 member, or nil.
func upgradedDefault(member, target *Shape) *document.Value {
	streams := target.Type == Blob && target.Has(traitStreaming) && !member.Has(traitRequired)
	switch {
	case (zeroByDefault(target.Type) || streams) && !member.Has(traitDefault) && !member.Has(traitBox) && !boxed(target):
		return zeroValue(target.Type, member)
	case member.Has(traitBox):
		return &document.Value{Kind: document.Null, At: member.At}
	}
	return nil
}
