// Package sandbox limits what a process of a function can see and harm on this machine.
//
// Everywhere, each process gets folders of its own for temporary files and as its home: [Folder].
package sandbox
