package builtin

import "github.com/formwork-dev/formwork/internal/awswire"

// metadata is AWS::CDK::Metadata: a resource without any effect, which templates of the CDK
// contain to say which of its libraries they use.
type metadata struct{}

func (metadata) identifier(c *call) (string, error) {
	return c.generated(c.stackName(), upperDigits), nil
}

func (m metadata) create(c *call) (string, error) { return m.identifier(c) }

// read knows no resource before it is created; afterwards each is as it was.
func (metadata) read(c *call) (map[string]any, error) {
	if c.announcing {
		return nil, awswire.Errorf("NotFound", 0, "")
	}
	return map[string]any{"Id": c.request.Identifier}, nil
}

func (metadata) update(*call) error { return nil }
func (metadata) remove(*call) error { return nil }
