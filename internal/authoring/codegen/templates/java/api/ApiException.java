// {{.Marker}}
package {{.Package}};

import software.amazon.cloudformation.exceptions.BaseHandlerException;
import software.amazon.cloudformation.proxy.HandlerErrorCode;

/** A call of the API failed. The library makes a FAILED event of it. */
class ApiException extends BaseHandlerException {
    private static final long serialVersionUID = 1L;

    ApiException(final HandlerErrorCode code, final String message) {
        super(message, code);
    }

    ApiException(final HandlerErrorCode code, final String message, final Throwable cause) {
        super(message, cause, code);
    }

    /** Reports whether the same call may succeed later. */
    boolean isTransient() {
        return switch (getErrorCode()) {
            case Throttling, NetworkFailure, ServiceInternalError -> true;
            default -> false;
        };
    }
}
