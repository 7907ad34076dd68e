// A CDK app with a registered type, once with each synthesizer that needs other things of the
// account, and a nested stack. VALUE is what changes between deployments; IMPORT adds a report
// that exists.
const cdk = require('aws-cdk-lib');
const ssm = require('aws-cdk-lib/aws-ssm');

function report(scope, id, title) {
  return new cdk.CfnResource(scope, id, {
    type: 'Initech::TPS::Report',
    properties: { Title: title, Series: 'QTR', CoverSheet: true, Author: { Name: 'Peter Gibbons' }, ReviewCode: 'PCLoadLetter1999' },
  });
}

class Reports extends cdk.Stack {
  constructor(scope, id, props) {
    super(scope, id, props);
    const setting = new ssm.StringParameter(this, 'Setting', { stringValue: process.env.VALUE });
    const filed = report(this, 'Report', process.env.VALUE);
    filed.node.addDependency(setting);
    new cdk.CfnOutput(this, 'Id', { value: filed.ref });
  }
}

class Nested extends cdk.NestedStack {
  constructor(scope, id) {
    super(scope, id);
    new ssm.StringParameter(this, 'Setting', { stringValue: process.env.VALUE });
  }
}

const app = new cdk.App();
const parent = new Reports(app, 'Default');
new Nested(parent, 'Nested');
new Reports(app, 'Legacy', { synthesizer: new cdk.LegacyStackSynthesizer() });
const simple = new Reports(app, 'Bootstrapless', { synthesizer: new cdk.BootstraplessSynthesizer({}) });
if (process.env.IMPORT) {
  report(simple, 'Found', 'found').applyRemovalPolicy(cdk.RemovalPolicy.RETAIN);
}
new Reports(app, 'Credentials', { synthesizer: new cdk.CliCredentialsStackSynthesizer() });
