#!/usr/bin/env node
"use strict";
// Starts cfn where npm did not run install.js, which replaces this file with the program itself.
const { spawn } = require("child_process");

const name = `formwork-cfn-${process.platform}-${process.arch}`;
const program = process.platform === "win32" ? "cfn.exe" : "cfn";
let path;
try {
  path = require.resolve(`${name}/bin/${program}`);
} catch {
  console.error(`error: the package ${name}, which has the program cfn for this system, is not installed`);
  console.error("hint: npm leaves it out with --omit=optional, with --no-optional, or with a package-lock.json that was made on another system;");
  console.error(`hint: install it with npm install ${name}@${require("../package.json").version}`);
  process.exit(1);
}
const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (err) => {
  console.error(`error: ${path} does not start: ${err.message}`);
  process.exit(1);
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  // A terminal sends Ctrl-C to both programs.
  process.on(signal, () => signal === "SIGINT" && process.stdin.isTTY || child.kill(signal));
}
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
