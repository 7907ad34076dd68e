// Package rehearsal runs the update of a deployed stack before it is real.
//
// [Run] reads the stack and its nested stacks: their templates, parameters, tags, resources and their live models, and the
// hooks of the account. It builds the same stacks in local CloudFormations of its own: resources are what was read, new ones
// follow the schemas of their types. Handlers run only for the extensions that the caller names; hooks run, too. There it runs
// the update, and then again and again with a failure at each step.
//
// What must stay true:
//
//   - Requests to the place of the stack only read. The functions that make them are in deployed.go, nested.go and extensions.go;
//     a test has a server refuse all others.
//   - Handlers run in the sandbox and reach nothing but a recording and the local CloudFormation. What cannot run is said in the
//     report: no hook passes silently.
//   - Values of secrets are in no report: NoEcho parameters and dynamic references have made-up values before anything is
//     stored, and reports have the names of properties and resources. Values are only in what hooks and handlers say; made-up
//     ones are hidden there.
//   - Live models are in a folder of this user that ends with the run.
//   - A run ends: the number of runs, their time, the number of stacks and of resources are bounded.
package rehearsal
