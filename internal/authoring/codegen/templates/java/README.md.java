# {{.TypeName}}

A CloudFormation extension, written in Java.

## Next steps

{{if .API -}}
1. `{{.SchemaFile}}` is made from the API. Change decisions in `api.yaml`, then run
   `cfn init --schema-only --force` and `cfn generate`.
2. `cfn test --stub` tests the handlers against a stub of {{.API.Service}}. They are yours: change what you like.
{{else -}}
1. Describe it in `{{.SchemaFile}}`. `cfn validate` checks it, and the build generates the models: `cfn generate`.
2. Write the handlers in `{{.Folder}}`.
{{end -}}
3. Copy the inputs that the contract tests should use from `example_inputs` to `inputs`, fill them in, and run
   `cfn test`. It builds the handlers with Maven when a source has changed.

The models use [Lombok](https://projectlombok.org). Editors need its plugin to know their methods.

## Files

| file | what it is |
|---|---|
| `{{.SchemaFile}}` | the schema; everything else follows from it |
| `{{.Folder}}` | your handlers |
{{- if .API}}
| `api.yaml` | the description of the API, and what you decide otherwise than `cfn` |
| `{{.Folder}}/Api*.java`, `src/main/resources` | generated: how the handlers call the API |
{{- end}}
| `target/generated-sources/rpdk/` | generated; `cfn generate` writes it again |
| `pom.xml` | the libraries and the build, which calls `cfn generate` |
| `docs/`, `resource-role.yaml`, `hook-role.yaml` | generated |
| `inputs/` | what the contract tests create and update |
| `template.yml` | for tools that run the handlers with SAM |
