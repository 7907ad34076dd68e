// Package sandbox limits what a process of a function can see and harm on this machine.
//
// Everywhere, each process gets folders of its own for temporary files and as its home: [Folder].
//
// On Linux, a process can run in a sandbox: a [Session] has namespaces of its own, whose first
// process is this program again, see package inside. It sees the programs of the system, its task
// root, what it needs to run, and what a [Grant] names; it can write to /tmp and its home alone.
// [Check] reports why that is impossible, and [Mode] says what to do then.
package sandbox
