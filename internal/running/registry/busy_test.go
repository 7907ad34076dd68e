package registry

import (
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// TestBusy counts what nothing works on yet, and nothing once it has ended.
func TestBusy(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		other := owner
		other.Region = "us-east-1"
		token := g.request(owner, schema.Module, "Acme::Test::One::MODULE", "s3://nowhere/1.zip")
		elsewhere := g.request(other, schema.Module, "Acme::Test::Two::MODULE", "s3://nowhere/2.zip")
		if busy, err := g.Busy(t.Context()); busy != (Busy{Registrations: 2}) || err != nil {
			t.Errorf("%+v, %v", busy, err)
		}
		g.work()
		g.wait(owner, token)
		g.wait(other, elsewhere)
		if busy, err := g.Busy(t.Context()); busy != (Busy{}) || err != nil {
			t.Errorf("after the end: %+v, %v", busy, err)
		}
	})
}
