// {{.Marker}}
package {{.Package}};

import java.util.Map;
import lombok.AllArgsConstructor;
import lombok.Data;
import org.json.JSONArray;
import org.json.JSONObject;
import org.json.JSONTokener;

/** Where the schema of {{.TypeName}} is, and the tags of a resource. */
@Data
@AllArgsConstructor
public abstract class BaseConfiguration {

    protected final String schemaFilename;

    public JSONObject resourceSchemaJSONObject() {
        final JSONObject schema = new JSONObject(new JSONTokener(this.getClass().getClassLoader().getResourceAsStream(schemaFilename)));
        removeRelations(schema);
        return schema;
    }

    /** Removes each relationshipRef, with which the library refuses a schema. */
    private static void removeRelations(final Object node) {
        if (node instanceof JSONArray) {
            ((JSONArray) node).forEach(BaseConfiguration::removeRelations);
        } else if (node instanceof JSONObject) {
            final JSONObject object = (JSONObject) node;
            final JSONObject relation = object.optJSONObject("relationshipRef");
            if (relation != null && relation.has("propertyPath")) { // not a property of that name
                object.remove("relationshipRef");
            }
            object.keySet().forEach(key -> removeRelations(object.get(key)));
        }
    }

    /** Returns the tags that a resource has itself. Override it if the resource has a property for tags. */
    public Map<String, String> resourceDefinedTags(final ResourceModel resourceModel) {
        return null;
    }
}
