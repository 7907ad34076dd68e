# What people type about stacks, with the AWS CLI: deploy, package, the waiters, and the commands
# behind them. The working folder has the package of a type; AWS_ACCESS_KEY_ID is the account.
# The last line is "done".
set -eu
. ./client.sh

packages=packages-$AWS_ACCESS_KEY_ID
aws s3 mb "s3://$packages"
aws s3 cp report.zip "s3://$packages" --no-progress
token=$(text register-type --type RESOURCE --type-name Initech::TPS::Report --schema-handler-package "s3://$packages/report.zip" --query RegistrationToken)
registered() { [ "$(text describe-type-registration --registration-token "$token" --query ProgressStatus)" != IN_PROGRESS ]; }
eventually registered

cat >child.json <<'END'
{"Parameters": {"Title": {"Type": "String"}}, "Resources": {"Report": {"Type": "Initech::TPS::Report", "Properties": {
  "Title": {"Ref": "Title"}, "Series": "QTR", "CoverSheet": true, "Author": {"Name": "Peter Gibbons"}, "ReviewCode": "PCLoadLetter1999"}}},
 "Outputs": {"Report": {"Value": {"Ref": "Report"}}}}
END
cat >parent.json <<'END'
{"Parameters": {"Title": {"Type": "String", "Default": "Weekly"}}, "Resources": {
  "Child": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "child.json", "Parameters": {"Title": {"Ref": "Title"}}}}},
 "Outputs": {"Report": {"Value": {"Fn::GetAtt": ["Child", "Outputs.Report"]}, "Export": {"Name": "the-report"}}}}
END

echo '{"Resources": {"Setting": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "x"}}}}' >setting.json

echo "# package and deploy"
cf package --template-file parent.json --s3-bucket "$packages" --use-json --output-template-file packaged.json >package.txt
grep -q "http.*$packages" packaged.json || fail "the template of the nested stack was not uploaded: $(cat packaged.json)"
cf deploy --template-file packaged.json --stack-name nested --tags team=tps
is "the status" "$(text describe-stacks --stack-name nested --query 'Stacks[].[StackStatus,Tags[0].Value]')" "CREATE_COMPLETE	tps"
report=$(text describe-stacks --stack-name nested --query 'Stacks[].Outputs[].OutputValue')
case $report in tps-*) ;; *) fail "the output is $report" ;; esac
cf deploy --template-file setting.json --stack-name setting
cf deploy --template-file setting.json --stack-name setting --no-fail-on-empty-changeset | grep -q 'No changes to deploy. Stack setting is up to date' || fail "a stack without changes is deployed"
if cf deploy --template-file setting.json --stack-name setting --fail-on-empty-changeset; then fail "an empty change set is no failure"; fi

echo "# a change set by hand"
cf deploy --template-file packaged.json --stack-name nested --parameter-overrides Title=Monthly --no-execute-changeset
set=$(text list-change-sets --stack-name nested --query 'Summaries[?ExecutionStatus==`AVAILABLE`].ChangeSetId')
is "the change" "$(text describe-change-set --change-set-name "$set" --query 'Changes[].ResourceChange.[Action,LogicalResourceId]')" "Modify	Child"
cf execute-change-set --change-set-name "$set"
cf wait stack-update-complete --stack-name nested
is "the parameter" "$(text describe-stacks --stack-name nested --query 'Stacks[].Parameters[].ParameterValue')" Monthly

echo "# read"
is "the resources" "$(text list-stack-resources --stack-name nested --query 'StackResourceSummaries[].[LogicalResourceId,ResourceType,ResourceStatus]')" "Child	AWS::CloudFormation::Stack	UPDATE_COMPLETE"
child=$(text describe-stack-resource --stack-name nested --logical-resource-id Child --query StackResourceDetail.PhysicalResourceId)
is "the resources of the child" "$(text describe-stack-resources --stack-name "$child" --query 'StackResources[].[LogicalResourceId,PhysicalResourceId]')" "Report	$report"
is "the first event" "$(text describe-stack-events --stack-name nested --query 'StackEvents[-1].[ResourceStatus,ResourceStatusReason]')" "REVIEW_IN_PROGRESS	User Initiated"
is "the latest operation" "$(text describe-events --stack-name nested --max-items 1 --query 'OperationEvents[0].[OperationType,OperationStatus]' | head -n 1)" "UPDATE_STACK	SUCCEEDED"
is "the stacks" "$(echo $(text list-stacks --stack-status-filter UPDATE_COMPLETE --query 'StackSummaries[].StackName' | tr '\t' '\n' | sort | head -n 1))" nested
is "the export" "$(text list-exports --query 'Exports[].[Name,Value]')" "the-report	$report"
is "the parameters of the template" "$(text get-template-summary --stack-name nested --query 'Parameters[].ParameterKey')" Title
is "the resources of the template" "$(text get-template --stack-name nested --query 'TemplateBody.Resources | keys(@)')" Child

echo "# errors"
cf create-stack --stack-name reports --client-request-token the-first --template-body '{"Resources": {"Setting": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "x"}}}}' >create.txt
cf wait stack-exists --stack-name reports
cf wait stack-create-complete --stack-name reports
while IFS='	' read -r command operation code message input; do
	refused "$command" "$operation" "$code" "$message" --cli-input-json "$input" </dev/null
done <errors.txt

echo "# policies, protection and deletion"
cf set-stack-policy --stack-name reports --stack-policy-body '{"Statement": []}'
is "the policy" "$(text get-stack-policy --stack-name reports --query StackPolicyBody)" '{"Statement": []}'
cf update-termination-protection --stack-name reports --enable-termination-protection >protect.txt
refused delete-stack DeleteStack ValidationError 'cannot be deleted while TerminationProtection is enabled' --stack-name reports
cf update-termination-protection --stack-name reports --no-enable-termination-protection >protect.txt
for name in nested setting reports; do
	cf delete-stack --stack-name $name
	cf wait stack-delete-complete --stack-name $name
done
is "the stacks that are left" "$(text describe-stacks --query 'Stacks[].StackName')" ""
echo done
