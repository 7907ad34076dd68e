package delegate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
)

// everyCapability lets stacks have roles with names.
var everyCapability = []cfn.Capability{cfn.CapabilityCapabilityIam, cfn.CapabilityCapabilityNamedIam}

// createStack creates a stack, unless it exists.
func (e *emulator) createStack(ctx context.Context, client *cloudformation.Client, name, token string, text *stackText) error {
	_, err := client.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: &name, TemplateBody: &text.body, Parameters: text.parameters(), Capabilities: everyCapability, ClientRequestToken: &token,
	})
	var exists *cfn.AlreadyExistsException
	if errors.As(err, &exists) {
		return nil
	}
	return e.explain(ctx, err)
}

// updateStack updates a stack. It reports false if nothing differs.
func (e *emulator) updateStack(ctx context.Context, client *cloudformation.Client, id string, text *stackText) (changed bool, err error) {
	_, err = client.UpdateStack(ctx, &cloudformation.UpdateStackInput{StackName: &id, TemplateBody: &text.body, Parameters: text.parameters(), Capabilities: everyCapability})
	var api smithy.APIError
	switch {
	case errors.As(err, &api) && strings.Contains(api.ErrorMessage(), "No updates are to be performed"):
		return false, nil
	case err != nil:
		return false, e.explain(ctx, err)
	}
	return true, nil
}

// deleteStack deletes a stack and waits until it does not exist.
func (e *emulator) deleteStack(ctx context.Context, client *cloudformation.Client, id string) error {
	found, err := e.settle(ctx, client, id)
	if err != nil || found == nil {
		return err
	}
	// The answer says nothing: the status does.
	if _, err := client.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &found.id}); err != nil {
		return e.explain(ctx, err)
	}
	after, err := e.settle(ctx, client, found.id)
	switch {
	case err != nil || after == nil:
		return err
	case strings.HasSuffix(after.status, "FAILED"):
		return faultf(generalServiceException, "The emulator at %s could not delete the resource: %s", e.url, e.why(ctx, client, after))
	}
	return errPending // it has not begun
}

// why is why the latest operation on a stack failed.
func (e *emulator) why(ctx context.Context, client *cloudformation.Client, stack *remote) string {
	for _, reason := range []string{e.reasons(ctx, client, stack.id), stack.reason} {
		if reason != "" {
			return reason
		}
	}
	return "the stack is in " + stack.status
}

// createMarker creates the stack of a marker, which has nothing that a service would show.
func (e *emulator) createMarker(ctx context.Context, client *cloudformation.Client, m *markerRow) error {
	text := &stackText{body: fmt.Sprintf(`{"Description":"formwork %s: shows that the emulator has its state","Resources":{"Marker":{"Type":"AWS::CloudFormation::WaitConditionHandle"}}}`, m.ID)}
	if err := e.createStack(ctx, client, m.stackName(), m.ID, text); err != nil {
		return err
	}
	made, err := e.settle(ctx, client, m.stackName())
	if err == nil && (made == nil || made.status != string(cfn.StackStatusCreateComplete)) {
		err = faultf(serviceInternalError, "The emulator at %s does not create stacks.", e.url)
	}
	return err
}
