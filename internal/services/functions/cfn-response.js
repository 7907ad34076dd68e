'use strict';
// The module cfn-response for functions whose code is in a template, with the interface that
// AWS documents: send(event, context, status, data, physicalResourceId, noEcho).
exports.SUCCESS = 'SUCCESS';
exports.FAILED = 'FAILED';

exports.send = function (event, context, status, data, physicalResourceId, noEcho) {
  const body = JSON.stringify({
    Status: status,
    Reason: 'See the details in CloudWatch Log Stream: ' + context.logStreamName,
    PhysicalResourceId: physicalResourceId || context.logStreamName,
    StackId: event.StackId,
    RequestId: event.RequestId,
    LogicalResourceId: event.LogicalResourceId,
    NoEcho: noEcho || false,
    Data: data,
  });
  const url = new URL(event.ResponseURL);
  const { request } = require(url.protocol === 'http:' ? 'http' : 'https');
  return new Promise((resolve) => {
    const done = (text) => {
      console.log(text);
      if (context.done) context.done();
      resolve();
    };
    const put = request(url, { method: 'PUT', headers: { 'content-type': '', 'content-length': Buffer.byteLength(body) } }, (response) => {
      response.resume();
      response.on('end', () => done('The response of the custom resource was sent, status ' + response.statusCode));
    });
    put.on('error', (error) => done('The response of the custom resource cannot be sent: ' + error.message));
    put.end(body);
  });
};
