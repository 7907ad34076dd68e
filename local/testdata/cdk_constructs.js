// A CDK app with the generated construct of a registered type: names in the case of the CDK, a structure, an attribute
// of one resource in another one, and tags of the stack.
const cdk = require('aws-cdk-lib');
const { CfnReport } = require('./initech-tps-report');

const stack = new cdk.Stack(new cdk.App(), 'Reports', { synthesizer: new cdk.BootstraplessSynthesizer({}) });
cdk.Tags.of(stack).add('team', 'filing');
const common = { series: 'QTR', coverSheet: true, author: { name: 'Peter Gibbons' }, reviewCode: 'PCLoadLetter1999' };
const first = new CfnReport(stack, 'First', { title: 'one', ...common });
const second = new CfnReport(stack, 'Second', { title: cdk.Fn.join(' ', cdk.Fn.split('-', first.attrId)), ...common });
second.series = 'ANN';
const imported = CfnReport.fromId(stack, 'Other', 'tps-1');
if (imported.reportRef.id !== 'tps-1' || !CfnReport.isCfnResource(first)) {
  throw new Error('the construct of another report has the reference ' + JSON.stringify(imported.reportRef));
}
new cdk.CfnOutput(stack, 'FirstId', { value: first.ref });
new cdk.CfnOutput(stack, 'SecondId', { value: second.reportRef.id });
