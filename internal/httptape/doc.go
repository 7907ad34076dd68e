// Package httptape stands between a program and the network: an HTTP and HTTPS proxy on
// loopback that records what the program asks for, answers from such a recording offline,
// and makes chosen calls fail.
//
// [Start] makes a [Proxy]; [Proxy.Env] is what a child process needs in its environment
// to go through it, whatever its language: the proxy's address, and a file with the
// certificate of an authority that lives as long as the proxy and whose key never leaves
// memory. A [Tape] is what was recorded: JSON lines, the secrets taken out. [Fault] says
// which of the next calls go wrong, and how, in the shape that the called service itself
// would use.
//
// Being offline is a promise. Unless it records, a proxy forwards to this machine only;
// everything else is answered with 502 and told by [Proxy.Exchanges].
//
// Programs written in Go never use a proxy for loopback addresses. Endpoints that stand
// in AWS_ENDPOINT_URL variables and are on this machine are therefore replaced by
// listeners of the proxy's own.
//
// Left out: HTTP/2 and WebSockets (clients are offered HTTP/1.1 only), tunnels that carry
// anything but HTTP, and programs that pin certificates or obey no proxy variable.
package httptape
