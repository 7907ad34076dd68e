package stack

import (
	"errors"
	"net/http"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The reasons about exports that package refactor has, too.
const (
	ReasonExportTaken = "Export with name %s is already exported by stack %s."
	ReasonNoExport    = "No export named %s found"
)

// The reasons of rows, with the messages of the service.
const (
	reasonUserInitiated     = "User Initiated"
	reasonInitiated         = "Resource creation Initiated"
	reasonConsistency       = "Eventual consistency check initiated"
	reasonReplacing         = "Requested update requires the creation of a new physical resource; hence creating one."
	reasonCreateCancelled   = "Resource creation cancelled"
	reasonUpdateCancelled   = "Resource update cancelled"
	reasonNoReplacement     = "Replacement type updates not supported on stack with disable-rollback."
	reasonNewIdentifier     = "Requested update required the provider to create a new physical resource"
	reasonExpress           = "Resource operation completed using Express Mode. It may continue becoming available in the background."
	reasonTimeout           = "Stack creation time exceeded the specified timeout. Rollback requested by user."
	reasonUpdateStopped     = "Stack update cancelled"
	reasonInvalid           = "Validation failed with %d error(s). Call DescribeEvents to retrieve the full list of issues with resource and property details, resolve each error, then retry the operation."
	reasonInvalidRollback   = "Validation failure detected. See the operation's FAILED event for details."
	reasonNoParameter       = "Parameter validation failed: parameter value %s for parameter name %s does not exist"
	reasonExportUpdate      = "Export %s cannot be updated as it is in use by %s"
	reasonExportDelete      = "Export %s cannot be deleted as it is in use by %s"
	reasonDeleteCanceled    = "Delete canceled. Cannot delete export %s as it is in use by %s."
	reasonDeleteRequested   = "Delete requested by user."
	reasonNoChanges         = "The submitted information didn't contain changes. Submit different information to create a change set."
	incompletePrefix        = "[WARN] --include-property-values option can return incomplete ChangeSet data because: "
	reasonSetResource       = "ChangeSet creation failed for resource [%s] because: %s"
	reasonImportMissing     = "No export named %s"
	reasonNestedSet         = "Nested change set %s was not successfully created: Currently in FAILED."
	reasonEarlyValidation   = "The following hook(s)/validation failed: %s. To troubleshoot Early Validation errors, use the DescribeEvents API for detailed failure information."
	hookProperties          = "AWS::EarlyValidation::PropertyValidation"
	hookNames               = "AWS::EarlyValidation::ResourceExistenceCheck"
	reasonFilled            = "S3 bucket is not empty"
	reasonExists            = "Resource of type '%s' with identifier '%s' already exists."
	reasonImportStarted     = "Resource import started."
	reasonImportCancelled   = "Resource import cancelled"
	reasonImportTags        = "Apply stack-level tags to imported resource if applicable."
	reasonImportPolicy      = "CloudFormation is attempting to import some resources because they already exist in your account. The resources must have the DeletionPolicy attribute set to 'Retain' or 'RetainExceptOnCreate' in the template for successful import. The affected resources are %s"
	reasonDriftFailed       = "Failed to detect drift on the following resource(s): %s"
	reasonNotRead           = "The emulator that the resource is in cannot read it."
	reasonDriftGone         = "The stack was deleted."
	reasonRollbackRequested = "Rollback requested by user."
)

// refusals are the errors of the operations on stacks, with the messages of the service. The
// verbs are those of fmt.
var refusals = map[string]struct {
	code string // "" is ValidationError
	text string
}{
	"exists":              {"AlreadyExistsException", "Stack [%s] already exists"},
	"missing":             {"", "Stack [%s] does not exist"},
	"missing-id":          {"", "Stack with id %s does not exist"},
	"missing-quoted":      {"", "Stack '%s' does not exist"},
	"missing-resource":    {"", "Resource %s does not exist for stack %s"},
	"missing-physical":    {"", "Stack for %s does not exist"},
	"state":               {"", "Stack:%s is in %s state and can not be updated."},
	"preserved":           {"", "This stack is currently in a non-terminal [%s] state. To update the stack from this state, please use the disable-rollback parameter with update-stack API. To rollback to the last known good state, use the rollback-stack API"},
	"no-updates":          {"", "No updates are to be performed."},
	"token":               {"TokenAlreadyExistsException", "The client request token %s has already been used for this stack. Retry the request with a different client request token"},
	"name-required":       {"", "StackName is a required parameter."},
	"template-required":   {"", "Either Template URL or Template Body must be specified."},
	"template-both":       {"", "Only one of Template URL or Template Body may be specified."},
	"template-previous":   {"", "You cannot specify both usePreviousTemplate and Template Body/Template URL"},
	"template-url":        {"", "TemplateURL must be a supported URL."},
	"policy-url":          {"", "StackPolicyURL must be a supported URL."},
	"delete-state":        {"", "Stack [%s] cannot be deleted while in status %s"},
	"change-set-required": {"", "StackName is required if ChangeSetName is not specified."},
	"s3-domain":           {"", "S3 error: Domain name specified in %s is not a valid S3 domain"},
	"s3-access":           {"", "TemplateURL must reference a valid S3 object to which you have access."},
	"attribute":           {"", "Template error: resource %s does not support attribute type %s in Fn::GetAtt"},
	"template-size":       {"", "Template may not exceed 1000000 bytes in size."},
	"policy":              {"", "Error validating stack policy: Invalid stack policy"},
	"policy-both":         {"", "You cannot specify both StackPolicyURL and StackPolicyBody"},
	"policy-both-update":  {"", "You cannot specify both StackPolicyDuringUpdateURL and StackPolicyDuringUpdateBody"},
	"policy-size":         {"", "Error validating stack policy: Stack policy may not exceed 16384 bytes in size."},
	"type-not-allowed":    {"", "Resource type %s is not allowed by parameter ResourceTypes %s"},
	"trigger-type":        {"", "Rollback Trigger Type not supported"},
	"trigger":             {"", "RollbackConfiguration.RollbackTriggers is not supported by this server, which monitors no alarms. Leave the member out."},
	"trigger-arn":         {"", "RelativeId of a Rollback Trigger's ARN is incorrect"},
	"on-failure-both":     {"", "Either DisableRollback or OnFailure can be specified, not both."},
	"protected":           {"", "Stack [%s] cannot be deleted while TerminationProtection is enabled"},
	"protected-child":     {"", "Termination protection cannot be changed on a nested stack. Change it on the root stack [%s]."},
	"retain-early":        {"", "Invalid operation on stack %s. When you delete a stack, specify which resources to retain only when the stack is in the DELETE_FAILED state."},
	"retain-wrong":        {"", "The specified resources to retain must be in a valid state. Do not specify resources that are in the DELETE_COMPLETE state."},
	"retain-differs":      {"", "A delete stack operation is already in progress for stack %s. Do not submit another delete stack request specifying different resources to retain or resources to retain in a different order."},
	"force-early":         {"", "Invalid operation on stack %s. DeletionMode FORCE_DELETE_STACK can be specified only when the stack is in the DELETE_FAILED state."},
	"cancel":              {"", "CancelUpdateStack cannot be called from current stack status"},
	"continue":            {"", "Stack:%s is in %s state and can not continue its update rollback."},
	"skip":                {"", "The following resources to skip are not in a failed update rollback state: [%s]"},
	"skip-nested":         {"", "The nested stack %s cannot be skipped in status %s: it must be in one of DELETE_IN_PROGRESS, DELETE_COMPLETE or DELETE_FAILED."},
	"skip-force":          {"", "ResourcesToSkip and ForceRollback cannot be specified together."},
	"rollback":            {"", "Stack:%s is in %s state and can not be rolled back."},
	"continue-child":      {"", "RollbackUpdatedStack cannot be invoked on child stacks"},
	"rollback-child":      {"", "Failed to rollback: RollbackUpdatedStack cannot be invoked on child stacks"},
	"tags":                {"", "Tags must have unique keys. Duplicate key: %s"},
	"tags-many":           {"", "The number of tags, %d, is greater than maximum allowed, 50"},
	"tags-reserved":       {"", "aws: prefixed tag key names are not allowed for external use."},
	"export-unused":       {"", "Export '%s' is not imported by any stack."},
	"signal-type":         {"", "Resource %s is of type %s and cannot be signaled"},
	"signal-state":        {"", "Resource %s is in %s state and can not be signaled."},
	"signal-twice":        {"", "Signal with ID %s for resource %s already exists.  Signals may only be updated with a FAILURE status."},
	"review-summary":      {"", "GetTemplateSummary cannot be called on REVIEW_IN_PROGRESS stacks."},
	"both-names":          {"", "Cannot specify both StackName and PhysicalResourceId"},
	"change-set-name":     {"", "StackName must be specified if ChangeSetName is not specified as an ARN."},
	"change-set-missing":  {"ChangeSetNotFoundException", "ChangeSet [%s] does not exist"},
	"previous-create":     {"", "Cannot specify UsePreviousValue on Parameters when ChangeSetType is CREATE"},
	"change-set-again":    {"", "Stack [%s] already exists and cannot be created again with the changeSet [%s]."},
	"change-set-token":    {"AlreadyExistsException", "ChangeSet cannot be created due to a mismatch with existing attribute ClientToken"},
	"change-set-exists":   {"AlreadyExistsException", "ChangeSet [%s] already exists"},
	"change-set-kind":     {"", "1 validation error detected: Value '%s' at 'changeSetType' failed to satisfy constraint: Member must satisfy enum value set: [IMPORT, UPDATE, CREATE]"},
	"change-set-mode":     {"", "1 validation error detected: Value '%s' at 'deploymentMode' failed to satisfy constraint: Member must satisfy enum value set: [REVERT_DRIFT]"},
	"change-set-revert":   {"", "DeploymentMode REVERT_DRIFT can be specified only for a change set of the type UPDATE, without IncludeNestedStacks."},
	"change-set-status":   {"InvalidChangeSetStatusException", "ChangeSet [%s] cannot be executed in its current status of [%s]"},
	"change-set-executed": {"InvalidChangeSetStatusException", "ChangeSet [%s] cannot be executed in its current execution status of [%s]"},
	"change-set-creating": {"InvalidChangeSetStatusException", "Cannot delete ChangeSet in status %s"},
	"change-set-used":     {"InvalidChangeSetStatusException", "Cannot delete ChangeSet in execution status %s"},
	"change-set-nested":   {"", "ChangeSet [%s] belongs to a nested stack and cannot be %s by itself. Use its root change set [%s]."},
	"nested-depth":        {"", "Nested stacks are deeper than %d levels"},
	"nested-resources":    {"", "Number of resources in the stack and its nested stacks, %d, is greater than maximum allowed, %d"},
	"change-set-rollback": {"", "DisableRollback cannot be specified for a change set that has OnStackFailure."},
	"import-none":         {"", "Must Provide at least one resource to import"},
	"import-absent":       {"", "The logical resource ids %s provided in ResourceToImport do not exist in the template."},
	"import-identifier":   {"", "Invalid resource identifier for resource type %s. Expected %s"},
	"import-mismatch":     {"", "Resource type of [%s] passed in ResourceToImport does not match with resource type defined in the template. Resource type in ResourceToImport: %s; Resource type in Template: %s."},
	"import-twice":        {"", "Every resource to import must have unique LogicalResourceId"},
	"import-nothing":      {"", "The template should contain at least one new resource to import."},
	"import-owned":        {"", "Resources %s passed in ResourceToImport are already in a stack and cannot be imported."},
	"import-policy":       {"", "The following resources to import %s must have DeletionPolicy attribute specified in the template."},
	"import-missing":      {"", "Resources %s is missing from ResourceToImport list"},
	"import-modified":     {"", "You have modified resources %s in your template that are not being imported. Update, create or delete operations cannot be executed during import operations."},
	"import-stack":        {"", "As part of the import operation, you cannot modify or add %s"},
	"import-type":         {"", "ResourceTypes [%s] are not supported for Import"},
	"import-kind":         {"", "ResourcesToImport can be specified only for a change set of the type IMPORT."},
	"hook-target":         {"", "TargetType and TargetId must be specified together."},
	"hook-filters":        {"", "Status can be specified only with TypeArn, and TypeArn not with a target."},
	"hook-missing":        {"HookResultNotFoundException", "No hook results found for target %s"},
	"hook-result-missing": {"HookResultNotFoundException", "Hook result with ID %s was not found"},
	"drift-running":       {"", "Drift detection is already in progress for stack [%s]"},
	"drift-state":         {"", "Drift detection cannot be performed on stack with status: %s"},
	"drift-missing":       {"", "Drift detection [%s] does not exist"},
	"operation-missing":   {"", "Operation [%s] does not exist"},
	"operation-or-stack":  {"", "At least one of StackName, ChangeSetName or OperationId must be specified."},
	"next-token":          {"", "NextToken is invalid"},
	"summary-source":      {"", "At least one of TemplateBody, TemplateURL or StackName must be specified."},
	"summary-set":         {"", "StackSetName is not supported by this server. Pass the template of the stack set, which DescribeStackSet returns, as TemplateBody."},
	"summary-sources":     {"", "Only one of TemplateBody, TemplateURL or StackName may be specified."},

	"prices": {"NotImplemented", "EstimateTemplateCost is not available: this server knows no prices. Use the AWS Pricing Calculator at https://calculator.aws."},
}

// refuse makes the refusal of the table.
func refuse(id string, args ...any) *awswire.Error {
	r, ok := refusals[id]
	if !ok {
		panic("stack: unknown refusal " + id)
	}
	code := r.code
	if code == "" {
		code = "ValidationError"
	}
	status := http.StatusBadRequest
	switch code {
	case "ChangeSetNotFoundException", "HookResultNotFoundException":
		status = http.StatusNotFound
	case "NotImplemented":
		status = http.StatusNotImplemented
	}
	return awswire.Errorf(code, status, r.text, args...)
}

// RefusedTemplate converts the errors of a template to the answer of the service, which
// contains the first one. Other errors are not changed.
func RefusedTemplate(err error) error {
	if found := template.Refused(err); len(found) > 0 {
		return awswire.Errorf(found[0].Code, http.StatusBadRequest, "%s", found[0].Message)
	}
	var missing *plan.AttributeError
	if errors.As(err, &missing) {
		return refuse("attribute", missing.LogicalID, missing.Attribute)
	}
	return err
}

// bracketed is a list of names in a reason.
func bracketed(names []string) string { return "[" + strings.Join(names, ", ") + "]" }

// handlerMessage is the reason of a resource whose handler failed.
var handlerMessage = lazyregexp.New(`(?s)^Resource handler returned message: "(.*)" \(RequestToken: [^,)]*(?:, HandlerErrorCode: ([A-Za-z]+))?\)\.?$`)

// HandlerMessage is the message of a handler and its error code in the reason of an event, or the reason as it is.
func HandlerMessage(reason string) (message, code string) {
	if m := handlerMessage.FindStringSubmatch(reason); m != nil {
		return m[1], m[2]
	}
	return reason, ""
}
