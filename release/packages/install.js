"use strict";
// Replaces bin/cfn, which is a program in JavaScript, with the program for this system, so that it starts without Node.js. What fails here is
// not an error: bin/cfn works as it is. On Windows, npm writes a command file that runs it with Node.js.
const fs = require("fs");
const path = require("path");

if (process.platform !== "win32") {
  const launcher = path.join(__dirname, "bin", "cfn");
  try {
    const program = require.resolve(`formwork-cfn-${process.platform}-${process.arch}/bin/cfn`);
    fs.rmSync(launcher + ".tmp", { force: true });
    fs.linkSync(program, launcher + ".tmp");
    fs.renameSync(launcher + ".tmp", launcher);
  } catch {
    fs.rmSync(launcher + ".tmp", { force: true });
  }
}
