// Runs a Lambda handler written in JavaScript: the client of the Runtime API.
//
// It does what the service's own runtime does, with the standard library alone, for every
// Node.js from 16 on. The handler is _HANDLER in LAMBDA_TASK_ROOT.
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import util from 'node:util';

const env = process.env;
const [host, port] = env.AWS_LAMBDA_RUNTIME_API.split(':');
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

let current = null; // the invocation under way

function call(method, name, body, headers = {}) {
  return new Promise((resolve, reject) => {
    if (body !== undefined) {
      headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body), ...headers };
    }
    const request = http.request({ host, port, agent, method, headers, path: `/2018-06-01/runtime/${name}` }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString('utf8') }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

class Failure extends Error {
  constructor(type, message, cause) {
    super(message);
    this.name = type;
    if (cause?.stack) this.stack = cause.stack;
  }
}

// An error as the service writes it.
function describe(error) {
  if (error instanceof Error || util.types.isNativeError(error)) {
    return { errorType: error.name || 'Error', errorMessage: error.message, trace: String(error.stack ?? '').split('\n') };
  }
  const text = typeof error === 'string' ? error : util.inspect(error);
  return { errorType: typeof error, errorMessage: text, trace: [] };
}

async function report(name, error) {
  const document = describe(error);
  console.error('Invoke Error', JSON.stringify({ ...document, stack: document.trace, trace: undefined }));
  await call('POST', name, JSON.stringify(document), { 'Lambda-Runtime-Function-Error-Type': document.errorType.replace(/[^\x20-\x7e]/g, '?') });
}

// What the handler writes to the console carries the time and the request.
function labelConsole() {
  const levels = { log: 'INFO', info: 'INFO', debug: 'DEBUG', trace: 'TRACE', warn: 'WARN', error: 'ERROR' };
  for (const [name, level] of Object.entries(levels)) {
    console[name] = (...args) => {
      let text = util.format(...args);
      if (name === 'trace') text += `\n${new Error().stack.split('\n').slice(2).join('\n')}`;
      process.stdout.write(`${new Date().toISOString()}\t${current?.id ?? 'undefined'}\t${level}\t${text}\n`);
    };
  }
}

// load imports the module that "folder/module.function" names.
async function load(root, folder, name) {
  const base = path.resolve(root, folder, name);
  const require = createRequire(path.join(root, 'handler.js'));
  for (const extension of ['', '.js', '.mjs', '.cjs']) {
    const file = base + extension;
    if (!fs.existsSync(file) || !fs.statSync(file).isFile()) continue;
    if (extension === '.mjs' || (extension === '.js' && isModule(file))) return import(pathToFileURL(file));
    return require(file);
  }
  return require(require.resolve(name, { paths: [root, path.join(root, folder)] }));
}

// isModule tells whether the nearest package.json makes .js files ES modules.
function isModule(file) {
  for (let dir = path.dirname(file); ; dir = path.dirname(dir)) {
    const manifest = path.join(dir, 'package.json');
    if (fs.existsSync(manifest)) return JSON.parse(fs.readFileSync(manifest, 'utf8')).type === 'module';
    if (dir === path.dirname(dir) || path.basename(dir) === 'node_modules') return false;
  }
}

async function find(root, reference) {
  const parts = /^([^.]*)\.(.+)$/.exec(path.basename(reference));
  if (!parts || reference.includes('..')) throw new Failure('Runtime.MalformedHandlerName', `Bad handler '${reference}': want folder/module.function`);
  let found;
  try {
    found = await load(root, path.dirname(reference), parts[1]);
  } catch (error) {
    if (error instanceof SyntaxError) throw new Failure('Runtime.UserCodeSyntaxError', String(error), error);
    if (['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'].includes(error?.code)) throw new Failure('Runtime.ImportModuleError', String(error), error);
    throw error;
  }
  const walk = (from) => parts[2].split('.').reduce((value, key) => value?.[key], from);
  const handler = walk(found) ?? walk(found?.default);
  if (handler === undefined) throw new Failure('Runtime.HandlerNotFound', `${reference} is undefined or not exported`);
  if (typeof handler !== 'function') throw new Failure('Runtime.HandlerNotFound', `${reference} is not a function`);
  return handler;
}

const parsed = (header) => (header ? JSON.parse(header) : undefined);

function contextOf(headers, finish) {
  const deadline = Number(headers['lambda-runtime-deadline-ms']);
  const done = (error, result) => finish(error, result, true);
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionVersion: env.AWS_LAMBDA_FUNCTION_VERSION,
    functionName: env.AWS_LAMBDA_FUNCTION_NAME,
    memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME,
    clientContext: parsed(headers['lambda-runtime-client-context']),
    identity: parsed(headers['lambda-runtime-cognito-identity']),
    invokedFunctionArn: headers['lambda-runtime-invoked-function-arn'],
    awsRequestId: headers['lambda-runtime-aws-request-id'],
    getRemainingTimeInMillis: () => Math.max(deadline - Date.now(), 0),
    done,
    succeed: (result) => done(null, result),
    fail: (error) => done(error ?? 'handled'),
  };
}

// invoke runs the handler once. It answers by its promise, by the callback, by the older
// methods of the context, or not at all, which shows when nothing is left to wait for.
function invoke(handler, event, headers) {
  return new Promise((resolve, reject) => {
    let waiting = null; // the answer that is held back until the event loop is empty
    const settle = (error, result) => (error === null || error === undefined ? resolve(result) : reject(error));
    const finish = (error, result, now) => {
      if (now || !context.callbackWaitsForEmptyEventLoop) settle(error, result);
      else waiting ??= [error, result];
    };
    const context = contextOf(headers, finish);
    let promised = false;
    current.idle = () => {
      if (waiting) settle(...waiting);
      else if (promised) reject(new Failure('Runtime.NodeJsExit', 'the promise of the handler was never settled, and nothing is left to wait for'));
      else settle(null, null);
    };
    const result = handler(event, context, (error, value) => finish(error, value, false));
    if (typeof result?.then === 'function') {
      promised = true;
      result.then(resolve, reject);
    }
  });
}

function encode(value) {
  try {
    return JSON.stringify(value === undefined ? null : value) ?? 'null';
  } catch (error) {
    throw new Failure('Runtime.MarshalError', `Unable to stringify response body: ${error.message}`, error);
  }
}

// die reports what nobody caught, and ends the process.
async function die(type, error, code) {
  const known = describe(error);
  const failure = new Failure(type, known.errorMessage, error);
  await report(current ? `invocation/${current.id}/error` : 'init/error', failure).catch(() => {});
  process.exit(code);
}

async function serve(handler) {
  for (;;) {
    let next;
    try {
      next = await call('GET', 'invocation/next');
    } catch {
      process.exit(1); // the program that started this one is gone
    }
    if (next.status !== 200) throw new Error(`the runtime API answered ${next.status}: ${next.body}`);
    const id = next.headers['lambda-runtime-aws-request-id'];
    current = { id, idle: () => {} };
    env._X_AMZN_TRACE_ID = next.headers['lambda-runtime-trace-id'];
    let reply;
    try {
      reply = encode(await invoke(handler, JSON.parse(next.body), next.headers));
    } catch (error) {
      await report(`invocation/${id}/error`, error);
      current = null;
      continue;
    }
    await call('POST', `invocation/${id}/response`, reply);
    current = null;
  }
}

process.chdir(env.LAMBDA_TASK_ROOT);
labelConsole();
process.on('beforeExit', () => current?.idle());
process.on('uncaughtException', (error) => die('Runtime.UncaughtException', error, 129));
process.on('unhandledRejection', (error) => die('Runtime.UnhandledPromiseRejection', error, 128));
let handler;
try {
  handler = await find(env.LAMBDA_TASK_ROOT, env._HANDLER);
} catch (error) {
  await report('init/error', error);
  process.exit(1);
}
await serve(handler);
