# A module in a module in a module, with the AWS CLI: registered, deployed, updated, deleted. The
# working folder has the packages bottom-1.zip, bottom-2.zip, middle.zip and top.zip and the template
# modules.yaml; AWS_ACCESS_KEY_ID is the account. The last line is "done".
set -eu
. ./client.sh

packages=packages-$AWS_ACCESS_KEY_ID
aws s3 mb "s3://$packages"
aws s3 cp . "s3://$packages" --recursive --exclude '*' --include '*.zip' --no-progress

# register NAME PACKAGE makes a version of a module the default one.
register() {
	token=$(text register-type --type MODULE --type-name "Acme::Deep::$1::MODULE" --schema-handler-package "s3://$packages/$2.zip" --query RegistrationToken)
	registered() { [ "$(text describe-type-registration --registration-token "$token" --query ProgressStatus)" != IN_PROGRESS ]; }
	eventually registered
	version=$(text describe-type-registration --registration-token "$token" --query TypeVersionArn)
	cf set-type-default-version --arn "$version"
}
register Bottom bottom-1
register Middle middle
refused create-stack CreateStack ValidationError 'Unrecognized resource types: [Acme::Deep::Top::MODULE]' \
	--stack-name deep --template-body file://modules.yaml --capabilities CAPABILITY_AUTO_EXPAND
register Top top

echo "# create"
refused create-stack CreateStack InsufficientCapabilitiesException 'Requires capabilities : [CAPABILITY_AUTO_EXPAND]' --stack-name deep --template-body file://modules.yaml
is "the capabilities" "$(text validate-template --template-body file://modules.yaml --query Capabilities)" CAPABILITY_AUTO_EXPAND
cf create-stack --stack-name deep --template-body file://modules.yaml --capabilities CAPABILITY_AUTO_EXPAND >create.txt
status() { [ "$(text describe-stacks --stack-name deep --query 'Stacks[].StackStatus')" = "$1" ]; }
eventually status CREATE_COMPLETE
is "the parameter" "$(aws ssm get-parameter --name /deep/note --query Parameter.Value --output text)" "one: hello"
is "the resources" "$(text list-stack-resources --stack-name deep --query 'StackResourceSummaries[].[LogicalResourceId,ModuleInfo.LogicalIdHierarchy]')" \
	"After	None
NoteMidLowSetting	Low/Mid/Note
NoteMidSibling	Mid/Note"
is "the types" "$(text describe-stack-resource --stack-name deep --logical-resource-id NoteMidLowSetting --query StackResourceDetail.ModuleInfo.TypeHierarchy)" \
	Acme::Deep::Bottom::MODULE/Acme::Deep::Middle::MODULE/Acme::Deep::Top::MODULE
is "the output" "$(text describe-stacks --stack-name deep --query 'Stacks[].Outputs[].[OutputKey,OutputValue]')" "NoteMidLowName	/deep/note"
is "the template" "$(text get-template --stack-name deep --template-stage Processed --query 'TemplateBody.Resources | keys(@)')" "NoteMidLowSetting	NoteMidSibling	After"

echo "# a new default version"
register Bottom bottom-2
refused update-stack UpdateStack ValidationError 'No updates are to be performed.' --stack-name deep --use-previous-template --capabilities CAPABILITY_AUTO_EXPAND
cf create-change-set --stack-name deep --change-set-name next --template-body file://modules.yaml >set.txt
planned() { [ "$(text describe-change-set --stack-name deep --change-set-name next --query Status)" = CREATE_COMPLETE ]; }
eventually planned
is "the change" "$(text describe-change-set --stack-name deep --change-set-name next --query 'Changes[].ResourceChange.[Action,LogicalResourceId,ModuleInfo.LogicalIdHierarchy]')" \
	"Modify	After	None
Modify	NoteMidLowSetting	Low/Mid/Note"
cf execute-change-set --stack-name deep --change-set-name next
eventually status UPDATE_COMPLETE
is "the parameter after the update" "$(aws ssm get-parameter --name /deep/note --query Parameter.Value --output text)" "two: hello"

echo "# drift"
aws ssm put-parameter --name /deep/note --value changed --overwrite >put.txt
is "the drift" "$(text detect-stack-resource-drift --stack-name deep --logical-resource-id NoteMidLowSetting --query 'StackResourceDrift.[StackResourceDriftStatus,ModuleInfo.LogicalIdHierarchy]')" "MODIFIED	Low/Mid/Note"

echo "# delete"
cf delete-stack --stack-name deep
gone() { [ -z "$(text describe-stacks --query 'Stacks[].StackName')" ]; }
eventually gone
is "the parameters that are left" "$(aws ssm describe-parameters --query 'Parameters[].Name' --output text)" ""
echo done
