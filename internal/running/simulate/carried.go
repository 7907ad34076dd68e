package simulate

import (
	"embed"
	"slices"
)

// infrastructure are the types of the stacks that the official tool makes for itself, the one
// that it uploads packages with and the one of a type's role, as far as no service here has
// them. Their schemas need not be imported.
var infrastructure = []string{"AWS::IAM::Role", "AWS::KMS::Key"}

// Infrastructure lists the types of the stacks that the official tool makes for itself. The
// shelf carries their schemas.
func Infrastructure() []string { return slices.Clone(infrastructure) }

//go:embed schemas
var schemas embed.FS

// carried is a type whose schema was not imported, nil if the shelf does not carry it or it is
// not simulated.
func (s *Shelf) carried(typeName string) *publishedRow {
	if !s.simulates(typeName) {
		return nil
	}
	return embedded(typeName)
}

// embedded is a type whose schema the shelf carries, nil for any other.
func embedded(typeName string) *publishedRow {
	if !slices.Contains(infrastructure, typeName) {
		return nil
	}
	text := Carried(typeName)
	if text == "" {
		return nil
	}
	return &publishedRow{TypeName: typeName, Hash: hash([]byte(text)), Schema: text}
}
