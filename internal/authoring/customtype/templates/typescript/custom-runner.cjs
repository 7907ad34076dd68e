/*
 * Runs one request to the code of a custom resource in a process of its own, and takes the response that it sends.
 *
 * The folder with the code is the first argument; the request is on the standard input. What the code prints is the log.
 */
'use strict';
const fs = require('fs');
const http = require('http');
const https = require('https');
const Module = require('module');
const path = require('path');
const { pathToFileURL } = require('url');

const MAX_RESPONSE = 4096; // bytes
const folder = process.argv[2];
const order = JSON.parse(fs.readFileSync(0, 'utf8'));
const { event } = order;
const end = Date.now() + order.seconds * 1000;
const place = '/response/' + require('crypto').randomUUID();
let ended = false;

/** Writes the response and ends the process, once. */
function finish(answer) {
    if (!ended) {
        ended = true;
        fs.writeFileSync(order.result, JSON.stringify(answer));
        process.exit(0);
    }
}

function fail(reason) {
    finish({ Status: 'FAILED', Reason: reason });
}

/** Ends with the response that was sent. */
function accept(body) {
    if (body.length > MAX_RESPONSE) {
        return fail('Response object is too long.');
    }
    let sent;
    try {
        sent = JSON.parse(body);
    } catch {
        sent = undefined;
    }
    if (sent === null || typeof sent !== 'object' || (sent.Status !== 'SUCCESS' && sent.Status !== 'FAILED')) {
        return fail('the code of the custom resource sent a response without a Status');
    }
    if (sent.Status === 'SUCCESS' && typeof sent.PhysicalResourceId !== 'string') {
        return fail("Vendor response doesn't contain PhysicalResourceId key");
    }
    return finish(sent);
}

// Libraries send by https, and to port 443, whatever the URL says.
let port;
const request = https.request;
https.request = function (first, ...more) {
    let options = typeof first === 'string' || first instanceof URL ? new URL(first) : first;
    if (options instanceof URL) {
        options = { hostname: options.hostname, path: options.pathname + options.search };
        if (more[0] !== null && typeof more[0] === 'object') {
            options = { ...options, ...more.shift() };
        }
    }
    if (options.path?.startsWith(place)) {
        return http.request({ ...options, protocol: 'http:', agent: undefined, host: undefined, hostname: '127.0.0.1', port }, ...more);
    }
    return request.call(this, first, ...more);
};
Module.syncBuiltinESMExports();

// Lambda has this module beside code in a template.
const resolve = Module._resolveFilename;
Module._resolveFilename = function (name, ...more) {
    const own = path.join(folder, 'cfn-response.js');
    return name === 'cfn-response' && fs.existsSync(own) ? own : resolve.call(this, name, ...more);
};

const arn = order.token;
const context = {
    awsRequestId: event.RequestId,
    invokedFunctionArn: arn,
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME || arn.split(':').pop(),
    functionVersion: '$LATEST',
    memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE || '256',
    logGroupName: process.env.AWS_LAMBDA_LOG_GROUP_NAME || '/aws/lambda/custom',
    // Libraries make the PhysicalResourceId of it: that of a resource stays.
    logStreamName: event.PhysicalResourceId || `${event.LogicalResourceId}-${event.RequestId.slice(0, 12)}`,
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Math.max(0, end - Date.now()),
    done: (error, value) => returned(error, value),
    succeed: (value) => returned(undefined, value),
    fail: (error) => returned(error),
};

/** Takes what the code returned, which counts if it sends nothing. */
function returned(error, value) {
    if (error !== undefined && error !== null) {
        return fail(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
    }
    if (event.RequestType === 'Read') {
        return finish({ Status: 'SUCCESS', Data: value ?? null });
    }
    if (value !== null && typeof value === 'object' && (value.Status === undefined || value.Status === 'SUCCESS')) {
        // Code for a framework returns what it would send, and throws what fails. A response that is under way counts more.
        const PhysicalResourceId = value.PhysicalResourceId || event.PhysicalResourceId || event.RequestId;
        setTimeout(() => finish({ Status: 'SUCCESS', PhysicalResourceId, Data: value.Data }), 100);
    }
    return undefined;
}

async function run() {
    process.chdir(folder);
    const [, file, name] = /^(.*)\.([^.]*)$/.exec(order.function);
    const extension = ['.mjs', '.cjs', '.js'].find((e) => fs.existsSync(path.join(folder, file + e)));
    const module = await import(pathToFileURL(path.join(folder, file + (extension || '.js'))).href);
    const handler = module[name] ?? module.default?.[name];
    const result = handler(event, context, returned);
    if (result !== undefined && typeof result?.then === 'function') {
        returned(undefined, await result);
    }
}

const server = http.createServer((incoming, outgoing) => {
    const parts = [];
    let size = 0;
    incoming.on('data', (part) => {
        size += part.length;
        if (size <= MAX_RESPONSE + 1 || parts.length === 0) {
            parts.push(part);
        }
    });
    incoming.on('end', () => {
        // The code goes on when it has sent its response: let it see the answer first.
        outgoing.end(() => setImmediate(() => accept(Buffer.concat(parts))));
    });
});
server.listen(0, '127.0.0.1', () => {
    ({ port } = server.address());
    server.unref();
    event.ResponseURL = `http://127.0.0.1:${port}${place}?to=receiver`;
    setTimeout(() => fail(`the code of the custom resource sent no response within ${order.seconds} seconds`), order.seconds * 1000).unref();
    run().catch((error) => {
        console.error(error);
        returned(error);
    });
});
process.on('uncaughtException', (error) => {
    console.error(error);
    returned(error);
});
process.on('beforeExit', () => fail('the code of the custom resource sent no response'));
