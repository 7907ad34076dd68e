package {{.Package}};
{{if .API}}{{if .API.Tags}}
import java.util.Map;
{{end}}{{end}}
class Configuration extends Base{{if .Hook}}Hook{{end}}Configuration {

    public Configuration() {
        super("{{.SchemaFile}}");
    }
{{- if .API}}{{if .API.Tags}}

    @Override
    public Map<String, String> resourceDefinedTags(final ResourceModel resourceModel) {
        return ApiClient.tags(resourceModel);
    }
{{- end}}{{end}}
}
