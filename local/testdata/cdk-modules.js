// A CDK app with modules: as a resource of the module's type, and in a template that is included.
// VALUE is what changes between deployments.
const cdk = require('aws-cdk-lib');
const { CfnInclude } = require('aws-cdk-lib/cloudformation-include');

const app = new cdk.App();
const stack = new cdk.Stack(app, 'Modules', { synthesizer: new cdk.BootstraplessSynthesizer({}) });
const note = new cdk.CfnResource(stack, 'Note', { type: 'Acme::Deep::Top::MODULE', properties: { Text: process.env.VALUE } });
const after = new cdk.CfnResource(stack, 'After', {
  type: 'AWS::SSM::Parameter',
  properties: { Type: 'String', Value: note.getAtt('Mid.Low.Setting.Value') },
});
after.addDependency(note);
new CfnInclude(stack, 'Included', { templateFile: 'included.yaml' });
