// {{.Marker}}
package {{.Package}};

import java.util.Map;
import lombok.AllArgsConstructor;
import lombok.Data;
import org.json.JSONObject;
import org.json.JSONTokener;

/** Where the schema of {{.TypeName}} is, and the tags of a resource. */
@Data
@AllArgsConstructor
public abstract class BaseConfiguration {

    protected final String schemaFilename;

    public JSONObject resourceSchemaJSONObject() {
        return new JSONObject(new JSONTokener(this.getClass().getClassLoader().getResourceAsStream(schemaFilename)));
    }

    /** Returns the tags that a resource has itself. Override it if the resource has a property for tags. */
    public Map<String, String> resourceDefinedTags(final ResourceModel resourceModel) {
        return null;
    }
}
