package builtin

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/running/macro"
)

// macros are AWS::CloudFormation::Macro.
type macros struct{}

func (macros) identifier(c *call) (string, error) { return c.text("Name"), nil }

func (m macros) create(c *call) (string, error) {
	return c.text("Name"), c.types.config.Macros.Create(c.ctx, c.request.Caller.Place, m.row(c))
}

func (macros) row(c *call) macro.Macro {
	return macro.Macro{
		Name: c.text("Name"), Function: c.text("FunctionName"), Description: c.text("Description"),
		LogGroupName: c.text("LogGroupName"), LogRoleARN: c.text("LogRoleARN"),
	}
}

func (macros) read(c *call) (map[string]any, error) {
	found, err := c.types.config.Macros.Get(c.ctx, c.request.Caller.Place, c.request.Identifier)
	if err != nil {
		return nil, err
	}
	model := map[string]any{"Name": found.Name, "FunctionName": found.Function}
	for name, value := range map[string]string{"Description": found.Description, "LogGroupName": found.LogGroupName, "LogRoleARN": found.LogRoleARN} {
		if value != "" {
			model[name] = value
		}
	}
	return model, nil
}

func (m macros) update(c *call) error {
	row := m.row(c)
	row.Name = c.request.Identifier
	return c.types.config.Macros.Update(c.ctx, c.request.Caller.Place, row)
}

func (macros) remove(c *call) error {
	return c.types.config.Macros.Delete(c.ctx, c.request.Caller.Place, c.request.Identifier)
}

// macroPage is how many macros a page of a list has.
const macroPage = 100

func (macros) list(c *call, next *string) (found []string, token string, err error) {
	found, err = c.types.config.Macros.List(c.ctx, c.request.Caller.Place, aws.ToString(next), macroPage)
	if len(found) == macroPage {
		token = found[macroPage-1]
	}
	return found, token, err
}
