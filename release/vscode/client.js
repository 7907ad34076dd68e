// The transport of the language server protocol: JSON-RPC with headers over the standard streams of a process.
'use strict';

const { spawn } = require('child_process');

// A Client is one run of the server.
class Client {
  // on: { notification(method, params), request(method, params) → result, log(text), exit(error or undefined) }
  constructor(program, args, options, on) {
    this.on = on;
    this.next = 1;
    this.waiting = new Map(); // id → { resolve, reject }
    this.received = Buffer.alloc(0);
    this.process = spawn(program, args, { ...options, stdio: 'pipe', windowsHide: true });
    this.process.stdout.on('data', (data) => this.read(data));
    this.process.stderr.setEncoding('utf8').on('data', (text) => on.log(text));
    this.process.stdin.on('error', () => {}); // the server has ended, which its own event reports
    this.process.on('error', (error) => this.end(error));
    this.process.on('exit', (code, signal) => this.end(code === 0 ? undefined : new Error(`cfn lsp ended with ${signal || 'code ' + code}`)));
  }

  // end rejects the requests that wait.
  end(error) {
    if (this.ended) return;
    this.ended = true;
    for (const { reject } of this.waiting.values()) reject(error || new Error('the language server has ended'));
    this.waiting.clear();
    this.on.exit(error);
  }

  send(message) {
    if (this.ended) return;
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  notify(method, params) { this.send({ method, params }); }

  // request sends a request. token is a vscode.CancellationToken; a canceled request has no result.
  request(method, params, token) {
    if (this.ended) return Promise.reject(new Error('the language server has ended'));
    const id = this.next++;
    const answer = new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    this.send({ id, method, params });
    const canceling = token && token.onCancellationRequested(() => this.notify('$/cancelRequest', { id }));
    return answer.finally(() => canceling && canceling.dispose());
  }

  read(data) {
    this.received = Buffer.concat([this.received, data]);
    for (;;) {
      const head = this.received.indexOf('\r\n\r\n');
      if (head < 0) return;
      const found = /^content-length: *([0-9]+)\r?$/im.exec(this.received.toString('latin1', 0, head));
      const length = found ? Number(found[1]) : NaN;
      if (!(length >= 0)) {
        this.process.kill();
        return this.end(new Error('cfn lsp sent something else than messages'));
      }
      if (this.received.length < head + 4 + length) return;
      const body = this.received.toString('utf8', head + 4, head + 4 + length);
      this.received = this.received.subarray(head + 4 + length);
      this.take(JSON.parse(body));
    }
  }

  take(message) {
    if (message.method !== undefined && message.id !== undefined) {
      let answer;
      try {
        answer = { result: this.on.request(message.method, message.params) ?? null };
      } catch (error) {
        answer = { error: { code: -32601, message: error.message } };
      }
      this.send({ id: message.id, ...answer });
    } else if (message.method !== undefined) {
      this.on.notification(message.method, message.params);
    } else {
      const waiting = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (!waiting) return;
      const canceled = message.error && message.error.code === -32800;
      if (message.error && !canceled) waiting.reject(new Error(message.error.message));
      else waiting.resolve(canceled ? undefined : message.result);
    }
  }

  // stop ends the server in an orderly way, and after two seconds in any case.
  async stop() {
    if (this.ended) return;
    const killing = setTimeout(() => this.process.kill(), 2000);
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    await this.request('shutdown').catch(() => {});
    this.notify('exit');
    await ended;
    clearTimeout(killing);
  }
}

module.exports = { Client };
