// A CDK app with a custom resource whose function runs behind the provider framework, which with
// WAIT waits in a state machine for its isCompleteHandler.
const cdk = require('aws-cdk-lib');
const lambda = require('aws-cdk-lib/aws-lambda');
const { Provider } = require('aws-cdk-lib/custom-resources');
const app = new cdk.App({ context: {} });
const stack = new cdk.Stack(app, 'Framework', { synthesizer: new cdk.CliCredentialsStackSynthesizer({ fileAssetsBucketName: 'assets' }) });
const onEventHandler = new lambda.Function(stack, 'OnEvent', { runtime: lambda.Runtime.NODEJS_20_X, handler: 'index.handler', code: lambda.Code.fromAsset('user') });
const waiting = process.env.WAIT && {
  isCompleteHandler: new lambda.Function(stack, 'IsComplete', { runtime: lambda.Runtime.NODEJS_20_X, handler: 'index.isComplete', code: lambda.Code.fromAsset('user') }),
  queryInterval: cdk.Duration.seconds(10), totalTimeout: cdk.Duration.seconds(60),
};
const provider = new Provider(stack, 'Provider', { onEventHandler, ...waiting });
const thing = new cdk.CustomResource(stack, 'Thing', { serviceToken: provider.serviceToken, properties: { Size: process.env.SIZE, Mode: process.env.MODE } });
new cdk.CfnOutput(stack, 'Address', { value: thing.getAttString('Address') });
