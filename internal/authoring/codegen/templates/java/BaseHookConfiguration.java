// {{.Marker}}
package {{.Package}};

import com.google.common.collect.ImmutableMap;
import java.io.InputStream;
import java.util.HashMap;
import java.util.Map;
import lombok.Data;
import org.json.JSONObject;
import org.json.JSONTokener;

/** Where the schemas of {{.TypeName}} and of its targets are. */
@Data
public abstract class BaseHookConfiguration {

    private final Map<String, String> targetSchemaPaths = new HashMap<>();
    private final Map<String, InputStream> targetSchemas = new HashMap<>();
    protected final String schemaFilename;

    public BaseHookConfiguration(final String schemaFilename) {
        this.schemaFilename = schemaFilename;
{{- range .Targets}}
        this.targetSchemaPaths.put("{{.TypeName}}", "{{.File}}");
{{- end}}
    }

    public JSONObject hookSchemaJSONObject() {
        return new JSONObject(new JSONTokener(this.getClass().getClassLoader().getResourceAsStream(schemaFilename)));
    }

    public JSONObject targetSchemaJSONObject(final String targetName) {
        final String path = this.targetSchemaPaths.get(targetName);
        if (path == null) {
            return null;
        }
        return new JSONObject(new JSONTokener(this.getClass().getClassLoader().getResourceAsStream(path)));
    }

    public Map<String, String> getTargetSchemaPaths() {
        return ImmutableMap.copyOf(this.targetSchemaPaths);
    }

    public Map<String, InputStream> getTargetSchemas() {
        return ImmutableMap.copyOf(this.targetSchemas);
    }
}
