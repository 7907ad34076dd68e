// Package sandbox limits what a process of a function can see and harm on this machine. The code of functions is whatever a
// package or a template brings: it is hostile until proven otherwise.
//
// # Two levels
//
// Everywhere, each process gets folders of its own for temporary files and as its home: [Folder]. That is all on macOS and
// Windows.
//
// On Linux, a process can run in a sandbox: a [Session] has user, mount, PID and IPC namespaces of its own, and a network if the settings say so. It sees the programs of
// the system, its task root, what its runtime needs ([Runtime]), and what a [Grant] names; it can write to /tmp and its home
// alone. Package reach connects its network to what it may reach. Control groups bound memory and processes where the system
// delegates them. [Check] reports why a sandbox is impossible here, and [Mode] says what to do then.
//
// # How a process starts
//
//  1. policy.go decides what is hidden: homes of users, keys, and what the environment names. It knows paths only, and is the
//     same on all systems.
//  2. view_linux.go turns that into a list of mounts, in their order. Every path is resolved here, before the process exists, so that a
//     link cannot lead out of the view.
//  3. This program is started again as the first process of the namespaces: package inside makes the mounts, drops all
//     capabilities and starts the function as its child. It cannot be the function itself: when the first process of a PID
//     namespace ends, all others are killed, and it gets only signals that it handles.
//
// A list of mounts is closed: what it does not name does not exist in the sandbox. Never add a path because some program looks for
// it; name it in the runtime that needs it, or let the user grant it.
//
// What the sandbox does not do: it does not hide that it exists, and it does not protect against errors of the kernel. docs/security.md
// says what users may rely on; the tests in this package try to get out.
package sandbox
