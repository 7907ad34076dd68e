package {{.Package}};

class Configuration extends Base{{if .Hook}}Hook{{end}}Configuration {

    public Configuration() {
        super("{{.SchemaFile}}");
    }
}
