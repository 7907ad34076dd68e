// Package delegate provisions AWS resource types in an emulator of AWS that somebody else runs: each
// resource is a stack of its own in the emulator, with one resource, whose attributes come back as
// outputs. Order, rollback, replacement and drift stay those of this server.
//
// A [Rule] says which types go to which emulator. [Delegates] is the source of these types. A row per
// resource says where it lives, and it stays there whatever the rules say later. The row is written
// before the emulator is called, and its stack has a name derived from the token of the create, so that
// work that was interrupted is continued and not repeated. A marker stack with a random id shows whether
// the emulator was restarted without its state.
//
// What the emulator answers is not trusted: answers are bounded in size and time, and only failures
// that can pass are reported as such.
package delegate
