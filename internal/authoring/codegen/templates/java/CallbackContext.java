package {{.Package}};

import software.amazon.cloudformation.proxy.StdCallbackContext;

/** What a handler keeps between its calls. Add fields: they are stored as JSON. */
@lombok.Getter
@lombok.Setter
@lombok.ToString
@lombok.EqualsAndHashCode(callSuper = true)
public class CallbackContext extends StdCallbackContext {
}
