# What people type: the way of types through the registry, with the AWS CLI. The working
# folder has the packages, the table of errors, and a request for the handler;
# AWS_ACCESS_KEY_ID is the account and SECOND_ACCOUNT another one. The last line is "done".
set -eu
. ./client.sh

packages=packages-$AWS_ACCESS_KEY_ID
arn=arn:aws:cloudformation:us-east-1:$AWS_ACCESS_KEY_ID:type
aws s3 mb "s3://$packages"
aws s3 cp . "s3://$packages" --recursive --exclude '*' --include '*.zip' --no-progress

# register KIND NAME PACKAGE ARGUMENT… leaves the token in $token; the CLI's own waiter
# looks first and sleeps for 30 s afterwards, so it is asked when all are done.
register() {
	kind=$1 name=$2 package=$3
	shift 3
	token=$(text register-type --type "$kind" --type-name "$name" --schema-handler-package "s3://$packages/$package" "$@" --query RegistrationToken)
	tokens="$tokens $token"
}
nothing_in_progress() { [ -z "$(text list-type-registrations --query RegistrationTokenList)" ]; }
wait_for_all() {
	eventually nothing_in_progress
	for token in $tokens; do cf wait type-registration-complete --registration-token "$token"; done
	tokens=
}

echo "# register"
tokens=
register RESOURCE Initech::TPS::Report report-1.zip --client-request-token the-first-report \
	--logging-config "LogRoleArn=arn:aws:iam::$AWS_ACCESS_KEY_ID:role/logs,LogGroupName=reports" --execution-role-arn "arn:aws:iam::$AWS_ACCESS_KEY_ID:role/reports"
first=$token
register RESOURCE Initech::TPS::Memo memo.zip
register HOOK LocalStack::Testing::TestHook hook.zip
register MODULE LocalStack::Testing::TestModule::MODULE module.zip
wait_for_all
register RESOURCE Initech::TPS::Report report-1.zip --client-request-token the-first-report \
	--logging-config "LogRoleArn=arn:aws:iam::$AWS_ACCESS_KEY_ID:role/logs,LogGroupName=reports" --execution-role-arn "arn:aws:iam::$AWS_ACCESS_KEY_ID:role/reports"
is "the token of the same request" "$token" "$first"
tokens=
register RESOURCE Initech::TPS::Report report-2.zip
wait_for_all
is "the registration" "$(text describe-type-registration --registration-token "$first" --query '[ProgressStatus,TypeArn,TypeVersionArn]')" \
	"COMPLETE	$arn/resource/Initech-TPS-Report	$arn/resource/Initech-TPS-Report/00000001"
register RESOURCE Initech::TPS::Report no-such.zip
nothing_in_progress || eventually nothing_in_progress
if cf wait type-registration-complete --registration-token "$token" 2>waiter.txt; then fail "a package that is not there is registered"; fi
grep -q 'Waiter TypeRegistrationComplete failed' waiter.txt || fail "the waiter says $(cat waiter.txt)"

echo "# describe and list"
describe() { text describe-type --type RESOURCE --type-name Initech::TPS::Report "$@"; }
is "the default version" "$(describe --query '[Arn,DefaultVersionId,IsDefaultVersion,ProvisioningType,Visibility,DeprecatedStatus,LoggingConfig.LogGroupName]')" \
	"$arn/resource/Initech-TPS-Report/00000001	00000001	True	FULLY_MUTABLE	PRIVATE	LIVE	reports"
is "the second version" "$(describe --version-id 00000002 --query '[IsDefaultVersion,Description,TypeTestsStatus]')" "False	The second edition.	NOT_TESTED"
is "the types, one on a page" "$(echo $(text list-types --page-size 1 --query 'TypeSummaries[].TypeName'))" \
	"Initech::TPS::Report LocalStack::Testing::TestHook LocalStack::Testing::TestModule::MODULE"
is "what cannot be updated" "$(text list-types --provisioning-type IMMUTABLE --query 'TypeSummaries[].TypeName')" Initech::TPS::Memo
is "the hooks" "$(text list-types --type HOOK --filters TypeNamePrefix=LocalStack --query 'TypeSummaries[].[TypeName,DefaultVersionId]')" "LocalStack::Testing::TestHook	00000001"
next=$(text list-type-versions --type RESOURCE --type-name Initech::TPS::Report --max-results 1 --query NextToken)
is "the versions on the second page" "$(text list-type-versions --type RESOURCE --type-name Initech::TPS::Report --max-results 1 --next-token "$next" --query '[[NextToken],TypeVersionSummaries[].VersionId]')" "None
00000002"
is "the failed registrations" "$(text list-type-registrations --registration-status-filter FAILED --query RegistrationTokenList)" "$token"

echo "# errors"
while IFS='	' read -r command operation code message input; do
	refused "$command" "$operation" "$code" "$message" --cli-input-json "$input" </dev/null
done <errors.txt

echo "# default version and configuration"
cf set-type-default-version --type RESOURCE --type-name Initech::TPS::Report --version-id 00000002
is "the new default version" "$(describe --query '[DefaultVersionId,Description]')" "00000002	The second edition."
configuration=arn:aws:cloudformation:us-east-1:$AWS_ACCESS_KEY_ID:type-configuration/resource/Initech-TPS-Report/default
is "the configuration's ARN" "$(text set-type-configuration --type RESOURCE --type-name Initech::TPS::Report --configuration '{"RequireCoverSheet": true}' --query ConfigurationArn)" \
	"$configuration"
is "the configurations" "$(text batch-describe-type-configurations --type-configuration-identifiers \
	Type=RESOURCE,TypeName=Initech::TPS::Report Type=RESOURCE,TypeName=Initech::TPS::Report,TypeConfigurationAlias=other \
	"TypeConfigurationArn=$configuration,TypeConfigurationAlias=other" \
	--query '[TypeConfigurations[].Configuration,Errors[].ErrorCode]')" '{"RequireCoverSheet": true}
TypeConfigurationNotFoundException	CFNRegistryException'
cf set-type-configuration --type RESOURCE --type-name Initech::TPS::Report --configuration '{}' >configuration.json

echo "# invoke"
is "the invocation" "$(aws lambda invoke --function-name Initech-TPS-Report --qualifier 00000002 --payload fileb://create.json answer.json --query '[StatusCode,FunctionError]' --output text)" "200	None"
grep -q '"status": *"\(IN_PROGRESS\|SUCCESS\)"' answer.json || fail "the handler answers $(cat answer.json)"

echo "# test"
cf test-type --type RESOURCE --type-name Initech::TPS::Report --version-id 00000001
cf test-type --arn "$arn/resource/Initech-TPS-Report/00000002" --log-delivery-bucket "$packages"
cf test-type --type RESOURCE --type-name Initech::TPS::Memo
# The handler of the memos waits in its first call, until there is a file "go".
bearer() { [ -s bearer ]; }
eventually bearer
progress() { cf record-handler-progress --bearer-token "$(cat bearer)" --operation-status "$@"; }
progress IN_PROGRESS --client-request-token first
refused record-handler-progress RecordHandlerProgress ConditionalCheckFailed 'The operation is in status IN_PROGRESS, not in PENDING.' \
	--bearer-token "$(cat bearer)" --operation-status SUCCESS --current-operation-status PENDING
progress SUCCESS --current-operation-status IN_PROGRESS
refused record-handler-progress RecordHandlerProgress InvalidStateTransition 'An operation in status SUCCESS cannot get the status FAILED.' \
	--bearer-token "$(cat bearer)" --operation-status FAILED --error-code InternalFailure
touch go
tested() { # tested NAME VERSION STATUS
	status=$(text describe-type --type RESOURCE --type-name "$1" --version-id "$2" --query TypeTestsStatus)
	[ "$status" != IN_PROGRESS ] || return 1
	is "the status of the tests of $1" "$status" "$3"
}
eventually tested Initech::TPS::Report 00000002 PASSED
eventually tested Initech::TPS::Report 00000001 PASSED
eventually tested Initech::TPS::Memo 00000001 FAILED
aws s3 ls "s3://$packages/CloudFormation/ContractTestResults/Initech::TPS::Report/" | grep -q 'zip$' || fail "no logs of the tests were delivered"

echo "# publish"
publisher=$(text register-publisher --accept-terms-and-conditions --query PublisherId)
is "the publisher" "$(text describe-publisher --query '[PublisherId,PublisherStatus]')" "$publisher	VERIFIED"
public=$(text publish-type --type RESOURCE --type-name Initech::TPS::Report --query PublicTypeArn)
is "the public ARN" "$public" "arn:aws:cloudformation:us-east-1::type/resource/$publisher/Initech-TPS-Report"
text publish-type --arn "$arn/resource/Initech-TPS-Report/00000001" --query PublicTypeArn
is "the public versions" "$(text list-type-versions --arn "$public" --query 'TypeVersionSummaries[].PublicVersionNumber')" "1.0.0	1.1.0"

echo "# activate, from another account"
account=$AWS_ACCESS_KEY_ID
export AWS_ACCESS_KEY_ID="$SECOND_ACCOUNT"
is "what can be activated" "$(text list-types --visibility PUBLIC --filters "Category=THIRD_PARTY,PublisherId=$publisher" --query 'TypeSummaries[].[TypeName,PublisherId]')" "Initech::TPS::Report	$publisher"
is "the activated type" "$(text activate-type --public-type-arn "$public" --type-name-alias Initrode::TPS::Report --no-auto-update --query Arn)" \
	"arn:aws:cloudformation:us-east-1:$SECOND_ACCOUNT:type/resource/Initrode-TPS-Report"
is "its origin" "$(text describe-type --type RESOURCE --type-name Initrode::TPS::Report --query '[OriginalTypeName,PublicVersionNumber,IsActivated,AutoUpdate]')" \
	"Initech::TPS::Report	1.1.0	True	False"
is "the invocation under the alias" "$(aws lambda invoke --function-name Initrode-TPS-Report --payload fileb://create.json answer.json --query FunctionError --output text)" None
cf deactivate-type --type RESOURCE --type-name Initrode::TPS::Report
is "what is activated" "$(text list-types --filters Category=ACTIVATED --query 'TypeSummaries[].TypeName')" ""
export AWS_ACCESS_KEY_ID="$account"

echo "# deregister"
cf deregister-type --arn "$arn/resource/Initech-TPS-Report/00000001"
for type in RESOURCE=Initech::TPS::Report RESOURCE=Initech::TPS::Memo HOOK=LocalStack::Testing::TestHook MODULE=LocalStack::Testing::TestModule::MODULE; do
	cf deregister-type --type "${type%%=*}" --type-name "${type#*=}"
done
is "the types that are left" "$(text list-types --query 'TypeSummaries[].TypeName')" ""
is "the status afterwards" "$(describe --query DeprecatedStatus)" DEPRECATED
echo done
