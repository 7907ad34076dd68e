package plan

// A State is how far a step is.
type State string

// The states of steps.
const (
	StepWaiting    State = "waiting"
	StepRunning    State = "running"
	StepConfigured State = "configured" // dependents may start
	StepDone       State = "done"
	StepFailed     State = "failed"
	StepCancelled  State = "cancelled" // its operation continues, its result is ignored
	StepStopped    State = "stopped"   // cancelled, and its operation ended
	StepSkipped    State = "skipped"   // never started, since something before it failed
)

// Active reports whether the operation of a step still runs.
func (s State) Active() bool {
	return s == StepRunning || s == StepConfigured || s == StepCancelled
}

// opens reports whether the steps after it may start.
func (s State) opens() bool {
	return s == StepConfigured || s == StepDone || s == StepStopped
}

// A Node is a step of a phase that runs.
type Node struct {
	Key   string
	After []string
	State State
}

// A Verdict is what to do next in a phase.
type Verdict struct {
	Start  []string // steps whose dependencies are done, in the order of the nodes
	Cancel []string // steps that run and are to be cancelled
	Skip   []string // steps that never run

	Ended  bool
	Failed []string // of an ended phase
}

// A Brake is how a phase continues.
type Brake int

const (
	KeepOn Brake = iota // everything that does not depend on a failed step runs to its end
	Halt                // the first failure ends the phase: what runs is cancelled
	Halted              // the same without a failure
	Drain               // nothing new starts, what runs ends
)

// Advance decides what to do next with the steps of a phase.
func Advance(nodes []Node, b Brake) Verdict {
	var v Verdict
	state := make(map[string]State, len(nodes))
	active := false
	for _, n := range nodes {
		state[n.Key] = n.State
		active = active || n.State.Active()
		if n.State == StepFailed {
			v.Failed = append(v.Failed, n.Key)
		}
	}
	if b == Halted || b == Halt && len(v.Failed) > 0 {
		for _, n := range nodes {
			switch n.State {
			case StepRunning, StepConfigured:
				v.Cancel = append(v.Cancel, n.Key)
			case StepWaiting:
				v.Skip = append(v.Skip, n.Key)
			}
		}
		v.Ended = true
		return v
	}
	for _, n := range nodes {
		if n.State == StepWaiting && b != Drain && ready(n, state) {
			v.Start = append(v.Start, n.Key)
		}
	}
	if len(v.Start) > 0 || active {
		return v
	}
	for _, n := range nodes {
		if n.State == StepWaiting {
			v.Skip = append(v.Skip, n.Key)
		}
	}
	v.Ended = true
	return v
}

// ready reports whether a step may start. A dependency that is not a step of the phase is
// done.
func ready(n Node, state map[string]State) bool {
	for _, before := range n.After {
		if s, ok := state[before]; ok && !s.opens() {
			return false
		}
	}
	return true
}
