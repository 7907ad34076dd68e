// Package functions has the functions that stacks deploy (AWS::Lambda::Function): their code,
// versions and aliases, and what stacks declare around them. Roles, policies and permissions
// are stored and not enforced.
//
// Code comes inline or as a zip file, and is untrusted as that of any template: its size is
// bounded, and it is unpacked into a folder that it cannot leave. What runs it is package
// handlers.
package functions
