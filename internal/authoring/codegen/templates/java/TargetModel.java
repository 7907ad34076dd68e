// {{.Marker}}
package {{.Package}};

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import lombok.Data;
import lombok.EqualsAndHashCode;
import lombok.NoArgsConstructor;
import lombok.ToString;
import software.amazon.cloudformation.proxy.hook.targetmodel.ResourceHookTargetModel;

/** A resource of the type {{.TypeName}} that a hook evaluates, as it is to be and as it was. */
@Data
@NoArgsConstructor
@EqualsAndHashCode(callSuper = true)
@ToString(callSuper = true)
@JsonAutoDetect(fieldVisibility = JsonAutoDetect.Visibility.ANY, getterVisibility = JsonAutoDetect.Visibility.NONE, setterVisibility = JsonAutoDetect.Visibility.NONE)
@JsonDeserialize(as = {{.Class}}TargetModel.class)
public class {{.Class}}TargetModel extends ResourceHookTargetModel<{{.Class}}> {

    @JsonIgnore
    private static final TypeReference<{{.Class}}> TARGET_REFERENCE = new TypeReference<{{.Class}}>() {};

    @JsonIgnore
    private static final TypeReference<{{.Class}}TargetModel> MODEL_REFERENCE = new TypeReference<{{.Class}}TargetModel>() {};

    @JsonIgnore
    public static final String TARGET_TYPE_NAME = "{{.TypeName}}";

    @JsonIgnore
    public TypeReference<{{.Class}}> getHookTargetTypeReference() {
        return TARGET_REFERENCE;
    }

    @JsonIgnore
    public TypeReference<{{.Class}}TargetModel> getTargetModelTypeReference() {
        return MODEL_REFERENCE;
    }
}
