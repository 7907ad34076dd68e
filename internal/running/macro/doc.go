// Package macro has the macros of templates: which ones an account has in a region
// (AWS::CloudFormation::Macro), and how a template's transforms run. A macro is run by a
// function, AWS::Include reads the server's S3, and AWS::Serverless runs the public
// translator if that is installed.
//
// The requests and responses of macros are those of the user guide ("Macros"). Which
// refusal a template shows for a failed macro is decided by package template.
package macro
