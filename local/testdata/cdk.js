// A CDK app with a registered type, once with each synthesizer that needs other things of the
// account, and a nested stack. VALUE is what changes between deployments.
const cdk = require('aws-cdk-lib');
const ssm = require('aws-cdk-lib/aws-ssm');

class Reports extends cdk.Stack {
  constructor(scope, id, props) {
    super(scope, id, props);
    const setting = new ssm.StringParameter(this, 'Setting', { stringValue: process.env.VALUE });
    const report = new cdk.CfnResource(this, 'Report', {
      type: 'Initech::TPS::Report',
      properties: { Title: process.env.VALUE, Series: 'QTR', CoverSheet: true, Author: { Name: 'Peter Gibbons' }, ReviewCode: 'PCLoadLetter1999' },
    });
    report.node.addDependency(setting);
    new cdk.CfnOutput(this, 'Id', { value: report.ref });
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
new Reports(app, 'Bootstrapless', { synthesizer: new cdk.BootstraplessSynthesizer({}) });
new Reports(app, 'Credentials', { synthesizer: new cdk.CliCredentialsStackSynthesizer() });
