// The provider framework of the CDK, as its construct Provider deploys it.
const account = process.env.VENDOR_ACCOUNT;
process.env.USER_ON_EVENT_FUNCTION_ARN = `arn:aws:lambda:${process.env.AWS_REGION}:${account}:function:onevent`;
exports.handler = require(process.env.VENDOR_LIBRARY + '/custom-resources/lib/provider-framework/runtime/framework').onEvent;
