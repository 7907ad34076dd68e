// A provider of custom resources with cfn-response of npm.
const response = require('cfn-response');

exports.handler = function (event, context) {
  const { Mode, Size } = event.ResourceProperties;
  if (Mode === 'sleep') return setTimeout(() => {}, 600000);
  response.send(event, context, Mode === 'fail' ? response.FAILED : response.SUCCESS, { Address: 'at-' + Size }, 'node-thing');
};
