// Package rehearsal runs the update of a deployed stack before it is real.
//
// [Run] reads the stack: its template, parameters, tags, resources and their live models. It builds the same stack in
// local CloudFormations of its own, where nothing is called: resources are what was read, new ones follow the schemas
// of their types. There it runs the update, and then again and again with a failure at each step.
//
// What must stay true:
//
//   - Requests to the place of the stack only read. The functions that make them are in deployed.go.
//   - Values of secrets are in no report: NoEcho parameters and dynamic references have made-up values before anything is
//     stored, and reports have the names of properties and resources, no values of them.
//   - Live models are in a folder of this user that ends with the run.
//   - A run ends: the number of runs, their time and the number of resources are bounded.
package rehearsal
