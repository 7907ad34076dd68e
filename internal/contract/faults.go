package contract

// Faults are what goes wrong around a handler. The zero Faults injects those that need
// nothing but the Function: calls delivered twice, replies lost, contexts replayed.
type Faults struct{}

// FaultCases are the tests of handlers under [Faults], in the order in which they run,
// after all others.
var FaultCases []Case

// selected are the cases of a run: those of Select, and with Faults those of FaultCases.
func (c *Config) selected() (cases []Case, deselected int) {
	cases, deselected = Select(c.Schema, c.Selection)
	if c.Faults == nil {
		return cases, deselected
	}
	for _, f := range FaultCases {
		switch {
		case !f.applies(c.Schema):
		case c.Selection.Picks(&f):
			cases = append(cases, f)
		default:
			deselected++
		}
	}
	return cases, deselected
}
