package com.initech.tps.report;

import software.amazon.cloudformation.proxy.StdCallbackContext;

/** What a handler keeps between its calls. */
@lombok.Getter
@lombok.Setter
@lombok.ToString
@lombok.EqualsAndHashCode(callSuper = true)
public class CallbackContext extends StdCallbackContext {
    private boolean filed;
    private boolean shredding;
}
