'use strict';
// Loaded by cfn into the functions that it runs: libraries for custom resources send their
// response to port 443 of the host of the ResponseURL, whatever port the URL has. Connections
// to that port of the server's host go to the port of the server.
const https = require('https');

const address = process.env.FORMWORK_RESPONSE_ADDRESS || '';
const colon = address.lastIndexOf(':');
if (colon > 0) {
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  const port = Number(address.slice(colon + 1));
  const connect = https.Agent.prototype.createConnection;
  https.Agent.prototype.createConnection = function (options, ...rest) {
    if (options && Number(options.port) === 443 && (options.host === host || options.hostname === host)) {
      options = Object.assign({}, options, { port });
    }
    return connect.call(this, options, ...rest);
  };
}
