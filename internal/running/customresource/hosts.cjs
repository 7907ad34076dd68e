'use strict';
// Loaded by cfn into the processes that it starts. Two kinds of connections to port 443 go to the
// port of the server instead: those to the server's own host, since libraries for custom resources
// send their response to that port whatever port the ResponseURL has, and those to hosts of AWS,
// since the SDK before version 3 knows neither AWS_ENDPOINT_URL nor HTTPS_PROXY.
const https = require('https');

const parse = (address) => {
  const colon = (address || '').lastIndexOf(':');
  return colon > 0 ? { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) } : null;
};
const responses = parse(process.env.FORMWORK_RESPONSE_ADDRESS);
const aws = parse(process.env.FORMWORK_AWS_ADDRESS);
const awsHost = /^(?:[a-z0-9_-]+\.)+(?:amazonaws\.com(?:\.cn)?|amazonaws\.eu|api\.aws)$/i;

if (responses || aws) {
  const connect = https.Agent.prototype.createConnection;
  https.Agent.prototype.createConnection = function (options, ...rest) {
    if (options && Number(options.port) === 443) {
      const host = options.host || options.hostname;
      if (responses && (options.host === responses.host || options.hostname === responses.host)) {
        options = Object.assign({}, options, { port: responses.port });
      } else if (aws && awsHost.test(host)) {
        options = Object.assign({}, options, { host: aws.host, hostname: aws.host, port: aws.port, servername: options.servername || host });
      }
    }
    return connect.call(this, options, ...rest);
  };
}
