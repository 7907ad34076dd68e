package contract

import "github.com/formwork-dev/formwork/internal/foundation/diag"

// The tests of [ModuleUpgradeCases].
const (
	ModuleExpands  = "module_expands"
	ModuleKeeps    = "module_keeps"
	ModuleReplaces = "module_replaces"
)

// A moduleCase is one upgrade test of modules. Whoever knows templates runs it.
type moduleCase struct {
	name, clause, why, example string
}

var moduleCases = []moduleCase{
	{ModuleExpands, "The new version of a module expands with the parameters of the old one.",
		"A module is expanded anew at the next update of its stacks. A new parameter without a default makes the update fail.",
		"wrong: Parameters: {Owner: {Type: String}}\nright: Parameters: {Owner: {Type: String, Default: nobody}}"},
	{ModuleKeeps, "The new version has every resource of the old one, with the same logical ID.",
		"A logical ID that changes is a resource that is deleted and another that is created: what it contained is lost.",
		"wrong: the bucket Data is called Store now\nright: logical IDs stay"},
	{ModuleReplaces, "The new version replaces no resource of the old one.",
		"Another type, or another value of a create-only property, deletes the resource and creates another one.",
		"wrong: BucketName: !Sub \"${Name}-v2\"\nright: create-only properties stay"},
}

// ModuleUpgradeCases returns the upgrade tests of modules in the order in which they run.
func ModuleUpgradeCases() []Case {
	out := make([]Case, len(moduleCases))
	for i, c := range moduleCases {
		out[i] = Case{ID: upgradeFile + "::" + c.name, Clause: c.clause}
	}
	return out
}

// upgradeRules are the upgrade tests as cfn explain shows them.
func upgradeRules() []diag.Rule {
	var out []diag.Rule
	for i := range upgradeCases {
		c := &upgradeCases[i]
		out = append(out, upgradeRule(c.Name(), c.Clause, c.why, c.example))
	}
	for _, c := range moduleCases {
		out = append(out, upgradeRule(c.name, c.clause, c.why, c.example))
	}
	return out
}
