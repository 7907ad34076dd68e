// Package httptape is an HTTP and HTTPS proxy on loopback between a program and the network.
// It records the program's calls, replays such a recording offline, and makes chosen calls
// fail.
//
// [Start] creates a [Proxy]; [Proxy.Env] is the environment that a child process needs to use
// it, whatever its language: the proxy's address, and a file with the certificate of a CA that
// exists as long as the proxy and whose key never leaves memory. A [Tape] is a recording: JSON
// lines, without secrets. A [Fault] makes a later call fail, in the format of the called
// service.
//
// Unless it records, a proxy forwards to this machine only; everything else is answered with
// 502 and reported by [Proxy.Exchanges].
//
// Programs written in Go never use a proxy for loopback addresses. Endpoints in
// AWS_ENDPOINT_URL variables that are on this machine are therefore replaced by listeners of
// the proxy.
//
// Left out: HTTP/2 and WebSockets (clients are offered HTTP/1.1 only), tunnels that carry
// anything but HTTP, and programs that pin certificates or obey no proxy variable.
package httptape
