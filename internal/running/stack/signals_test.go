package stack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// signaling is a rig with wait conditions and a simulated type Sim::A::Thing.
func signaling(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	w := newWorld(t)
	simulated := *w.types["Acme::Test::Thing"]
	simulated.Name, simulated.Simulated = "Sim::A::Thing", true
	w.types[simulated.Name] = &simulated
	g := newRigIn(t, fixtures.Place{Name: "sqlite", Dir: fixtures.TempDir(t)}, w)
	change(&g.config)
	for _, name := range []string{waitConditionType, handleType} {
		typ, err := g.OwnTypes().Type(t.Context(), owner, name, "")
		if err != nil {
			t.Fatal(err)
		}
		w.types[name] = typ
	}
	return g
}

// TestSimulatedSignals: what only simulated resources could signal does not wait, and everything else does.
func TestSimulatedSignals(t *testing.T) {
	const (
		instance  = "I: {Type: 'Sim::A::Thing', CreationPolicy: {ResourceSignal: {Count: 2, Timeout: PT12H}}}"
		handle    = "H: {Type: 'AWS::CloudFormation::WaitConditionHandle'}"
		condition = "W: {Type: 'AWS::CloudFormation::WaitCondition', DependsOn: S, Properties: {Handle: !Ref H, Timeout: 43200}}"
		named     = "W: {Type: 'AWS::CloudFormation::WaitCondition', CreationPolicy: {ResourceSignal: {Timeout: PT12H}}}"
		sender    = "S: {Type: 'Sim::A::Thing', Properties: {Note: !Sub 'curl ${H} for W'}}"
		real      = "R: {Properties: {Note: !Ref H}}"
	)
	for name, test := range map[string]struct {
		resources []string
		waits     bool
	}{
		"a simulated resource":                     {[]string{instance}, false},
		"a real resource":                          {[]string{"I: {CreationPolicy: {ResourceSignal: {Timeout: PT12H}}}"}, true},
		"a handle of simulated resources":          {[]string{handle, condition, sender}, false},
		"a handle that a real resource has, too":   {[]string{handle, condition, sender, real}, true},
		"a handle of another stack":                {[]string{"W: {Type: 'AWS::CloudFormation::WaitCondition', Properties: {Handle: 'http://localhost/cfn-wait?handle=H', Timeout: 43200}}"}, true},
		"a condition that a simulated one names":   {[]string{named, sender, handle}, false},
		"a condition that a real resource names":   {[]string{named, "R: {Properties: {Note: 'signal W'}}"}, true},
		"a real resource that only depends on one": {[]string{named, sender, handle, "R: {DependsOn: W}"}, false},
	} {
		for _, simulate := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", ", simulate), func(t *testing.T) {
				// Signals that are waited for time out at once.
				g := signaling(t, func(c *Config) { c.SimulateSignals, c.TimeScale = simulate, 1e6 })
				g.create(&cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things(test.resources...))})
				marked := slices.ContainsFunc(g.story("s"), func(row string) bool {
					return strings.Contains(row, " CREATE_COMPLETE ") && strings.HasSuffix(row, "("+reasonSimulated+")")
				})
				want := types.StackStatusCreateComplete
				if test.waits || !simulate {
					want = types.StackStatusRollbackComplete
				}
				if got := g.settled("s").StackStatus; got != want || marked != (want == types.StackStatusCreateComplete) {
					t.Errorf("%s, marked %t: %q", got, marked, g.story("s"))
				}
			})
		}
	}
}

// TestLateSignal: a signal that comes although it was not waited for is taken, and changes nothing.
func TestLateSignal(t *testing.T) {
	g := signaling(t, func(c *Config) { c.SimulateSignals = true })
	g.create(&cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(things("I: {Type: 'Sim::A::Thing', CreationPolicy: {ResourceSignal: {}}}"))})
	_, err := g.SignalResource(t.Context(), owner, &cloudformation.SignalResourceInput{
		StackName: aws.String("s"), LogicalResourceId: aws.String("I"), UniqueId: aws.String("1"), Status: types.ResourceSignalStatusFailure,
	})
	if err != nil {
		t.Error(err)
	}
	g.expectStatus(g.settled("s"), types.StackStatusCreateComplete, "")
}
