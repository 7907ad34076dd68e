package {{.Package}};

import software.amazon.cloudformation.proxy.StdCallbackContext;

/** What a handler keeps between its calls. It is stored as JSON, and must not contain secrets. */
@lombok.Getter
@lombok.Setter
@lombok.ToString
@lombok.EqualsAndHashCode(callSuper = true)
public class CallbackContext extends StdCallbackContext {
{{- if eq .API.Find "identifier"}}
    /** Whether the resource did not exist when its creation began. */
    private boolean checked;
{{- end}}

    private boolean created;
{{- if .API.Updates}}

    /** How many calls of an update are done. */
    private int updates;
{{- end}}

    private boolean deleting;

    /** How often a call was repeated after an error. */
    private int repetitions;
}
